import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { Me, SignedIn } from '#contract/account.ts'
import { api } from '../api.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { useSubmit } from '../ui/use-submit.ts'
import { CodeFields } from './code-form.tsx'
import { continueSession, useIsSessionExpired } from './expired-session.ts'
import { ProviderLinks, welcomeQuery } from './single-sign-on.tsx'

/** A dialog over the page after the session has expired, so that no input is lost. Failed requests are sent again afterwards. */
export function SignInAgain() {
  const isExpired = useIsSessionExpired()
  const [needsCode, setNeedsCode] = useState(false)
  useBlockEscape(isExpired)
  const done = () => {
    setNeedsCode(false)
    continueSession()
  }
  return (
    <Dialog
      isOpen={isExpired}
      isPersistent
      title="Sign in again"
      description="Your session has expired. Sign in to continue. Your input is kept."
    >
      {needsCode ? (
        <CodeFields onDone={done} onBack={() => setNeedsCode(false)} />
      ) : (
        <SignInForm
          onDone={({ twoFactorRedirect }) => (twoFactorRedirect ? setNeedsCode(true) : done())}
          onBack={done}
        />
      )}
    </Dialog>
  )
}

function SignInForm({ onDone, onBack }: { onDone: (answer: SignedIn) => void; onBack: () => void }) {
  const { id } = useSession().me.person
  const { data: welcome } = useQuery(welcomeQuery)
  const hasProviders = welcome !== undefined && welcome.providers.length > 0
  // The provider's page opens in another tab. Whoever comes back is signed in there.
  useEffect(() => {
    if (!hasProviders) return
    const look = async () => {
      const me = await fetch('/dashboard/api/me').then((response) =>
        response.ok ? (response.json() as Promise<Me>) : null,
      )
      if (me?.person.id === id) onBack()
      else if (me) location.reload()
    }
    const onFocus = () => void look().catch(() => {})
    addEventListener('focus', onFocus)
    return () => removeEventListener('focus', onFocus)
  }, [hasProviders, id, onBack])
  return (
    <>
      {hasProviders && (
        <div className="mb-4">
          <ProviderLinks providers={welcome.providers} to={undefined} isInNewTab />
          <p className="mt-2 text-xs text-faint">Opens in a new tab. Come back to this one afterwards.</p>
        </div>
      )}
      {welcome?.passwords !== false && <Password onDone={onDone} />}
    </>
  )
}

function Password({ onDone }: { onDone: (answer: SignedIn) => void }) {
  const { email } = useSession().me.person
  const { isBusy, problem, onSubmit } = useSubmit(async (form) => {
    onDone(await api.post<SignedIn>('/dashboard/auth/sign-in/email', { email, password: form.get('password') }))
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

/** Otherwise Escape would close the form below the dialog. */
function useBlockEscape(isExpired: boolean): void {
  useEffect(() => {
    if (!isExpired) return
    const stop = (event: KeyboardEvent) => event.key === 'Escape' && event.stopImmediatePropagation()
    addEventListener('keydown', stop, true)
    return () => removeEventListener('keydown', stop, true)
  }, [isExpired])
}
