import { useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import type { EmailChanged } from '#contract/account.ts'
import { api } from '../api.ts'
import { ME, useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Field, Input } from '../ui/field.tsx'
import { Page, Section } from '../ui/page.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { useToast } from '../ui/toast.tsx'
import { useSubmit } from '../ui/use-submit.ts'
import { SecondFactorSection } from './second-factor.tsx'
import { Sessions } from './sessions.tsx'

const Leave = lazy(async () => ({ default: (await import('./leave.tsx')).Leave }))

export function ProfilePage() {
  return (
    <Page title="Your account" lead="These settings apply in every organization you belong to." isNarrow>
      <div className="flex flex-col gap-5">
        <Name />
        <Email />
        <Password />
        <SecondFactorSection />
        <Sessions />
        <Suspense>
          <Leave />
        </Suspense>
      </div>
    </Page>
  )
}

function Name() {
  const { me } = useSession()
  const queries = useQueryClient()
  const toast = useToast()
  const { isBusy, problem, onSubmit } = useSubmit(async (form) => {
    await api.post('/dashboard/auth/update-user', { name: form.get('name') })
    await queries.invalidateQueries({ queryKey: ME })
    toast.done('Name changed.')
  })
  return (
    <Section title="Name">
      <form onSubmit={onSubmit} className="flex flex-wrap items-end gap-3">
        <Field label="Name" error={fieldError(problem, 'name')} className="min-w-56 flex-1">
          <Input name="name" defaultValue={me.person.name} autoComplete="name" required maxLength={250} />
        </Field>
        <Button type="submit" isBusy={isBusy}>
          Change name
        </Button>
      </form>
      {problem !== undefined && <ProblemNote problem={problem} fields={['name']} />}
    </Section>
  )
}

function Email() {
  const { me } = useSession()
  const queries = useQueryClient()
  const [unconfirmedEmail, setUnconfirmedEmail] = useState<string>()
  const toast = useToast()
  const { isBusy, problem, onSubmit } = useSubmit(async (form) => {
    const newEmail = String(form.get('newEmail'))
    const { confirm } = await api.post<EmailChanged>('/dashboard/auth/change-email', {
      newEmail,
      password: form.get('password'),
    })
    if (confirm) return setUnconfirmedEmail(newEmail)
    await queries.invalidateQueries({ queryKey: ME })
    toast.done(`Email changed. Sign in with ${newEmail} from now on.`)
  })
  return (
    <Section title="Email" hint={`You sign in with ${me.person.email}.`}>
      {unconfirmedEmail !== undefined ? (
        <p role="status" className="text-sm text-soft">
          We sent a confirmation link to {unconfirmedEmail}. Open the link to change your address.
        </p>
      ) : (
        <form key={me.person.email} onSubmit={onSubmit} className="flex flex-col gap-4">
          <div className="grid gap-4 sm:grid-cols-2">
            <Field label="New address" error={fieldError(problem, 'newEmail')}>
              <Input name="newEmail" type="email" autoComplete="email" required />
            </Field>
            <Field label="Current password" error={fieldError(problem, 'password')}>
              <Input name="password" type="password" autoComplete="current-password" required />
            </Field>
          </div>
          {problem !== undefined && <ProblemNote problem={problem} fields={['newEmail', 'password']} />}
          <Button type="submit" isBusy={isBusy} className="self-start">
            Change email
          </Button>
        </form>
      )}
    </Section>
  )
}

function Password() {
  const queries = useQueryClient()
  const toast = useToast()
  const [attempt, setAttempt] = useState(0)
  const { isBusy, problem, onSubmit } = useSubmit(async (form) => {
    await api.post('/dashboard/auth/change-password', Object.fromEntries(form))
    await queries.invalidateQueries({ queryKey: ['sessions'] })
    setAttempt(attempt + 1)
    toast.done('Password changed. Your other sessions were signed out.')
  })
  return (
    <Section title="Password" hint="Changing your password signs out your other sessions.">
      <form key={attempt} onSubmit={onSubmit} className="flex flex-col gap-4">
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label="Current password" error={fieldError(problem, 'currentPassword')}>
            <Input name="currentPassword" type="password" autoComplete="current-password" required />
          </Field>
          <Field label="New password" hint="At least 8 characters." error={fieldError(problem, 'newPassword')}>
            <Input
              name="newPassword"
              type="password"
              autoComplete="new-password"
              minLength={8}
              maxLength={128}
              required
            />
          </Field>
        </div>
        {problem !== undefined && <ProblemNote problem={problem} fields={['currentPassword', 'newPassword']} />}
        <Button type="submit" isBusy={isBusy} className="self-start">
          Change password
        </Button>
      </form>
    </Section>
  )
}
