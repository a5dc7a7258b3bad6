import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import type { Replay, Replayed, Webhook } from '#contract/webhooks.ts'
import { api } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { type Option, Select } from '../ui/select.tsx'
import { instantOf, localMinutes } from './replay-period.ts'
import { STATUSES, type Status } from './words.tsx'

const HOUR = 3_600_000
const SPANS = [
  ['Last hour', HOUR],
  ['24 hours', 24 * HOUR],
  ['7 days', 168 * HOUR],
] as const

const WHICH: Option<string>[] = [
  { value: '', label: 'All of them, delivered ones too' },
  ...(['FAILED', 'DELIVERED', 'RETRYING'] as const).map((status) => ({
    value: status,
    label: `Only ${STATUSES[status].word.toLowerCase()} ones`,
  })),
]

/** Sends what was made in a period again, and says how much that is. */
export function ReplayRequests({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const queries = useQueryClient()
  const formId = useId()
  const [since, setSince] = useState(() => localMinutes(Date.now() - 24 * HOUR))
  const [until, setUntil] = useState('')
  const [status, setStatus] = useState('')
  const send = useMutation({
    mutationFn: () => api.post<Replayed>(`/webhooks/${webhook.id}/replay`, bodyOf(since, until, status)),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ['requests', webhook.id] }),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    send.mutate()
  }
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="Replay requests"
      description="The same ids and the same bytes, oldest first. Tests are left out."
      footer={
        send.data ? (
          <Button look="primary" onClick={onClose}>
            Done
          </Button>
        ) : (
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button look="primary" type="submit" form={formId} isBusy={send.isPending}>
              Send again
            </Button>
          </>
        )
      }
    >
      <div aria-live="polite">{send.data && <Taken count={send.data.count} webhook={webhook} />}</div>
      {!send.data && (
        <form id={formId} onSubmit={submit} className="flex flex-col gap-4">
          <div className="flex flex-wrap gap-2">
            {SPANS.map(([label, ms]) => (
              <Button
                key={label}
                size="sm"
                onClick={() => {
                  setSince(localMinutes(Date.now() - ms))
                  setUntil('')
                }}
              >
                {label}
              </Button>
            ))}
          </div>
          <div className="grid gap-4 sm:grid-cols-2">
            <Field label="Made since" error={fieldError(send.error, 'since')}>
              <Input type="datetime-local" required value={since} onChange={(event) => setSince(event.target.value)} />
            </Field>
            <Field label="Until" isOptional hint="Empty: until now." error={fieldError(send.error, 'until')}>
              <Input type="datetime-local" value={until} onChange={(event) => setUntil(event.target.value)} />
            </Field>
          </div>
          <Field label="Which" error={fieldError(send.error, 'status')}>
            <Select value={status} options={WHICH} onChange={setStatus} />
          </Field>
          <p className="text-xs text-faint">
            Your receiver has seen delivered ones before: it should know them by their id. Times are in your zone.
          </p>
          {send.error && <ProblemNote problem={send.error} fields={['since', 'until', 'status']} />}
        </form>
      )}
    </Dialog>
  )
}

function bodyOf(since: string, until: string, status: string): Replay {
  const end = instantOf(until)
  return {
    since: instantOf(since) ?? '',
    ...(end === undefined ? {} : { until: end }),
    ...(status === '' ? {} : { status: status as Status }),
  }
}

function Taken({ count, webhook }: { count: number; webhook: Webhook }) {
  if (count === 0)
    return <p className="text-sm text-soft">No request was made in this period: nothing is sent again.</p>
  const number = `${count.toLocaleString()} ${count === 1 ? 'request' : 'requests'}`
  const isHeld = webhook.state === 'paused' || !webhook.is_active
  return (
    <p className="text-sm text-soft">
      <span className="font-medium text-ink tabular-nums">{number}</span>{' '}
      {isHeld
        ? `${count === 1 ? 'waits' : 'wait'} in the queue, and ${count === 1 ? 'is' : 'are'} sent once the webhook is active.`
        : `${count === 1 ? 'is' : 'are'} being sent again. The log shows them as they arrive.`}
    </p>
  )
}
