import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import type { Agent } from '#contract/agents.ts'
import { api } from '../api.ts'
import { ME, useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { Select } from '../ui/select.tsx'
import { useToast } from '../ui/toast.tsx'
import { givenBy, ROLES } from './roles.ts'

const FIELDS = ['name', 'role', 'notification_email']

export function EditAgent({ agent, isYou, onClose }: { agent: Agent; isYou: boolean; onClose: () => void }) {
  const { organization } = useSession()
  const queries = useQueryClient()
  const toast = useToast()
  const formId = useId()
  const [name, setName] = useState(agent.name)
  const [role, setRole] = useState(agent.role)
  const [notices, setNotices] = useState(agent.notification_email ?? '')
  const save = useMutation({
    mutationFn: () =>
      api.patch<Agent>(`/agents/${agent.id}`, { name, role, notification_email: notices.trim() || null }),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['agents'] })
      if (isYou) void queries.invalidateQueries({ queryKey: ME })
      toast.done(`${name} is changed.`)
      onClose()
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate()
  }
  const losesRights =
    isYou && ROLES.findIndex(({ value }) => value === role) > ROLES.findIndex(({ value }) => value === agent.role)
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={isYou ? 'Edit yourself' : `Edit ${agent.name}`}
      description={agent.email}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" form={formId} isBusy={save.isPending}>
            Save
          </Button>
        </>
      }
    >
      <form id={formId} onSubmit={submit} className="flex flex-col gap-5">
        <Field label="Name" hint="As this organization sees it." error={fieldError(save.error, 'name')}>
          <Input required maxLength={250} value={name} onChange={(event) => setName(event.target.value)} />
        </Field>
        <Field label="Role" error={fieldError(save.error, 'role')}>
          <Select value={role} options={givenBy(organization.role)} onChange={setRole} />
        </Field>
        {losesRights && (
          <p className="text-sm text-warn">You give up rights of your own; only someone else can give them back.</p>
        )}
        <Field
          label="Notices go to"
          isOptional
          hint="Instead of the address above, for owners: when a webhook is paused."
          error={fieldError(save.error, 'notification_email')}
        >
          <Input
            type="email"
            maxLength={254}
            placeholder={agent.email}
            value={notices}
            onChange={(event) => setNotices(event.target.value)}
          />
        </Field>
        {save.error && <ProblemNote problem={save.error} fields={FIELDS} />}
      </form>
    </Dialog>
  )
}
