import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import type { Channel } from '#contract/alerts.ts'
import { plural } from '#contract/wording.ts'
import { api } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Checkbox } from '../ui/field.tsx'
import { fromLocalInput, lastDay, PeriodFields } from '../ui/period.tsx'
import { ProblemNote } from '../ui/problem.tsx'

const STATUS_DISPLAY = [
  { status: 'FAILED', label: 'Failed' },
  { status: 'RETRYING', label: 'Retrying' },
  { status: 'SENT', label: 'Sent', hint: 'These have already been received.' },
] as const
type Status = (typeof STATUS_DISPLAY)[number]['status']

export function ReplayAlerts({ channel, onClose }: { channel: Channel; onClose: () => void }) {
  const queries = useQueryClient()
  const formId = useId()
  const [period, setPeriod] = useState(lastDay)
  const [statuses, setStatuses] = useState<readonly Status[]>(['FAILED', 'RETRYING'])
  const send = useMutation({
    mutationFn: () =>
      api.post<{ count: number }>(`/channels/${channel.id}/replay`, {
        since: fromLocalInput(period.since) ?? '',
        ...(period.until === '' ? {} : { until: fromLocalInput(period.until) }),
        status: statuses,
      }),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ['alerts'] }),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    send.mutate()
  }
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="Replay alerts"
      description={`Sends alerts to ${channel.name} again, failures first. Tests and summaries are excluded.`}
      footer={
        send.data ? (
          <Button variant="primary" onClick={onClose}>
            Done
          </Button>
        ) : (
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button
              variant="primary"
              type="submit"
              form={formId}
              isBusy={send.isPending}
              disabled={statuses.length === 0}
            >
              Send again
            </Button>
          </>
        )
      }
    >
      <div aria-live="polite">
        {send.data && (
          <p className="text-sm text-soft">
            {send.data.count === 0
              ? 'No alert of this period has a selected status. Nothing was sent.'
              : plural(
                  send.data.count,
                  '1 alert is being sent again. The log shows the response.',
                  (number) => `${number} alerts are being sent again. The log shows the responses.`,
                )}
          </p>
        )}
      </div>
      {!send.data && (
        <form id={formId} onSubmit={submit} className="flex flex-col gap-4">
          <PeriodFields period={period} onChange={setPeriod} problem={send.error} />
          <fieldset className="flex flex-col gap-2">
            <legend className="mb-1.5 text-sm font-medium">Alerts</legend>
            {STATUS_DISPLAY.map(({ status, label, ...rest }) => (
              <Checkbox
                key={status}
                label={label}
                {...rest}
                isChecked={statuses.includes(status)}
                onChange={(isOn) =>
                  setStatuses(isOn ? [...statuses, status] : statuses.filter((other) => other !== status))
                }
              />
            ))}
          </fieldset>
          <p className="text-xs text-faint">Times are in your time zone.</p>
          {send.error && <ProblemNote problem={send.error} fields={['since', 'until']} />}
        </form>
      )}
    </Dialog>
  )
}
