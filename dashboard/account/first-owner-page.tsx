import { getRouteApi } from '@tanstack/react-router'
import { api } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { useSubmit } from '../ui/use-submit.ts'
import { ACCOUNT_FIELDS, AccountFields } from './account-fields.tsx'
import { Card } from './card.tsx'
import { useOpenDashboard } from './open-dashboard.ts'

const route = getRouteApi('/setup/$token')

export function FirstOwnerPage() {
  const { token } = route.useParams()
  const openDashboard = useOpenDashboard()
  const { isBusy, problem, onSubmit } = useSubmit(async (form) => {
    await api.post('/dashboard/api/setup', { token, ...Object.fromEntries(form) })
    await openDashboard()
  })
  return (
    <Card title="Set up Zonewatch" lead="Create the first organization. You become its owner.">
      <form onSubmit={onSubmit} className="flex flex-col gap-4">
        <Field label="Organization" hint="A company or a team." error={fieldError(problem, 'organization')}>
          <Input name="organization" autoComplete="organization" required autoFocus maxLength={250} />
        </Field>
        <AccountFields problem={problem} />
        {problem !== undefined && <ProblemNote problem={problem} fields={ACCOUNT_FIELDS} />}
        <Button type="submit" variant="primary" isBusy={isBusy}>
          Set up
        </Button>
      </form>
    </Card>
  )
}
