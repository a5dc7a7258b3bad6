import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { ApiKey, ApiKeyWithSecret } from '#contract/api-keys.ts'
import { api } from '../api.ts'
import { FormDialog } from '../ui/dialog.tsx'
import { Field } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { Select } from '../ui/select.tsx'
import { Time } from '../ui/time.tsx'
import { KeyOnce } from './key-once.tsx'
import { GRACE_OPTIONS } from './keys.ts'

/** Replaces a key, with a grace period during which both keys work. */
export function RotateKey({
  apiKey: { id, name, previous_expires },
  onClose,
}: {
  apiKey: ApiKey
  onClose: () => void
}) {
  const queries = useQueryClient()
  const [grace, setGrace] = useState('24')
  const rotate = useMutation({
    mutationFn: () => api.post<ApiKeyWithSecret>(`/api-keys/${id}/rotate`, { grace_hours: Number(grace) }),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ['keys'] }),
  })
  if (rotate.data) {
    const until = rotate.data.previous_expires
    const note = (
      <p className="text-sm text-soft">
        {until ? (
          <>
            The old key stops working <Time at={until} />. Replace it in your programs before then.
          </>
        ) : (
          'The old key no longer works.'
        )}
      </p>
    )
    return <KeyOnce apiKey={rotate.data} title={`API key ${name} rotated`} note={note} onDone={onClose} />
  }
  return (
    <FormDialog
      onClose={onClose}
      title={`Rotate ${name}`}
      description="Creates a new key with the same role, limits and expiry."
      submitLabel="Rotate key"
      isBusy={rotate.isPending}
      onSubmit={() => rotate.mutate()}
    >
      <Field
        label="Grace period"
        hint="How long the old key also works."
        error={fieldError(rotate.error, 'grace_hours')}
      >
        <Select value={grace} options={GRACE_OPTIONS} onChange={setGrace} />
      </Field>
      {previous_expires && (
        <p className="text-sm text-warn">
          This key was rotated before, and the key before that works until <Time at={previous_expires} isExact />. It
          stops working now.
        </p>
      )}
      {rotate.error && <ProblemNote problem={rotate.error} fields={['grace_hours']} />}
    </FormDialog>
  )
}
