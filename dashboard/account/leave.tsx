import { Download } from 'lucide-react'
import { useState } from 'react'
import { api } from '../api.ts'
import { download } from '../download.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Input } from '../ui/field.tsx'
import { Section } from '../ui/page.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { useSubmit } from '../ui/use-submit.ts'

/** Download the own data, and delete the account. */
export function Leave() {
  const [isOpen, setOpen] = useState(false)
  const { isBusy, problem, onSubmit } = useSubmit(async () => {
    const data = await api.get<object>('/dashboard/api/me/data')
    download('zonewatch-my-data.json', JSON.stringify(data, null, 2))
  })
  return (
    <>
      <Section title="Your data" hint="All that this server stores about you, as a JSON file.">
        <form onSubmit={onSubmit} className="flex flex-col items-start gap-3">
          {problem !== undefined && <ProblemNote problem={problem} fields={[]} />}
          <Button type="submit" isBusy={isBusy}>
            <Download /> Download your data
          </Button>
        </form>
      </Section>
      <Section title="Delete account" hint="You leave every organization at once. This cannot be undone.">
        <Button variant="danger" onClick={() => setOpen(true)}>
          Delete account
        </Button>
        <Dialog isOpen={isOpen} onClose={() => setOpen(false)} title="Delete your account?">
          <DeleteForm />
        </Dialog>
      </Section>
    </>
  )
}

function DeleteForm() {
  const { person } = useSession().me
  const { isBusy, problem, onSubmit } = useSubmit(async (form) => {
    await api.post('/dashboard/auth/delete-account', Object.fromEntries(form))
    location.assign('/dashboard/sign-in')
  })
  return (
    <form onSubmit={onSubmit} className="flex flex-col gap-4">
      <p className="text-sm text-soft">
        Your sessions, your memberships and the API keys that you created end at once. Audit logs keep your name, so
        that organizations can see who changed what.
      </p>
      <Field label="Current password" error={fieldError(problem, 'password')}>
        <Input name="password" type="password" autoComplete="current-password" required />
      </Field>
      {person.two_factor && (
        <Field label="Code" hint="Of your authenticator app, or a recovery code." error={fieldError(problem, 'code')}>
          <Input name="code" autoComplete="one-time-code" required />
        </Field>
      )}
      {problem !== undefined && <ProblemNote problem={problem} fields={['password', 'code']} />}
      <div className="flex justify-end">
        <Button type="submit" variant="danger" isBusy={isBusy}>
          Delete account
        </Button>
      </div>
    </form>
  )
}
