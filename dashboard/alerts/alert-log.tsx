import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Ban, CircleCheck, Clock, type LucideIcon, OctagonX, PauseCircle, RotateCw, Send } from 'lucide-react'
import { useState } from 'react'
import type { Alert, AlertInFull } from '#contract/incidents.ts'
import { visible } from '#contract/visible-text.ts'
import { api } from '../api.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { EmptyState } from '../ui/empty-state.tsx'
import { Code, Section, Skeleton } from '../ui/page.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { Badge, type Tone } from '../ui/state.tsx'
import { type Column, PagedTable, type PagedTableProps, rowCell } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { alertQuery, alertsQuery, channelsQuery } from './queries.ts'

const route = getRouteApi('/signed-in/alerts')

const STATUS_DISPLAY: Record<Alert['status'], { label: string; tone: Tone; icon: LucideIcon }> = {
  PENDING: { label: 'Pending', tone: 'idle', icon: Clock },
  RETRYING: { label: 'Retrying', tone: 'warn', icon: RotateCw },
  SENT: { label: 'Sent', tone: 'good', icon: CircleCheck },
  FAILED: { label: 'Failed', tone: 'bad', icon: OctagonX },
  CANCELED: { label: 'Canceled', tone: 'idle', icon: Ban },
  HELD: { label: 'In next summary', tone: 'idle', icon: PauseCircle },
}
const KINDS: Record<Alert['kind'], string> = {
  failing: 'Failure',
  recovered: 'Recovery',
  information: 'Information',
  summary: 'Summary',
  test: 'Test',
}

export function AlertLog() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const list = useQuery(alertsQuery({ after: search.after, before: search.before }))
  return (
    <Section isFlush>
      <AlertList
        list={list}
        skeletonLines={5}
        onPage={(cursor) => void navigate({ search: { tab: 'log', ...cursor } })}
        empty={
          search.after === undefined && (
            <EmptyState icon={Send} title="No alerts yet">
              <p>Each message appears here with its attempts: the request and the response.</p>
            </EmptyState>
          )
        }
      />
      {list.data && list.data.data.length > 0 && (
        <p className="border-t border-line px-4 py-3 text-sm text-faint">
          The number of monitors in a message is that of the moment when it was sent.
        </p>
      )}
    </Section>
  )
}

type ListProps = Pick<PagedTableProps<Alert>, 'list' | 'skeletonLines' | 'empty' | 'onPage'>

export function AlertList(props: ListProps) {
  const { data: channels } = useQuery(channelsQuery)
  const [open, setOpen] = useState<string>()
  const nameOf = (id: string) => channels?.data.find((channel) => channel.id === id)?.name ?? 'deleted channel'
  return (
    <>
      <PagedTable label="Alerts" columns={columnsWith(nameOf, setOpen)} isClickable {...props} />
      {open !== undefined && <AlertDialog id={open} channel={nameOf} onClose={() => setOpen(undefined)} />}
    </>
  )
}

const columnsWith = (channelName: (id: string) => string, onOpen: (alert: string) => void): Column<Alert>[] => [
  {
    id: 'message',
    header: 'Message',
    meta: { cellClassName: 'max-w-80 min-w-0' },
    cell: rowCell(({ id, title, kind }) => (
      <>
        <button
          type="button"
          onClick={() => onOpen(id)}
          className="rounded-sm text-left font-medium break-words after:absolute after:inset-0 hover:underline"
        >
          {title ?? KINDS[kind]}
        </button>
        {title !== null && <p className="text-xs text-faint">{KINDS[kind]}</p>}
      </>
    )),
  },
  { id: 'status', header: 'Status', cell: ({ row }) => <AlertBadge alert={row.original} /> },
  {
    id: 'channel',
    header: 'Channel',
    meta: { className: 'hidden sm:table-cell', cellClassName: 'text-soft' },
    cell: ({ row }) => channelName(row.original.channel_id),
  },
  {
    id: 'time',
    header: 'Time',
    meta: { className: 'hidden md:table-cell', cellClassName: 'text-soft' },
    cell: rowCell((alert) =>
      alert.status === 'PENDING' && alert.next_attempt ? (
        <>
          due <Time at={alert.next_attempt} />
        </>
      ) : (
        <Time at={alert.sent ?? alert.created} />
      ),
    ),
  },
]

function AlertBadge({ alert }: { alert: Pick<Alert, 'status'> }) {
  return <Badge {...STATUS_DISPLAY[alert.status]} />
}

type DialogProps = { id: string; channel: (id: string) => string; onClose: () => void }

function AlertDialog({ id, channel, onClose }: DialogProps) {
  const { can } = useSession()
  const queries = useQueryClient()
  const { data: alert, error } = useQuery(alertQuery(id))
  const retry = useMutation({
    mutationFn: () => api.post(`/alerts/${id}/retry`),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['alerts'] })
      onClose()
    },
  })
  const isRepeatable = alert && alert.kind !== 'test' && ['SENT', 'FAILED', 'RETRYING'].includes(alert.status)
  return (
    <Dialog
      isOpen
      isWide
      onClose={onClose}
      title={alert?.title ?? 'Alert'}
      description={alert && `To ${channel(alert.channel_id)}`}
      footer={
        can('write') &&
        isRepeatable && (
          <Button isBusy={retry.isPending} onClick={() => retry.mutate()}>
            <RotateCw /> Send again
          </Button>
        )
      }
    >
      {error && !alert ? <ProblemNote problem={error} /> : !alert ? <Skeleton lines={3} /> : <Attempts alert={alert} />}
      {retry.error && <ProblemNote problem={retry.error} />}
    </Dialog>
  )
}

/** Requests and responses, newest first. */
export function Attempts({ alert }: { alert: AlertInFull }) {
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center gap-3 text-sm">
        <AlertBadge alert={alert} />
        {alert.error && <span className="text-soft first-letter:uppercase">{visible(alert.error)}.</span>}
        {alert.status === 'RETRYING' && alert.next_attempt && (
          <span className="text-faint">
            Next attempt <Time at={alert.next_attempt} />
          </span>
        )}
      </div>
      {alert.log.length === 0 && <p className="text-sm text-faint">Not attempted.</p>}
      {[...alert.log].reverse().map((attempt) => (
        <section key={attempt.number} className="flex flex-col gap-2 rounded-md border border-line p-3 text-sm">
          <h3 className="flex flex-wrap justify-between gap-2 font-medium">
            <span>Attempt {attempt.number}</span>
            <span className="font-normal text-faint">
              <Time at={attempt.attempted} isExact /> · {attempt.total_ms} ms
              {attempt.status_code !== null && ` · status ${attempt.status_code}`}
            </span>
          </h3>
          {attempt.error && <p className="text-bad first-letter:uppercase">{visible(attempt.error)}.</p>}
          {attempt.request && <RawText label="Request" text={attempt.request} />}
          {attempt.response_body && <RawText label="Response" text={attempt.response_body} />}
        </section>
      ))}
    </div>
  )
}

function RawText({ label, text }: { label: string; text: string }) {
  return (
    <div>
      <p className="mb-1 text-xs text-faint">{label}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section tabIndex={0} aria-label={label} className="max-h-48 overflow-auto rounded bg-sunken p-2">
        <Code className="text-xs whitespace-pre-wrap">{text}</Code>
      </section>
    </div>
  )
}
