import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { MailCheck } from 'lucide-react'
import { useState } from 'react'
import type { Welcome } from '#contract/account.ts'
import { api } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { Card } from './card.tsx'
import { useSubmit } from './form.ts'

export function ForgotPage() {
  const [sentTo, setSentTo] = useState<string>()
  const { data: welcome } = useQuery({
    queryKey: ['welcome'],
    queryFn: () => api.get<Welcome>('/dashboard/api/welcome'),
  })
  const { isBusy, problem, onSubmit } = useSubmit(async (given) => {
    const email = String(given.get('email'))
    await api.post('/dashboard/auth/request-password-reset', { email })
    setSentTo(email)
  })
  const back = <Link to="/sign-in">Back to signing in</Link>
  if (sentTo !== undefined) {
    return (
      <Card title={welcome?.sends_mail === false ? 'Ask the operator' : 'Look into your mail'} below={back}>
        <div role="status" className="flex flex-col items-center gap-3 text-center text-sm text-soft">
          <MailCheck className="size-8 text-faint" strokeWidth={1.5} aria-hidden="true" />
          {welcome?.sends_mail === false
            ? `This server sends no mail. If there is an account for ${sentTo}, its operator now finds the link in the server's log.`
            : `If there is an account for ${sentTo}, a link to set a new password is on its way. It works once, for an hour.`}
        </div>
      </Card>
    )
  }
  return (
    <Card title="Forgotten password" lead="A link to set a new one goes to your address." below={back}>
      <form onSubmit={onSubmit} className="flex flex-col gap-4">
        <Field label="E-mail" error={fieldError(problem, 'email')}>
          <Input name="email" type="email" autoComplete="username" required autoFocus />
        </Field>
        {problem !== undefined && <ProblemNote problem={problem} fields={['email']} />}
        <Button type="submit" look="primary" isBusy={isBusy}>
          Send the link
        </Button>
      </form>
    </Card>
  )
}
