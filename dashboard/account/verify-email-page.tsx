import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../api.ts'
import { Button, ButtonLink } from '../ui/button.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { useSubmit } from '../ui/use-submit.ts'
import { Card } from './card.tsx'

const verifyRoute = getRouteApi('/verify-email/$token')
const signUpRoute = getRouteApi('/confirm-sign-up/$token')

export function VerifyEmailPage() {
  const { token } = verifyRoute.useParams()
  return <ConfirmEmail token={token} text="You will sign in with this address and receive notifications there." />
}

/** Only who chose the password may confirm: somebody else may have signed up with the address. */
export function ConfirmSignUpPage() {
  const { token } = signUpRoute.useParams()
  return (
    <ConfirmEmail
      token={token}
      asksForPassword
      text="Enter the password that you chose when you signed up. If you did not sign up, close this page."
    />
  )
}

type ConfirmEmailProps = { token: string; text: string; asksForPassword?: boolean }

/** It needs a click, because mail programs open links by themselves. */
function ConfirmEmail({ token, text, asksForPassword = false }: ConfirmEmailProps) {
  const [isDone, setDone] = useState(false)
  const { isBusy, problem, onSubmit } = useSubmit(async (form) => {
    await api.post('/dashboard/auth/verify-email', {
      token,
      ...(asksForPassword ? { password: form.get('password') } : {}),
    })
    setDone(true)
  })
  return (
    <Card title="Confirm your email" below={<Link to="/sign-in">Go to Zonewatch</Link>}>
      {isDone ? (
        <div role="status" className="flex flex-col gap-4 text-sm text-soft">
          Email confirmed. Use this address to sign in.
          <ButtonLink to="/" variant="primary">
            Continue
          </ButtonLink>
        </div>
      ) : (
        <form onSubmit={onSubmit} className="flex flex-col gap-4">
          <p className="text-sm text-soft">{text}</p>
          {asksForPassword && (
            <Field label="Password" error={fieldError(problem, 'password')}>
              <Input
                name="password"
                type="password"
                autoComplete="current-password"
                maxLength={128}
                required
                autoFocus
              />
            </Field>
          )}
          {problem !== undefined && <ProblemNote problem={problem} fields={['password']} />}
          <Button type="submit" variant="primary" isBusy={isBusy}>
            Confirm
          </Button>
        </form>
      )}
    </Card>
  )
}
