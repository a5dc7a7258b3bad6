import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { ChevronDown, ChevronRight } from 'lucide-react'
import { useCallback, useMemo } from 'react'
import type { LoggedRequest } from '#contract/dashboard.ts'
import type { Webhook, WebhookRequest } from '#contract/webhooks.ts'
import { recordName } from '#contract/wording.ts'
import { StateChange } from '../events/event-change.tsx'
import { cx } from '../ui/class-names.ts'
import { Code, Section } from '../ui/page.tsx'
import { type Column, PagedTable, type TableRow } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { groupFirstResults, type LogRow } from './first-results.ts'
import { eventsOfQuery, type NotifiedEvent, payloadsQuery, requestsQuery } from './queries.ts'
import { STATUS_DISPLAY, type Status, StatusBadge } from './status.tsx'

const route = getRouteApi('/signed-in/webhooks/$webhook')

/** The request log of a webhook. */
export function Requests({ webhook, onOpen }: { webhook: Webhook; onOpen: (request: string) => void }) {
  const { request: _, tab: __, ...search } = route.useSearch()
  const navigate = route.useNavigate()
  const list = useQuery(requestsQuery(webhook.id, search))
  const requests = list.data?.data ?? NO_REQUESTS
  const eventOf = useEvents(requests)
  const lines = useMemo(() => groupFirstResults(requests, eventOf), [requests, eventOf])
  const go = (next: { status?: string; after?: string; before?: string }) => void navigate({ search: next })
  const status = search.status ? { status: search.status } : {}
  return (
    <Section isFlush>
      <StatusFilter chosen={search.status} onChoose={(next) => go(next ? { status: next } : {})} />
      <PagedTable
        label="Requests"
        columns={columnsWith(eventOf, onOpen)}
        list={{ ...list, data: list.data && { ...list.data, data: lines } }}
        skeletonLines={6}
        isClickable
        rowId={(line) => (line.kind === 'one' ? line.request.id : `first results ${line.requests[0]!.id}`)}
        subRows={subRowsOf}
        groupHeader={(row) => <FirstResults row={row} />}
        onPage={(cursor) => go({ ...status, ...cursor })}
        empty={
          <NoRequests status={search.status} hasGroups={webhook.all_groups === true || webhook.groups.length > 0} />
        }
      />
    </Section>
  )
}

const NO_REQUESTS: readonly LoggedRequest[] = []

/** Finds the event of a request, once loaded. */
export function useEvents(requests: readonly WebhookRequest[]): (event: string) => NotifiedEvent | undefined {
  const { data: events } = useQuery(eventsOfQuery(requests))
  const missing = events ? requests.filter(({ event_id }) => event_id?.startsWith('evt_') && !events.has(event_id)) : []
  const { data: payloads } = useQuery(payloadsQuery(missing))
  return useCallback((event) => events?.get(event) ?? payloads?.get(event), [events, payloads])
}

export function StatusFilter({
  statuses = Object.keys(STATUS_DISPLAY) as Status[],
  chosen,
  onChoose,
}: {
  statuses?: readonly Status[]
  chosen: string | undefined
  onChoose: (status: Status | undefined) => void
}) {
  return (
    <fieldset className="flex min-w-0 gap-1 overflow-x-auto border-b border-line p-2">
      <legend className="sr-only">Filter requests</legend>
      {[undefined, ...statuses].map((status) => (
        <button
          key={status ?? 'all'}
          type="button"
          aria-pressed={chosen === status}
          onClick={() => onChoose(status)}
          className={cx(
            'h-7 shrink-0 rounded-md px-2.5 text-xs font-medium',
            chosen === status ? 'bg-accent-wash text-accent-ink' : 'text-soft hover:bg-sunken hover:text-ink',
          )}
        >
          {status ? STATUS_DISPLAY[status].label : 'All'}
        </button>
      ))}
    </fieldset>
  )
}

function NoRequests({ status, hasGroups }: { status: string | undefined; hasGroups: boolean }) {
  return (
    <p className="px-4 py-12 text-center text-sm text-faint">
      {status
        ? 'No requests with this status.'
        : hasGroups
          ? 'No requests yet. Send a test, or wait for the first change of a monitor in its groups.'
          : 'No requests yet. Add groups or send a test.'}
    </p>
  )
}

const subRowsOf = (line: LogRow): LogRow[] | undefined =>
  line.kind === 'one' ? undefined : line.requests.map((request) => ({ kind: 'one', request }))

/** Collapsed by default. */
function FirstResults({ row }: { row: TableRow<LogRow> }) {
  const isOpen = row.getIsExpanded()
  const Icon = isOpen ? ChevronDown : ChevronRight
  return (
    <button
      type="button"
      aria-expanded={isOpen}
      onClick={row.getToggleExpandedHandler()}
      className="flex w-full items-center gap-2 rounded-sm text-left after:absolute after:inset-0"
    >
      <Icon className="size-4 shrink-0 text-faint" aria-hidden="true" />
      <span className="min-w-0 flex-1 font-medium">{row.subRows.length} first results delivered</span>
      <span className="text-faint max-sm:text-xs">
        <Time at={requestOf(row.subRows[0]!).created} />
      </span>
    </button>
  )
}

const requestOf = ({ original: line }: TableRow<LogRow>): LoggedRequest =>
  line.kind === 'one' ? line.request : line.requests[0]!

const columnsWith = (eventOf: ReturnType<typeof useEvents>, onOpen: (request: string) => void): Column<LogRow>[] => [
  {
    id: 'status',
    header: 'Status',
    meta: { className: 'hidden sm:table-cell' },
    cell: ({ row }) => <StatusBadge status={requestOf(row).status} />,
  },
  {
    id: 'change',
    header: 'Change',
    meta: { cellClassName: 'min-w-0' },
    cell: ({ row }) => {
      const request = requestOf(row)
      return (
        <>
          <button
            type="button"
            onClick={() => onOpen(request.id)}
            className="rounded-sm text-left after:absolute after:inset-0 hover:underline"
          >
            <Change request={request} event={request.event_id === null ? undefined : eventOf(request.event_id)} />
          </button>
          <div className="mt-1.5 flex items-center justify-between gap-2 text-xs text-faint sm:hidden">
            <StatusBadge status={request.status} />
            <Time at={request.created} />
          </div>
        </>
      )
    },
  },
  {
    id: 'response',
    header: 'Response',
    meta: { className: 'hidden md:table-cell', cellClassName: 'max-w-72 text-soft' },
    cell: ({ row }) => <LastResponse request={requestOf(row)} />,
  },
  {
    id: 'attempts',
    header: 'Attempts',
    meta: { className: 'hidden md:table-cell', cellClassName: 'text-soft tabular-nums' },
    cell: ({ row }) => requestOf(row).attempts,
  },
  {
    id: 'created',
    header: 'Created',
    meta: { className: 'hidden sm:table-cell', cellClassName: 'text-soft' },
    cell: ({ row }) => <Time at={requestOf(row).created} />,
  },
]

export function Change({ request, event }: { request: WebhookRequest; event: NotifiedEvent | undefined }) {
  if (request.event_id === null) return <span className="font-medium">Test</span>
  if (request.events !== undefined && request.events > 1) {
    return <span className="font-medium">Batch of {request.events} changes</span>
  }
  if (request.event_id.startsWith('zev_')) return <span className="font-medium">Findings about a zone</span>
  if (!event) return <Code className="text-faint">{request.event_id}</Code>
  return (
    <span className="flex flex-wrap items-center gap-x-3 gap-y-0.5">
      <span>
        <Code className="font-medium">{recordName(event.domain)}</Code>{' '}
        <span className="text-xs text-faint">{event.domain.record_type}</span>
      </span>
      <StateChange event={event} />
    </span>
  )
}

/** The last response or error, and the next attempt. */
export function LastResponse({ request: { status, status_code, error, next_attempt } }: { request: WebhookRequest }) {
  return (
    <span className="tabular-nums">
      {status_code !== null ? `HTTP ${status_code}` : <span className="line-clamp-1">{error ?? 'none yet'}</span>}
      {status === 'RETRYING' && next_attempt && (
        <span className="block text-xs text-faint">
          retry <Time at={next_attempt} />
        </span>
      )}
    </span>
  )
}
