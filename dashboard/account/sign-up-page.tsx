import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { SignedUp } from '#contract/account.ts'
import { api } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { useSubmit } from '../ui/use-submit.ts'
import { ACCOUNT_FIELDS, AccountFields } from './account-fields.tsx'
import { Card } from './card.tsx'
import { useOpenDashboard } from './open-dashboard.ts'

export function SignUpPage() {
  const openDashboard = useOpenDashboard()
  const [waiting, setWaiting] = useState<string>()
  const { isBusy, problem, onSubmit } = useSubmit(async (form) => {
    const { confirm } = await api.post<SignedUp>('/dashboard/api/sign-up', Object.fromEntries(form))
    if (confirm) setWaiting(String(form.get('email')))
    else await openDashboard()
  })
  if (waiting !== undefined) {
    return (
      <Card title="Confirm your email" below={<Link to="/sign-in">Sign in</Link>}>
        <p role="status" className="text-sm text-soft">
          We sent a confirmation link to {waiting}. Open it within one hour, then sign in with your password.
        </p>
      </Card>
    )
  }
  return (
    <Card title="Create an account" below={<Link to="/sign-in">Already have an account? Sign in</Link>}>
      <form onSubmit={onSubmit} className="flex flex-col gap-4">
        <Field
          label="Organization"
          hint="A company or a team; you become its owner."
          error={fieldError(problem, 'organization')}
        >
          <Input name="organization" autoComplete="organization" required autoFocus maxLength={250} />
        </Field>
        <AccountFields problem={problem} />
        {problem !== undefined && <ProblemNote problem={problem} fields={ACCOUNT_FIELDS} />}
        <Button type="submit" variant="primary" isBusy={isBusy}>
          Create account
        </Button>
      </form>
    </Card>
  )
}
