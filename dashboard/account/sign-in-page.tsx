import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { SignedIn } from '#contract/account.ts'
import { api } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { useSubmit } from '../ui/use-submit.ts'
import { Card } from './card.tsx'
import { CodeForm } from './code-form.tsx'
import { useOpenDashboard } from './open-dashboard.ts'
import { ProviderLinks, SingleSignOnProblem, welcomeQuery } from './single-sign-on.tsx'

const route = getRouteApi('/sign-in')

export function SignInPage() {
  const { to, code, problem } = route.useSearch()
  const openDashboard = useOpenDashboard()
  // After a sign-in through a provider, the server leads here for the code.
  const [needsCode, setNeedsCode] = useState(code !== undefined)
  const { data: welcome } = useQuery(welcomeQuery)
  if (needsCode) return <CodeForm onDone={() => openDashboard(to)} onBack={() => setNeedsCode(false)} />
  if (welcome?.needs_setup) return <NotSetUp />
  const takesPasswords = welcome?.passwords !== false
  const hasBoth = takesPasswords && welcome !== undefined && welcome.providers.length > 0
  return (
    <Card title="Sign in" below={welcome?.sign_up && takesPasswords && <Link to="/sign-up">Create an account</Link>}>
      {problem !== undefined && <SingleSignOnProblem problem={problem} />}
      <ProviderLinks providers={welcome?.providers} to={to} />
      {hasBoth && <p className="my-4 text-center text-xs text-faint">or with a password</p>}
      {takesPasswords && (
        <PasswordForm
          onDone={({ twoFactorRedirect }) => (twoFactorRedirect ? setNeedsCode(true) : openDashboard(to))}
        />
      )}
    </Card>
  )
}

function PasswordForm({ onDone }: { onDone: (answer: SignedIn) => unknown }) {
  const { isBusy, problem, onSubmit } = useSubmit(async (form) => {
    const body = { email: form.get('email'), password: form.get('password') }
    await onDone(await api.post<SignedIn>('/dashboard/auth/sign-in/email', body))
  })
  return (
    <form onSubmit={onSubmit} className="flex flex-col gap-4">
      <Field label="Email" error={fieldError(problem, 'email')}>
        <Input name="email" type="email" autoComplete="username" required autoFocus />
      </Field>
      <Field label="Password" error={fieldError(problem, 'password')}>
        <Input name="password" type="password" autoComplete="current-password" required />
      </Field>
      {problem !== undefined && <ProblemNote problem={problem} fields={['email', 'password']} />}
      <Button type="submit" variant="primary" isBusy={isBusy}>
        Sign in
      </Button>
      <Link to="/forgot" className="text-center text-sm text-faint hover:text-ink">
        Forgot your password?
      </Link>
    </form>
  )
}

function NotSetUp() {
  return (
    <Card title="Set up Zonewatch">
      <p className="text-sm text-soft">
        This server has no organization yet. It wrote a <strong>one-time set-up link</strong> to its log when it
        started. Open that link to become the owner.
      </p>
    </Card>
  )
}
