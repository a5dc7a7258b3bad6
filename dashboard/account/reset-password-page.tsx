import { getRouteApi, Link, useRouter } from '@tanstack/react-router'
import { api } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { useToast } from '../ui/toast.tsx'
import { useSubmit } from '../ui/use-submit.ts'
import { Card } from './card.tsx'

const route = getRouteApi('/reset-password/$token')

export function ResetPasswordPage() {
  const { token } = route.useParams()
  const router = useRouter()
  const toast = useToast()
  const { isBusy, problem, onSubmit } = useSubmit(async (form) => {
    await api.post('/dashboard/auth/reset-password', { token, newPassword: form.get('newPassword') })
    toast.done('Password changed. All sessions were signed out. Sign in with your new password.')
    await router.navigate({ to: '/sign-in' })
  })
  return (
    <Card
      title="New password"
      lead="This signs out all your sessions."
      below={<Link to="/forgot">Request a new link</Link>}
    >
      <form onSubmit={onSubmit} className="flex flex-col gap-4">
        <Field label="New password" hint="At least 8 characters." error={fieldError(problem, 'newPassword')}>
          <Input
            name="newPassword"
            type="password"
            autoComplete="new-password"
            minLength={8}
            maxLength={128}
            required
            autoFocus
          />
        </Field>
        {problem !== undefined && <ProblemNote problem={problem} fields={['newPassword']} />}
        <Button type="submit" variant="primary" isBusy={isBusy}>
          Set password
        </Button>
      </form>
    </Card>
  )
}
