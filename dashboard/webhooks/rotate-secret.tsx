import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Webhook } from '#contract/webhooks.ts'
import { api } from '../api.ts'
import { FormDialog } from '../ui/dialog.tsx'
import { Field } from '../ui/field.tsx'
import { Code } from '../ui/page.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { Select } from '../ui/select.tsx'
import { SecretOnce } from './secret-once.tsx'
import { SecretField } from './webhook-fields.tsx'

const GRACE_PERIODS = [
  { value: '0', label: 'None. The old secret stops working at once' },
  { value: '1', label: '1 hour' },
  { value: '6', label: '6 hours' },
  { value: '24', label: '24 hours' },
  { value: '48', label: '48 hours' },
  { value: '72', label: '72 hours' },
]

/** Sets a new secret, with a grace period for receivers of Standard Webhooks. */
export function RotateSecret({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const queries = useQueryClient()
  const [secret, setSecret] = useState<string>()
  const [grace, setGrace] = useState('24')
  const rotate = useMutation({
    mutationFn: () => {
      const body = { grace_hours: Number(grace), ...(secret === undefined ? {} : { secret }) }
      return api.post<Webhook>(`/webhooks/${webhook.id}/rotate-secret`, body)
    },
    onSuccess: () => void queries.invalidateQueries({ queryKey: ['webhooks'] }),
  })
  if (rotate.data)
    return <SecretOnce title="New secret" secret={rotate.data.secret} doneLabel="Done" onDone={onClose} />
  return (
    <FormDialog
      onClose={onClose}
      title="Rotate secret"
      description="Zonewatch signs with the new secret from the next request on."
      submitLabel="Rotate secret"
      isBusy={rotate.isPending}
      onSubmit={() => rotate.mutate()}
    >
      <SecretField secret={secret} onChange={setSecret} problem={rotate.error} />
      <Field
        label="Grace period"
        hint="How long webhook-signature also contains a signature made with the old secret."
        error={fieldError(rotate.error, 'grace_hours')}
      >
        <Select value={grace} options={GRACE_PERIODS} onChange={setGrace} />
      </Field>
      <div className="rounded-md bg-sunken px-3 py-2.5 text-sm text-soft">
        <p>
          <Code>webhook-signature</Code> (Standard Webhooks) contains signatures by both secrets during the grace
          period.
        </p>
        <p className="mt-1.5">
          <Code>X-Service-Signature</Code> uses the new secret at once. If your endpoint verifies it, set your own
          secret above, let the endpoint accept both, then rotate.
        </p>
      </div>
      {rotate.error && <ProblemNote problem={rotate.error} fields={['secret', 'grace_hours']} />}
    </FormDialog>
  )
}
