import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { ApiKeyWithSecret, NewApiKey } from '#contract/api-keys.ts'
import { api } from '../api.ts'
import { useSession } from '../session.tsx'
import { FormDialog } from '../ui/dialog.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { Select } from '../ui/select.tsx'
import { LimitFields, RoleField } from './key-fields.tsx'
import { KeyOnce } from './key-once.tsx'
import { EXPIRY_OPTIONS, expiryOf, KEY_FIELDS, type KeyRole, limitChanges, NO_LIMIT_TEXTS } from './keys.ts'

/** Creates an API key and shows it once. */
export function NewKey({ onClose }: { onClose: () => void }) {
  const { can } = useSession()
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [role, setRole] = useState<KeyRole>('write')
  const [days, setDays] = useState('')
  const [limits, setLimits] = useState(NO_LIMIT_TEXTS)
  const create = useMutation({
    mutationFn: () => {
      const changedLimits = limitChanges(NO_LIMIT_TEXTS, limits)
      const limitsChange = Object.keys(changedLimits).length > 0 ? { limits: changedLimits } : {}
      const body: NewApiKey = { name: name.trim(), role, expires: expiryOf(days, Date.now()), ...limitsChange }
      return api.post<ApiKeyWithSecret>('/api-keys', body)
    },
    onSuccess: () => {
      for (const key of ['keys', 'organization']) void queries.invalidateQueries({ queryKey: [key] })
    },
  })
  if (create.data)
    return <KeyOnce apiKey={create.data} title={`API key ${create.data.name} created`} onDone={onClose} />
  return (
    <FormDialog
      onClose={onClose}
      title="New API key"
      submitLabel="Create key"
      isBusy={create.isPending}
      onSubmit={() => create.mutate()}
    >
      <Field
        label="Name"
        hint="The program that uses the key, for example CI."
        error={fieldError(create.error, 'name')}
      >
        <Input
          required
          autoFocus
          maxLength={250}
          placeholder="deployment"
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </Field>
      <RoleField value={role} onChange={setRole} problem={create.error} />
      <Field label="Expires" error={fieldError(create.error, 'expires')}>
        <Select value={days} options={EXPIRY_OPTIONS} onChange={setDays} />
      </Field>
      {can('own') && <LimitFields value={limits} onChange={setLimits} problem={create.error} />}
      {create.error && <ProblemNote problem={create.error} fields={KEY_FIELDS} />}
    </FormDialog>
  )
}
