import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { SignedUp } from '#contract/account.ts'
import { api } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { Card } from './card.tsx'
import { useEnter } from './enter.ts'
import { useSubmit } from './form.ts'
import { PERSON_FIELDS, PersonFields } from './new-account-fields.tsx'

export function SignUpPage() {
  const enter = useEnter()
  const [waiting, setWaiting] = useState<string>()
  const { isBusy, problem, onSubmit } = useSubmit(async (given) => {
    const { confirm } = await api.post<SignedUp>('/dashboard/api/sign-up', Object.fromEntries(given))
    if (confirm) setWaiting(String(given.get('email')))
    else await enter()
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
        <PersonFields problem={problem} />
        {problem !== undefined && <ProblemNote problem={problem} fields={PERSON_FIELDS} />}
        <Button type="submit" variant="primary" isBusy={isBusy}>
          Create account
        </Button>
      </form>
    </Card>
  )
}
