import { useQueryClient } from '@tanstack/react-query'
import { type ApiKey, type ApiKeyChange, KEY_LIMITS } from '#contract/api-keys.ts'
import { EditDialog } from '../edit/edit-dialog.tsx'
import type { Fields } from '../edit/rebase.ts'
import { Field, Input } from '../ui/field.tsx'
import { fieldError } from '../ui/problem.tsx'
import { Select } from '../ui/select.tsx'
import { useToast } from '../ui/toast.tsx'
import { LimitFields, RoleField } from './key-fields.tsx'
import {
  EXPIRY_OPTIONS,
  expiryOf,
  KEY_FIELDS,
  KEY_ROLES,
  type KeyRole,
  LIMIT_LABELS,
  type LimitTexts,
  limitChanges,
  limitTextsOf,
} from './keys.ts'

/** `expires`: the stored time, or a value of EXPIRY_OPTIONS. */
type KeyForm = { name: string; role: KeyRole; expires: string; limits: LimitTexts }

const dateText = (time: string) => new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' }).format(Date.parse(time))
const expiryText = (expires: string) =>
  EXPIRY_OPTIONS.find(({ value }) => value === expires)?.label ?? `On ${dateText(expires)}`

const FIELDS: Fields<KeyForm, ApiKeyChange> = {
  name: { label: 'Name', text: (name) => name },
  role: { label: 'Role', text: (role) => KEY_ROLES[role].label },
  expires: {
    label: 'Expires',
    text: expiryText,
    change: ({ expires }) => ({ expires: expiryOf(expires, Date.now()) }),
  },
  limits: {
    label: 'Requests per minute',
    text: (limits) => KEY_LIMITS.map((kind) => `${LIMIT_LABELS[kind]}: ${limits[kind] || 'server'}`).join(', '),
    change: (form, before) => ({ limits: limitChanges(before.limits, form.limits) }),
  },
}
const formOf = ({ name, role, expires, limits }: ApiKey): KeyForm => ({
  ...{ name, role, expires: expires ?? '', limits: limitTextsOf(limits) },
})

export function EditKey({ apiKey: { id, name }, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const queries = useQueryClient()
  const toast = useToast()
  return (
    <EditDialog
      title={`Edit ${name}`}
      description="Changes apply from the next request with the key."
      path={`/api-keys/${id}`}
      fields={FIELDS}
      paths={KEY_FIELDS}
      formOf={formOf}
      onSaved={(saved) => {
        void queries.invalidateQueries({ queryKey: ['keys'] })
        toast.done(`API key ${saved.name} saved.`)
      }}
      onClose={onClose}
    >
      {({ base: { expires }, form, set, problem }) => (
        <>
          <Field label="Name" error={fieldError(problem, 'name')}>
            <Input required maxLength={250} value={form.name} onChange={(event) => set({ name: event.target.value })} />
          </Field>
          <RoleField value={form.role} onChange={(role) => set({ role })} problem={problem} />
          <Field label="Expires" error={fieldError(problem, 'expires')}>
            <Select
              value={form.expires}
              options={[...(expires ? [{ value: expires, label: expiryText(expires) }] : []), ...EXPIRY_OPTIONS]}
              onChange={(value) => set({ expires: value })}
            />
          </Field>
          <LimitFields value={form.limits} onChange={(limits) => set({ limits })} problem={problem} />
        </>
      )}
    </EditDialog>
  )
}
