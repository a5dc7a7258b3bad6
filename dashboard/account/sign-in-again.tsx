import { useEffect, useState } from 'react'
import type { SignedIn } from '#contract/account.ts'
import { api } from '../api.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { CodeFields } from './code-form.tsx'
import { useSubmit } from './form.ts'
import { continueSession, useIsSessionOver } from './session-over.ts'

/** Over the page when the session has ended: nothing that was typed is lost, and what was sent is sent again afterwards. */
export function SignInAgain() {
  const isOver = useIsSessionOver()
  const [needsCode, setNeedsCode] = useState(false)
  useNoEscape(isOver)
  const done = () => {
    setNeedsCode(false)
    continueSession()
  }
  return (
    <Dialog
      isOpen={isOver}
      isPersistent
      title="Sign in again"
      description="Your session has expired. Sign in to continue. What you typed is kept."
    >
      {needsCode ? (
        <CodeFields onDone={done} onBack={() => setNeedsCode(false)} />
      ) : (
        <Password onDone={({ twoFactorRedirect }) => (twoFactorRedirect ? setNeedsCode(true) : done())} />
      )}
    </Dialog>
  )
}

function Password({ onDone }: { onDone: (answer: SignedIn) => void }) {
  const { email } = useSession().me.person
  const { isBusy, problem, onSubmit } = useSubmit(async (given) => {
    onDone(await api.post<SignedIn>('/dashboard/auth/sign-in/email', { email, password: given.get('password') }))
  })
  return (
    <form onSubmit={onSubmit} className="flex flex-col gap-4">
      <Field label="Email">
        <Input name="email" type="email" autoComplete="username" value={email} readOnly />
      </Field>
      <Field label="Password" error={fieldError(problem, 'password')}>
        <Input name="password" type="password" autoComplete="current-password" required autoFocus />
      </Field>
      {problem !== undefined && <ProblemNote problem={problem} fields={['password']} />}
      <div className="flex items-center justify-between gap-4">
        <a href="/dashboard/sign-in" className="text-sm text-faint hover:text-ink">
          Use a different account
        </a>
        <Button type="submit" variant="primary" isBusy={isBusy}>
          Sign in
        </Button>
      </div>
    </form>
  )
}

/** Escape would close the form below the dialog. */
function useNoEscape(isOver: boolean): void {
  useEffect(() => {
    if (!isOver) return
    const stop = (event: KeyboardEvent) => event.key === 'Escape' && event.stopImmediatePropagation()
    addEventListener('keydown', stop, true)
    return () => removeEventListener('keydown', stop, true)
  }, [isOver])
}
