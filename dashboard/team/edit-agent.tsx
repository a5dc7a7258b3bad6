import { useQueryClient } from '@tanstack/react-query'
import type { Agent, AgentChange, AgentRole } from '#contract/agents.ts'
import { EditDialog } from '../edit/edit-dialog.tsx'
import type { Fields } from '../edit/rebase.ts'
import { ME, useSession } from '../session.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError } from '../ui/problem.tsx'
import { Select } from '../ui/select.tsx'
import { useToast } from '../ui/toast.tsx'
import { AffectedKeys } from './affected-keys.tsx'
import { assignableRoles, ROLES } from './roles.ts'

type AgentForm = { name: string; role: AgentRole; notification_email: string }
const FIELDS: Fields<AgentForm, AgentChange> = {
  name: { label: 'Name', text: (name) => name },
  role: { label: 'Role', text: (role) => ROLES.find(({ value }) => value === role)?.label ?? role },
  notification_email: {
    label: 'Notification email',
    text: (email) => email,
    same: (a, b) => a.trim() === b.trim(),
    change: ({ notification_email }) => ({ notification_email: notification_email.trim() || null }),
  },
}
const formOf = ({ name, role, notification_email }: Agent): AgentForm => ({
  name,
  role,
  notification_email: notification_email ?? '',
})

const rank = (role: AgentRole) => ROLES.findIndex(({ value }) => value === role)

export function EditAgent({ agent, isYou, onClose }: { agent: Agent; isYou: boolean; onClose: () => void }) {
  const { organization } = useSession()
  const queries = useQueryClient()
  const toast = useToast()
  return (
    <EditDialog
      title={isYou ? 'Edit yourself' : `Edit ${agent.name}`}
      description={agent.email}
      path={`/agents/${agent.id}`}
      fields={FIELDS}
      paths={Object.keys(FIELDS)}
      formOf={formOf}
      onSaved={(saved) => {
        for (const key of ['agents', 'keys']) void queries.invalidateQueries({ queryKey: [key] })
        if (isYou) void queries.invalidateQueries({ queryKey: ME })
        toast.done(`${saved.name} saved.`)
      }}
      onClose={onClose}
    >
      {({ base, form, set, problem }) => (
        <>
          <Field label="Name" hint="Shown in this organization." error={fieldError(problem, 'name')}>
            <Input required maxLength={250} value={form.name} onChange={(event) => set({ name: event.target.value })} />
          </Field>
          <Field label="Role" error={fieldError(problem, 'role')}>
            <Select value={form.role} options={assignableRoles(organization.role)} onChange={(role) => set({ role })} />
          </Field>
          {form.role !== base.role && <AffectedKeys agent={base} newRole={form.role} />}
          {isYou && rank(form.role) > rank(base.role) && (
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
        </>
      )}
    </EditDialog>
  )
}
