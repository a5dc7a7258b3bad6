import { useQueryClient } from '@tanstack/react-query'
import { getRouteApi, useRouter } from '@tanstack/react-router'
import { api } from '../api.ts'
import { ME } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { Card } from './card.tsx'
import { useSubmit } from './form.ts'

const route = getRouteApi('/setup/$token')

export function SetupPage() {
  const { token } = route.useParams()
  const router = useRouter()
  const queries = useQueryClient()
  const { isBusy, problem, onSubmit } = useSubmit(async (given) => {
    await api.post('/dashboard/api/setup', { token, ...Object.fromEntries(given) })
    await queries.invalidateQueries({ queryKey: ME })
    await router.navigate({ to: '/' })
  })
  return (
    <Card title="Set up Zonewatch" lead="You become the owner of the first organization.">
      <form onSubmit={onSubmit} className="flex flex-col gap-4">
        <Field label="Organization" hint="A company or a team." error={fieldError(problem, 'organization')}>
          <Input name="organization" autoComplete="organization" required autoFocus />
        </Field>
        <Field label="Your name" error={fieldError(problem, 'name')}>
          <Input name="name" autoComplete="name" required />
        </Field>
        <Field label="E-mail" error={fieldError(problem, 'email')}>
          <Input name="email" type="email" autoComplete="username" required />
        </Field>
        <Field label="Password" hint="At least 8 characters." error={fieldError(problem, 'password')}>
          <Input name="password" type="password" autoComplete="new-password" minLength={8} required />
        </Field>
        {problem !== undefined && (
          <ProblemNote problem={problem} fields={['organization', 'name', 'email', 'password']} />
        )}
        <Button type="submit" look="primary" isBusy={isBusy}>
          Set up
        </Button>
      </form>
    </Card>
  )
}
