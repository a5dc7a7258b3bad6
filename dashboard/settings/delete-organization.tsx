import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { DELETION_DAYS } from '#contract/organization.ts'
import { api } from '../api.ts'
import { ME, useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Input } from '../ui/field.tsx'
import { Section } from '../ui/page.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { fullTime } from '../ui/time.tsx'
import { useToast } from '../ui/toast.tsx'
import { useSubmit } from '../ui/use-submit.ts'

/** Only for owners. */
export function DeleteOrganization() {
  const { organization } = useSession()
  const [isOpen, setOpen] = useState(false)
  return (
    <Section
      className="max-w-2xl"
      title="Delete organization"
      hint={`Everything in it is deleted after ${DELETION_DAYS} days. Until then an owner can cancel it.`}
    >
      {organization.deletes === null ? (
        <Button variant="danger" onClick={() => setOpen(true)}>
          Delete organization
        </Button>
      ) : (
        <Cancel deletes={organization.deletes} />
      )}
      <Dialog isOpen={isOpen} onClose={() => setOpen(false)} title={`Delete ${organization.name}?`}>
        <Form onDone={() => setOpen(false)} />
      </Dialog>
    </Section>
  )
}

function Form({ onDone }: { onDone: () => void }) {
  const { organization } = useSession()
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const { isBusy, problem, onSubmit } = useSubmit(async () => {
    await api.delete(`/organization?name=${encodeURIComponent(name)}`)
    await queries.invalidateQueries({ queryKey: ME })
    onDone()
  })
  return (
    <form onSubmit={onSubmit} className="flex flex-col gap-4">
      <p className="text-sm text-soft">
        Monitors, events, webhooks, alerts, members, API keys and the audit log are deleted in {DELETION_DAYS} days.
        Until then nothing changes. All owners receive an email.
      </p>
      <Field label={`Type the name of the organization: ${organization.name}`} error={fieldError(problem, 'name')}>
        <Input required autoComplete="off" value={name} onChange={(event) => setName(event.target.value)} />
      </Field>
      {problem !== undefined && <ProblemNote problem={problem} fields={['name']} />}
      <div className="flex justify-end gap-2">
        <Button type="submit" variant="danger" isBusy={isBusy} disabled={name.trim() !== organization.name.trim()}>
          Delete in {DELETION_DAYS} days
        </Button>
      </div>
    </form>
  )
}

function Cancel({ deletes }: { deletes: string }) {
  const queries = useQueryClient()
  const toast = useToast()
  const { isBusy, problem, onSubmit } = useSubmit(async () => {
    await api.delete('/organization/deletion')
    await queries.invalidateQueries({ queryKey: ME })
    toast.done('The organization is kept.')
  })
  return (
    <form onSubmit={onSubmit} className="flex flex-col items-start gap-3">
      <p className="text-sm">Everything is deleted at {fullTime(deletes)}.</p>
      {problem !== undefined && <ProblemNote problem={problem} fields={[]} />}
      <Button type="submit" isBusy={isBusy}>
        Cancel the deletion
      </Button>
    </form>
  )
}
