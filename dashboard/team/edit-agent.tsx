import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import type { Agent, AgentChange, AgentRole } from '#contract/agents.ts'
import type { Versioned } from '../api.ts'
import { ConflictNote } from '../edit/conflict-note.tsx'
import { LoadResource } from '../edit/load-resource.tsx'
import { type Fields, isSame } from '../edit/rebase.ts'
import { useEdit } from '../edit/use-edit.ts'
import { ME, useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { Select } from '../ui/select.tsx'
import { useToast } from '../ui/toast.tsx'
import { AffectedKeys } from './affected-keys.tsx'
import { assignableRoles, ROLES } from './roles.ts'

export function EditAgent({ agent, isYou, onClose }: { agent: Agent; isYou: boolean; onClose: () => void }) {
  const formId = useId()
  const [isBusy, setBusy] = useState(false)
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={isYou ? 'Edit yourself' : `Edit ${agent.name}`}
      description={agent.email}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" form={formId} isBusy={isBusy}>
            Save
          </Button>
        </>
      }
    >
      <LoadResource<Agent> path={`/agents/${agent.id}`}>
        {(opened) => <Form id={formId} opened={opened} isYou={isYou} onBusy={setBusy} onDone={onClose} />}
      </LoadResource>
    </Dialog>
  )
}

type AgentForm = { name: string; role: AgentRole; notification_email: string }
const FIELDS: Fields<AgentForm> = {
  name: { label: 'Name', text: (name) => name },
  role: { label: 'Role', text: (role) => ROLES.find(({ value }) => value === role)?.label ?? role },
  notification_email: { label: 'Notification email', text: (email) => email, same: (a, b) => a.trim() === b.trim() },
}
const formOf = ({ name, role, notification_email }: Agent): AgentForm => ({
  name,
  role,
  notification_email: notification_email ?? '',
})
function changeOf(agent: Agent, form: AgentForm): AgentChange {
  const original = formOf(agent)
  return {
    ...(isSame(FIELDS, 'name', original, form) ? {} : { name: form.name }),
    ...(isSame(FIELDS, 'role', original, form) ? {} : { role: form.role }),
    ...(isSame(FIELDS, 'notification_email', original, form)
      ? {}
      : { notification_email: form.notification_email.trim() || null }),
  }
}

type FormProps = {
  id: string
  opened: Versioned<Agent>
  isYou: boolean
  onBusy: (isBusy: boolean) => void
  onDone: () => void
}

function Form({ id, opened, isYou, onBusy, onDone }: FormProps) {
  const { organization } = useSession()
  const queries = useQueryClient()
  const toast = useToast()
  const edit = useEdit(opened, { path: `/agents/${opened.value.id}`, fields: FIELDS, formOf, changeOf })
  const { base, form, set, problem } = edit
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (!edit.isChanged) return onDone()
    onBusy(true)
    const saved = await edit.save()
    onBusy(false)
    if (!saved) return
    for (const key of ['agents', 'keys']) void queries.invalidateQueries({ queryKey: [key] })
    if (isYou) void queries.invalidateQueries({ queryKey: ME })
    toast.done(`${saved.name} saved.`)
    onDone()
  }
  const rank = (role: AgentRole) => ROLES.findIndex(({ value }) => value === role)
  const losesPermissions = isYou && rank(form.role) > rank(base.role)
  return (
    <form id={id} onSubmit={submit} className="flex flex-col gap-5">
      <ConflictNote {...edit} fields={FIELDS} />
      <Field label="Name" hint="Shown in this organization." error={fieldError(problem, 'name')}>
        <Input required maxLength={250} value={form.name} onChange={(event) => set({ name: event.target.value })} />
      </Field>
      <Field label="Role" error={fieldError(problem, 'role')}>
        <Select value={form.role} options={assignableRoles(organization.role)} onChange={(role) => set({ role })} />
      </Field>
      {form.role !== base.role && <AffectedKeys agent={base} newRole={form.role} />}
      {losesPermissions && (
        <p className="text-sm text-warn">You lose permissions. Only another admin or owner can restore them.</p>
      )}
      <Field
        label="Notification email"
        isOptional
        hint="For owners: receives webhook alerts instead of the sign-in address."
        error={fieldError(problem, 'notification_email')}
      >
        <Input
          type="email"
          maxLength={254}
          placeholder={base.email}
          value={form.notification_email}
          onChange={(event) => set({ notification_email: event.target.value })}
        />
      </Field>
      {problem !== undefined && <ProblemNote problem={problem} fields={Object.keys(FIELDS)} />}
    </form>
  )
}
