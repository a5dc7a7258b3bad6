import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import { type ApiKey, type ApiKeyChange, KEY_LIMITS } from '#contract/api-keys.ts'
import type { Versioned } from '../api.ts'
import { ConflictNote } from '../edit/conflict-note.tsx'
import { LoadResource } from '../edit/load-resource.tsx'
import { type Fields, isSame } from '../edit/rebase.ts'
import { useEdit } from '../edit/use-edit.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
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

export function EditKey({ apiKey: { id, name }, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const formId = useId()
  const [isBusy, setBusy] = useState(false)
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={`Edit ${name}`}
      description="Changes apply from the next request with the key."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" form={formId} isBusy={isBusy}>
            Save
          </Button>
        </>
      }
    >
      <LoadResource<ApiKey> path={`/api-keys/${id}`}>
        {(opened) => <Form id={formId} opened={opened} onBusy={setBusy} onDone={onClose} />}
      </LoadResource>
    </Dialog>
  )
}

/** `expires`: the stored time, or a value of EXPIRY_OPTIONS. */
type KeyForm = { name: string; role: KeyRole; expires: string; limits: LimitTexts }

const dateText = (time: string) => new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' }).format(Date.parse(time))
const expiryText = (expires: string) =>
  EXPIRY_OPTIONS.find(({ value }) => value === expires)?.label ?? `On ${dateText(expires)}`

const FIELDS: Fields<KeyForm> = {
  name: { label: 'Name', text: (name) => name },
  role: { label: 'Role', text: (role) => KEY_ROLES[role].label },
  expires: { label: 'Expires', text: expiryText },
  limits: {
    label: 'Requests per minute',
    text: (limits) => KEY_LIMITS.map((kind) => `${LIMIT_LABELS[kind]}: ${limits[kind] || 'server'}`).join(', '),
  },
}
const formOf = ({ name, role, expires, limits }: ApiKey): KeyForm => ({
  ...{ name, role, expires: expires ?? '', limits: limitTextsOf(limits) },
})
function changeOf(key: ApiKey, form: KeyForm): ApiKeyChange {
  const original = formOf(key)
  const limits = limitChanges(original.limits, form.limits)
  return {
    ...(isSame(FIELDS, 'name', original, form) ? {} : { name: form.name }),
    ...(isSame(FIELDS, 'role', original, form) ? {} : { role: form.role }),
    ...(isSame(FIELDS, 'expires', original, form) ? {} : { expires: expiryOf(form.expires, Date.now()) }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  }
}

type FormProps = {
  id: string
  opened: Versioned<ApiKey>
  onBusy: (isBusy: boolean) => void
  onDone: () => void
}

function Form({ id, opened, onBusy, onDone }: FormProps) {
  const queries = useQueryClient()
  const toast = useToast()
  const edit = useEdit(opened, { path: `/api-keys/${opened.value.id}`, fields: FIELDS, formOf, changeOf })
  const { base, form, set, problem } = edit
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (!edit.isChanged) return onDone()
    onBusy(true)
    const saved = await edit.save()
    onBusy(false)
    if (!saved) return
    void queries.invalidateQueries({ queryKey: ['keys'] })
    toast.done(`API key ${saved.name} saved.`)
    onDone()
  }
  const stored = base.expires === null ? [] : [{ value: base.expires, label: expiryText(base.expires) }]
  return (
    <form id={id} onSubmit={submit} className="flex flex-col gap-5">
      <ConflictNote {...edit} fields={FIELDS} />
      <Field label="Name" error={fieldError(problem, 'name')}>
        <Input required maxLength={250} value={form.name} onChange={(event) => set({ name: event.target.value })} />
      </Field>
      <RoleField value={form.role} onChange={(role) => set({ role })} problem={problem} />
      <Field label="Expires" error={fieldError(problem, 'expires')}>
        <Select
          value={form.expires}
          options={[...stored, ...EXPIRY_OPTIONS]}
          onChange={(expires) => set({ expires })}
        />
      </Field>
      <LimitFields value={form.limits} onChange={(limits) => set({ limits })} problem={problem} />
      {problem !== undefined && <ProblemNote problem={problem} fields={KEY_FIELDS} />}
    </form>
  )
}
