import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { MailCheck } from 'lucide-react'
import { useState } from 'react'

import { api } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { useSubmit } from '../ui/use-submit.ts'
import { Card } from './card.tsx'
import { welcomeQuery } from './single-sign-on.tsx'

export function ForgotPage() {
  const [sentTo, setSentTo] = useState<string>()
  const { data: welcome } = useQuery(welcomeQuery)
  const { isBusy, problem, onSubmit } = useSubmit(async (form) => {
    const email = String(form.get('email'))
    await api.post('/dashboard/auth/request-password-reset', { email })
    setSentTo(email)
  })
  const back = <Link to="/sign-in">Back to sign in</Link>
  if (sentTo !== undefined) {
    return (
      <Card title={welcome?.sends_mail === false ? 'Ask your operator' : 'Check your email'} below={back}>
        <div role="status" className="flex flex-col items-center gap-3 text-center text-sm text-soft">
          <MailCheck className="size-8 text-faint" strokeWidth={1.5} aria-hidden="true" />
          {welcome?.sends_mail === false
            ? `This server does not send email. If an account exists for ${sentTo}, the operator finds the reset link in the server log.`
            : `If an account exists for ${sentTo}, we sent it a link to reset the password. The link works once and expires in one hour.`}
        </div>
      </Card>
    )
  }
  return (
    <Card
      title="Reset password"
      lead="Enter your email address. You receive a link to set a new password."
      below={back}
    >
      <form onSubmit={onSubmit} className="flex flex-col gap-4">
        <Field label="Email" error={fieldError(problem, 'email')}>
          <Input name="email" type="email" autoComplete="username" required autoFocus />
        </Field>
        {problem !== undefined && <ProblemNote problem={problem} fields={['email']} />}
        <Button type="submit" variant="primary" isBusy={isBusy}>
          Send reset link
        </Button>
      </form>
    </Card>
  )
}
