import { useState } from 'react'
import { api } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Checkbox, Field, Input } from '../ui/field.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { useSubmit } from '../ui/use-submit.ts'
import { Card } from './card.tsx'

/** The second step of sign-in: a code of the authenticator app, or a recovery code. */
export function CodeForm(props: CodeProps) {
  const [isRecovery, setRecovery] = useState(false)
  return (
    <Card
      title={isRecovery ? 'Recovery code' : 'Enter the code'}
      lead={
        isRecovery
          ? 'Use one of your saved recovery codes. Each code works once.'
          : 'Use the code shown in your authenticator app.'
      }
    >
      <CodeFields {...props} onRecovery={setRecovery} />
    </Card>
  )
}

type CodeProps = { onDone: () => unknown; onBack: () => void }

/** `onRecovery` receives whether a recovery code is asked for. */
export function CodeFields({ onDone, onBack, onRecovery }: CodeProps & { onRecovery?: (isRecovery: boolean) => void }) {
  const [isRecovery, setRecovery] = useState(false)
  const [trusts, setTrusts] = useState(false)
  const { isBusy, problem, onSubmit } = useSubmit(async (form) => {
    const path = isRecovery ? 'verify-backup-code' : 'verify-totp'
    const code = String(form.get('code')).trim()
    await api.post(`/dashboard/auth/two-factor/${path}`, {
      code: isRecovery ? code : code.replaceAll(' ', ''),
      trustDevice: trusts,
    })
    await onDone()
  })
  const toggle = () => {
    setRecovery(!isRecovery)
    onRecovery?.(!isRecovery)
  }
  return (
    <form key={String(isRecovery)} onSubmit={onSubmit} className="flex flex-col gap-4">
      <Field label={isRecovery ? 'Recovery code' : 'Six-digit code'}>
        {isRecovery ? (
          <Input name="code" isCode required autoFocus autoComplete="off" />
        ) : (
          <Input name="code" isCode required autoFocus inputMode="numeric" autoComplete="one-time-code" maxLength={7} />
        )}
      </Field>
      <Checkbox label="Trust this browser for 30 days" isChecked={trusts} onChange={setTrusts} />
      {problem !== undefined && <ProblemNote problem={problem} />}
      <Button type="submit" variant="primary" isBusy={isBusy}>
        Sign in
      </Button>
      <div className="flex justify-between gap-4">
        <Button variant="quiet" size="sm" onClick={onBack}>
          Back
        </Button>
        <Button variant="quiet" size="sm" onClick={toggle}>
          {isRecovery ? 'Use the authenticator app' : 'Use a recovery code'}
        </Button>
      </div>
    </form>
  )
}
