import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { RotateCw } from 'lucide-react'
import { useState } from 'react'
import { visible } from '#contract/visible-text.ts'
import type { WebhookRequest, WebhookRequestDetails } from '#contract/webhooks.ts'
import { recordName } from '#contract/wording.ts'
import { api } from '../api.ts'
import { StateChange } from '../events/event-change.tsx'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Code, Fact, Facts, Skeleton } from '../ui/page.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { Time } from '../ui/time.tsx'
import { Attempts, RawText } from './attempt.tsx'
import { formatJson } from './format-json.ts'
import { bodyQuery, eventsOf, requestQuery } from './queries.ts'
import { StatusBadge } from './status.tsx'
import { useAwaitedAttempt } from './use-awaited-attempt.ts'

/** One request with its payload, attempts and responses, and a button to send it again. */
export function RequestDialog({
  webhook,
  request,
  onClose,
}: {
  webhook: string
  request: string
  onClose: () => void
}) {
  const { can } = useSession()
  const { data, error } = useQuery(requestQuery(webhook, request))
  const retry = useRetry(webhook, data)
  const outcome = useAwaitedAttempt(webhook, request, retry.after)
  return (
    <Dialog
      isOpen
      isWide
      onClose={onClose}
      title={data ? titleOf(data) : 'Request'}
      description={<Code>{request}</Code>}
      footer={
        <>
          <Button onClick={onClose}>Close</Button>
          {can('write') && data && (
            <Button variant="primary" isBusy={retry.isStarting || outcome.isRunning} onClick={retry.start}>
              <RotateCw /> Send again now
            </Button>
          )}
        </>
      }
    >
      {error && !data ? (
        <ProblemNote problem={error} />
      ) : !data ? (
        <Skeleton lines={8} />
      ) : (
        <div className="flex flex-col gap-6">
          {retry.problem && <ProblemNote problem={retry.problem} />}
          <p aria-live="polite" className="sr-only">
            {outcome.attempt &&
              (outcome.attempt.error === null ? 'Delivered.' : `Failed: ${visible(outcome.attempt.error)}.`)}
          </p>
          <About request={data} />
          <Batch request={data} />
          <Attempts attempts={data.attempts} isRunning={outcome.isRunning} />
          <Payload webhook={webhook} request={request} />
        </div>
      )}
    </Dialog>
  )
}

/** Starts an attempt. Its result is the attempt after number `after`. */
function useRetry(webhook: string, data: WebhookRequestDetails | undefined) {
  const queries = useQueryClient()
  const [after, setAfter] = useState<number>()
  const send = useMutation({
    mutationFn: async () => {
      const before = data?.attempts.at(-1)?.number ?? 0
      await api.post<WebhookRequest>(`/webhooks/${webhook}/requests/${data?.id}/retry`)
      return before
    },
    onSuccess: (before) => {
      setAfter(before)
      void queries.invalidateQueries({ queryKey: ['requests', webhook] })
    },
  })
  return { after, isStarting: send.isPending, problem: send.error, start: () => send.mutate() }
}

function titleOf({ event_id, payload }: WebhookRequestDetails): string {
  if ('zone' in payload) return `Zone ${payload.zone.name}`
  const [event, ...others] = eventsOf(payload)
  if (event_id === null || !event) return 'Test'
  return others.length > 0
    ? `Batch of ${others.length + 1} changes`
    : `${recordName(event.domain)} ${event.domain.record_type}`
}

function About({ request }: { request: WebhookRequestDetails }) {
  const { status, created, delivered, next_attempt, event_id, payload } = request
  const events = event_id === null ? [] : eventsOf(payload)
  const [event] = events.length === 1 ? events : []
  return (
    <Facts>
      <Fact name="Status">
        <StatusBadge status={status} />
      </Fact>
      {event && (
        <Fact name="Change">
          <StateChange event={event} />
        </Fact>
      )}
      {'zone' in payload && (
        <Fact name="Zone">
          <Link
            to="/zones/$zone"
            params={{ zone: payload.zone.name }}
            className="rounded-sm text-accent-ink hover:underline"
          >
            Open the zone
          </Link>
        </Fact>
      )}
      <Fact name="Created">
        <Time at={created} isExact />
      </Fact>
      {delivered && (
        <Fact name="Delivered">
          <Time at={delivered} isExact />
        </Fact>
      )}
      {next_attempt && (
        <Fact name="Next attempt">{Date.parse(next_attempt) <= Date.now() ? 'now' : <Time at={next_attempt} />}</Fact>
      )}
      {event && (
        <Fact name="Monitor">
          <Link
            to="/monitors/$monitor"
            params={{ monitor: event.monitor_id }}
            search={{ event: event.id }}
            className="rounded-sm text-accent-ink hover:underline"
          >
            Open the monitor
          </Link>
        </Fact>
      )}
    </Facts>
  )
}

/** The changes of a batch, each with its monitor. */
function Batch({ request: { event_id, payload } }: { request: WebhookRequestDetails }) {
  const events = eventsOf(payload)
  if (event_id === null || events.length < 2) return null
  return (
    <section>
      <h3 className="mb-2 text-sm font-semibold">
        Changes <span className="font-normal text-faint tabular-nums">{events.length}</span>
      </h3>
      <section
        aria-label="Changes"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
        tabIndex={0}
        className="max-h-64 overflow-y-auto rounded-md border border-line"
      >
        <ul className="divide-y divide-line">
          {events.map((event) => (
            <li key={event.id} className="flex flex-wrap items-center gap-x-3 gap-y-0.5 px-3 py-2 text-sm">
              <Link
                to="/monitors/$monitor"
                params={{ monitor: event.monitor_id }}
                search={{ event: event.id }}
                className="min-w-0 rounded-sm hover:underline"
              >
                <Code className="font-medium">{recordName(event.domain)}</Code>{' '}
                <span className="text-xs text-faint">{event.domain.record_type}</span>
              </Link>
              <StateChange event={event} />
            </li>
          ))}
        </ul>
      </section>
    </section>
  )
}

/** The body of every attempt, byte for byte, which the signature covers. Shown raw or formatted. */
export function Payload({ webhook, request }: { webhook: string; request: string }) {
  const { data, error } = useQuery(bodyQuery(webhook, request))
  const [isFormatted, setFormatted] = useState(true)
  return (
    <section>
      <div className="mb-2 flex flex-wrap items-center justify-between gap-x-4 gap-y-1">
        <h3 className="text-sm font-semibold">
          Payload{' '}
          {data && (
            <span className="font-normal text-faint tabular-nums">
              {new TextEncoder().encode(data.body).length.toLocaleString()} bytes, identical in every attempt
            </span>
          )}
        </h3>
        {data && (
          <span className="flex gap-1">
            <Button variant="quiet" size="sm" aria-pressed={!isFormatted} onClick={() => setFormatted(!isFormatted)}>
              {isFormatted ? 'Show raw' : 'Show formatted'}
            </Button>
            <CopyButton text={data.body} label="Copy raw payload" hasLabel />
          </span>
        )}
      </div>
      {data ? (
        <RawText label="Payload">{isFormatted ? formatJson(data.body) : data.body}</RawText>
      ) : error ? (
        <ProblemNote problem={error} />
      ) : (
        <Skeleton lines={4} />
      )}
    </section>
  )
}
