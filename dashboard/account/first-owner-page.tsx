import { getRouteApi } from '@tanstack/react-router'
import { api } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { Card } from './card.tsx'
import { useEnter } from './enter.ts'
import { useSubmit } from './form.ts'
import { PERSON_FIELDS, PersonFields } from './new-account-fields.tsx'

const route = getRouteApi('/setup/$token')

export function FirstOwnerPage() {
  const { token } = route.useParams()
  const enter = useEnter()
  const { isBusy, problem, onSubmit } = useSubmit(async (given) => {
    await api.post('/dashboard/api/setup', { token, ...Object.fromEntries(given) })
    await enter()
  })
  return (
    <Card title="Set up Zonewatch" lead="Create the first organization. You become its owner.">
      <form onSubmit={onSubmit} className="flex flex-col gap-4">
        <Field label="Organization" hint="A company or a team." error={fieldError(problem, 'organization')}>
          <Input name="organization" autoComplete="organization" required autoFocus maxLength={250} />
        </Field>
        <PersonFields problem={problem} />
        {problem !== undefined && <ProblemNote problem={problem} fields={PERSON_FIELDS} />}
        <Button type="submit" variant="primary" isBusy={isBusy}>
          Set up
        </Button>
      </form>
    </Card>
  )
}
