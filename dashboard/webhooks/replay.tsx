import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import type { ReplayCounts, ReplaySelection } from '#contract/dashboard.ts'
import type { Replayed, Webhook } from '#contract/webhooks.ts'
import { plural } from '#contract/wording.ts'
import { api } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Checkbox } from '../ui/field.tsx'
import { fromLocalInput, lastDay, PeriodFields } from '../ui/period.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { replayCountsQuery } from './queries.ts'
import { STATUS_DISPLAY, type Status } from './status.tsx'

// Importing the constant of contract/ would load its schemas too.
const MAX_COUNTED = 10_000

const ORDER = ['FAILED', 'RETRYING', 'PENDING', 'DELIVERED'] as const
const NOT_DELIVERED: readonly Status[] = ['FAILED', 'RETRYING', 'PENDING']

/** Sends requests of a period again. Shows their number by status first. */
export function ReplayRequests({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const queries = useQueryClient()
  const formId = useId()
  const [local, setLocal] = useState(lastDay)
  const [statuses, setStatuses] = useState(NOT_DELIVERED)
  const period = { since: fromLocalInput(local.since), until: fromLocalInput(local.until) }
  const { data: counts, error: countError } = useQuery(replayCountsQuery(webhook.id, period.since, period.until))
  const chosen = ORDER.filter((status) => statuses.includes(status))
  const count = counts && chosen.reduce((sum, status) => sum + counts[status], 0)
  const send = useMutation({
    mutationFn: () =>
      api.post<Replayed>(`/dashboard/api/webhooks/${webhook.id}/replay`, {
        since: period.since ?? '',
        ...(period.until === undefined ? {} : { until: period.until }),
        statuses: chosen,
      } satisfies ReplaySelection),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ['requests', webhook.id] }),
  })
  const problem = send.error ?? countError
  const submit = (event: FormEvent) => {
    event.preventDefault()
    send.mutate()
  }
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="Replay requests"
      description="Sends requests again with the same ids and payloads, oldest first. Tests are excluded."
      footer={
        send.data ? (
          <Button variant="primary" onClick={onClose}>
            Done
          </Button>
        ) : (
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button variant="primary" type="submit" form={formId} isBusy={send.isPending} disabled={!count}>
              {count ? sendText(count, chosen, counts) : 'Send again'}
            </Button>
          </>
        )
      }
    >
      <div aria-live="polite">{send.data && <ReplayResult count={send.data.count} webhook={webhook} />}</div>
      {!send.data && (
        <form id={formId} onSubmit={submit} className="flex flex-col gap-4">
          <PeriodFields period={local} onChange={setLocal} problem={problem} />
          <fieldset className="flex flex-col gap-2">
            <legend className="mb-1.5 text-sm font-medium">Requests</legend>
            {ORDER.map((status) => (
              <Checkbox
                key={status}
                label={
                  <>
                    {STATUS_DISPLAY[status].label}{' '}
                    <span className="text-faint tabular-nums">{counts && countText(counts[status])}</span>
                  </>
                }
                hint={
                  status === 'DELIVERED'
                    ? 'Your endpoint has already received these. It can recognize them by their id.'
                    : undefined
                }
                isChecked={statuses.includes(status)}
                onChange={(isOn) =>
                  setStatuses(isOn ? [...statuses, status] : statuses.filter((other) => other !== status))
                }
              />
            ))}
          </fieldset>
          <p role="status" className="text-xs text-faint">
            {count === 0 && <span className="block text-sm text-soft">{noMatchText(counts)}</span>}
            Times are in your time zone.
          </p>
          {problem !== null && <ProblemNote problem={problem} fields={['since', 'until']} />}
        </form>
      )}
    </Dialog>
  )
}

const countText = (count: number): string =>
  count >= MAX_COUNTED ? `${MAX_COUNTED.toLocaleString()} or more` : count.toLocaleString()

function sendText(count: number, chosen: readonly Status[], counts: ReplayCounts): string {
  const isMore = chosen.some((status) => counts[status] >= MAX_COUNTED)
  if (isMore) return `Send ${count.toLocaleString('en')} or more requests again`
  return plural(count, 'Send 1 request again', (number) => `Send ${number} requests again`)
}

function noMatchText(counts: ReplayCounts | undefined): string {
  const isEmpty = ORDER.every((status) => !counts?.[status])
  return isEmpty ? 'No request was created in this period.' : 'No request of this period has a selected status.'
}

const queuedText = (count: number) =>
  count === 1
    ? '1 request is queued. Zonewatch sends it once the webhook is active.'
    : `${count.toLocaleString()} requests are queued. Zonewatch sends them once the webhook is active.`
const resentText = (count: number) =>
  count === 1
    ? '1 request is being sent again. The log shows the response.'
    : `${count.toLocaleString()} requests are being sent again. The log shows the responses.`

function ReplayResult({ count, webhook }: { count: number; webhook: Webhook }) {
  if (count === 0)
    return <p className="text-sm text-soft">No request of this period has a selected status. Nothing was sent.</p>
  const isQueued = webhook.state === 'paused' || !webhook.is_active
  return <p className="text-sm text-soft">{isQueued ? queuedText(count) : resentText(count)}</p>
}
