import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link, useRouter } from '@tanstack/react-router'
import type { Welcome } from '#contract/account.ts'
import { api } from '../api.ts'
import { ME } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Field, Input } from '../ui/field.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { Card } from './card.tsx'
import { useSubmit } from './form.ts'

const route = getRouteApi('/sign-in')

export function SignInPage() {
  const { to } = route.useSearch()
  const router = useRouter()
  const queries = useQueryClient()
  const { data: welcome } = useQuery({
    queryKey: ['welcome'],
    queryFn: () => api.get<Welcome>('/dashboard/api/welcome'),
  })
  const { isBusy, problem, onSubmit } = useSubmit(async (given) => {
    await api.post('/dashboard/auth/sign-in/email', { email: given.get('email'), password: given.get('password') })
    await queries.invalidateQueries({ queryKey: ME })
    router.history.push(to ?? '/dashboard/')
  })
  return (
    <Card title="Sign in" below={welcome?.sign_up && <Link to="/sign-up">Make an account</Link>}>
      <form onSubmit={onSubmit} className="flex flex-col gap-4">
        <Field label="E-mail">
          <Input name="email" type="email" autoComplete="username" required autoFocus />
        </Field>
        <Field label="Password">
          <Input name="password" type="password" autoComplete="current-password" required />
        </Field>
        {problem !== undefined && <ProblemNote problem={problem} />}
        <Button type="submit" look="primary" isBusy={isBusy}>
          Sign in
        </Button>
      </form>
    </Card>
  )
}
