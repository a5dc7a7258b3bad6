import { queryOptions, useSuspenseQuery } from '@tanstack/react-query'
import { CircleCheck, TriangleAlert } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import type { ServerStatus } from '#contract/server.ts'
import { durationText } from '#contract/wording.ts'
import { api } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { cx } from '../ui/class-names.ts'
import { Code, Fact, Facts, Page, Section } from '../ui/page.tsx'
import { Badge, TONE_TEXT, TONE_WASH, type Tone } from '../ui/state.tsx'
import { type Column, DataTable, rowCell, type TableRow } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import {
  bytesText,
  countText,
  databaseGrowth,
  growthText,
  msText,
  resolverBehavior,
  serverFindings,
} from './server-text.ts'

/** The state of the installation, for operators. */
export function ServerPage() {
  const { data: status } = useSuspenseQuery(serverQuery)
  const { version, node, database } = status
  return (
    <Page
      title="Server"
      lead={`Zonewatch ${version} · Node ${node} · ${database.engine === 'sqlite' ? 'SQLite' : 'PostgreSQL'}`}
    >
      <div className="flex flex-col gap-4">
        <Findings status={status} />
        <Backlog status={status} />
        <Instances status={status} />
        <Upstreams status={status} />
        <Storage status={status} />
        <Settings status={status} />
      </div>
    </Page>
  )
}

type Props = { status: ServerStatus }

function Findings({ status }: Props) {
  const findings = serverFindings(status)
  const isHealthy = findings.length === 0
  const tone: Tone = findings.some((finding) => finding.tone === 'bad') ? 'bad' : isHealthy ? 'good' : 'warn'
  const Icon = isHealthy ? CircleCheck : TriangleAlert
  return (
    <section aria-label="State of the server" className="rounded-lg border border-line bg-surface">
      <div className="flex items-center gap-3.5 px-4 py-4">
        <span className={cx('grid size-9 shrink-0 place-items-center rounded-full', TONE_WASH[tone])}>
          <Icon className="size-5" aria-hidden="true" />
        </span>
        <h2 aria-live="polite" className="text-lg font-semibold tracking-tight">
          {isHealthy ? 'No problems found' : findings.length === 1 ? '1 problem' : `${findings.length} problems`}
        </h2>
      </div>
      {!isHealthy && (
        <ul className="divide-y divide-line border-t border-line">
          {findings.map(({ tone: findingTone, title, remedy }) => (
            <li key={title} className="px-4 py-3">
              <p className={cx('font-medium wrap-anywhere', TONE_TEXT[findingTone])}>{title}</p>
              <p className="text-sm text-soft wrap-anywhere">{remedy}</p>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function Backlog({ status: { checks, deliveries, alerts, mails } }: Props) {
  return (
    <div className="grid grid-cols-2 gap-4 *:first:col-span-2 lg:grid-cols-5 lg:*:first:col-span-1">
      <Figure label="Oldest due check" value={age(checks.oldest_ms)} tone={checks.oldest_ms > 60_000 ? 'bad' : 'idle'}>
        {countText(checks.due)} due, {countText(checks.overdue)} overdue
      </Figure>
      <Figure
        label="Oldest due delivery"
        value={age(deliveries.oldest_ms)}
        tone={deliveries.oldest_ms > 120_000 ? 'warn' : 'idle'}
      >
        {countText(deliveries.due_webhooks)} webhooks with due requests
      </Figure>
      <Figure label="Pending webhook requests" value={countText(deliveries.pending)}>
        {countText(deliveries.paused_webhooks)} webhooks paused
      </Figure>
      <Figure
        label="Oldest due alert"
        value={age(alerts.oldest_ms)}
        tone={alerts.oldest_ms > 120_000 ? 'warn' : 'idle'}
      >
        {countText(alerts.due)} due
      </Figure>
      <Figure label="Pending emails" value={countText(mails.pending)}>
        {mails.oldest_ms > 0 ? `oldest due for ${durationText(mails.oldest_ms)}` : 'none overdue'}
      </Figure>
    </div>
  )
}

const age = (ms: number): string => (ms < 1_000 ? 'on time' : durationText(ms))

function Figure({
  label,
  value,
  tone = 'idle',
  children,
}: {
  label: string
  value: string
  tone?: Tone
  children: ReactNode
}) {
  return (
    <section aria-label={label} className="rounded-lg border border-line bg-surface px-4 py-3">
      <h2 className="text-xs text-faint">{label}</h2>
      <p className={cx('mt-0.5 text-lg font-semibold tabular-nums', tone !== 'idle' && TONE_TEXT[tone])}>{value}</p>
      <p className="text-xs text-faint tabular-nums">{children}</p>
    </section>
  )
}

function Instances({ status: { instances } }: Props) {
  return (
    <Section title="Instances" hint="Processes that share the database, with figures for the last minute." isFlush>
      <DataTable label="Instances" columns={INSTANCE_COLUMNS} rows={instances} />
    </Section>
  )
}

function InstanceState({ instance: { alive, network, seen_at } }: { instance: ServerStatus['instances'][number] }) {
  if (!alive) {
    return (
      <span className="flex items-center gap-2 whitespace-nowrap">
        <Badge tone="bad" label="Not responding" />
        <span className="text-xs text-faint">
          seen <Time at={seen_at} />
        </span>
      </span>
    )
  }
  if (network !== null && network !== 'ok') return <Badge tone="warn" label="No network" />
  return <Badge tone="good" label="Running" />
}

function Upstreams({ status: { upstreams } }: Props) {
  return (
    <Section title="Resolvers" hint="All instances, last minute." isFlush>
      {upstreams.length === 0 ? (
        <p className="p-4 text-sm text-faint">No instance has reported a resolver yet.</p>
      ) : (
        <DataTable label="Resolvers" columns={RESOLVER_COLUMNS} rows={upstreams} rowId={({ address }) => address} />
      )}
    </Section>
  )
}

type Instance = Props['status']['instances'][number]

const NUMBER = { className: 'text-right', cell: 'whitespace-nowrap tabular-nums' }

const INSTANCE_COLUMNS: Column<Instance>[] = [
  {
    id: 'instance',
    header: 'Instance',
    cell: rowCell(({ machine, pid, version }) => (
      <>
        <span className="block font-medium whitespace-nowrap">{machine}</span>
        <span className="block text-xs whitespace-nowrap text-faint">
          pid {pid} · {version ?? 'version unknown'}
        </span>
      </>
    )),
  },
  { id: 'state', header: 'State', cell: ({ row }) => <InstanceState instance={row.original} /> },
  {
    id: 'roles',
    header: 'Roles',
    meta: { cellClassName: 'whitespace-nowrap text-soft' },
    cell: ({ row }) => row.original.roles.join(', ') || '–',
  },
  {
    id: 'checks',
    header: 'Checks',
    meta: NUMBER,
    cell: ({ row }) => row.original.checks.toLocaleString(),
  },
  {
    id: 'most_late',
    header: 'Maximum delay',
    meta: NUMBER,
    cell: rowCell(({ most_late_ms }) => (most_late_ms === null ? '–' : `+${msText(most_late_ms)}`)),
  },
  {
    id: 'memory',
    header: 'Memory',
    meta: NUMBER,
    cell: rowCell(({ memory }) => (memory === null ? '–' : bytesText(memory))),
  },
  {
    id: 'started',
    header: 'Started',
    meta: { cellClassName: 'text-soft' },
    cell: ({ row }) => <Time at={row.original.started_at} />,
  },
]

type Upstream = Props['status']['upstreams'][number]

const isUnreliable = ({ failed, queries }: Upstream) => failed > 0 && queries > 0 && failed / queries > 0.2

function ResolverBehavior({ resolver }: { resolver: Upstream }) {
  const { at, lines } = resolverBehavior(resolver)
  return (
    <>
      {lines.map(({ text, isProblem }) => (
        <span key={text} className={cx('block whitespace-nowrap', isProblem && 'text-bad')}>
          {text}
        </span>
      ))}
      {at !== null && (
        <span className="block text-xs whitespace-nowrap text-faint">
          asked <Time at={at} />
        </span>
      )}
    </>
  )
}

const RESOLVER_COLUMNS: Column<Upstream>[] = [
  { id: 'address', header: 'Address', cell: ({ row }) => <Code>{row.original.address}</Code> },
  { id: 'behavior', header: 'Behavior', cell: ({ row }) => <ResolverBehavior resolver={row.original} /> },
  {
    id: 'queries',
    header: 'Queries',
    meta: NUMBER,
    cell: ({ row }) => row.original.queries.toLocaleString(),
  },
  {
    id: 'unanswered',
    header: 'Unanswered',
    meta: {
      className: 'text-right',
      cellClassName: ({ original }: TableRow<Upstream>) => cx('tabular-nums', isUnreliable(original) && 'text-bad'),
    },
    cell: rowCell(({ queries, failed }) =>
      queries === 0 ? '–' : `${((failed / queries) * 100).toFixed(failed > 0 ? 1 : 0)} %`,
    ),
  },
  {
    id: 'average',
    header: 'Average',
    meta: NUMBER,
    cell: rowCell(({ average_ms }) => (average_ms === null ? '–' : msText(average_ms))),
  },
  {
    id: 'set_aside',
    header: 'State',
    meta: { isHeaderHidden: true },
    cell: ({ row }) => row.original.set_aside > 0 && <Badge tone="warn" label="Queried last" />,
  },
]

function Storage({ status }: Props) {
  const { database, backup, at } = status
  const growth = databaseGrowth(database, at)
  return (
    <Section title="Database and backup">
      <Facts>
        <Fact name="Size">
          {bytesText(database.octets)}
          {database.log !== null && (
            <span className="text-faint"> and {bytesText(database.log)} of write-ahead log</span>
          )}
        </Fact>
        <Fact name="Growth">{growth === null ? 'available after one day' : growthText(growth)}</Fact>
        <Fact name="Last backup">
          {backup?.made_at ? (
            <>
              <Time at={backup.made_at} />
              {backup.octets !== null && <span className="text-faint">, {bytesText(backup.octets)}</span>}
            </>
          ) : database.engine === 'postgres' ? (
            <span className="text-soft">No dump recorded</span>
          ) : (
            'never'
          )}
        </Fact>
      </Facts>
      {database.sizes.length > 1 && <Growth sizes={database.sizes} />}
    </Section>
  )
}

/** One bar for each day. */
function Growth({ sizes }: { sizes: ServerStatus['database']['sizes'] }) {
  const maxBytes = Math.max(...sizes.map(({ octets }) => octets), 1)
  const shown = sizes.slice(-60)
  return (
    <div
      role="img"
      aria-label={`Size of the database over ${shown.length} days, ${bytesText(shown[0]!.octets)} to ${bytesText(shown.at(-1)!.octets)}`}
      className="mt-4 flex h-16 items-end gap-px"
    >
      {shown.map(({ at, octets }) => (
        <span
          key={at}
          title={`${at.slice(0, 10)}: ${bytesText(octets)}`}
          className="min-w-0.5 max-w-4 flex-1 rounded-t-sm bg-accent"
          style={{ height: `${Math.max(3, (octets / maxBytes) * 100)}%` }}
        />
      ))}
    </div>
  )
}

function Settings({ status: { settings } }: Props) {
  const [showsAll, setShowsAll] = useState(false)
  const shown = showsAll ? settings : settings.filter(({ is_default }) => !is_default)
  return (
    <Section
      title="Settings"
      hint="Settings of the process that serves this page. Secrets are hidden."
      isFlush
      actions={
        <Button size="sm" aria-pressed={showsAll} onClick={() => setShowsAll(!showsAll)}>
          {showsAll ? 'Show changed settings' : `Show all ${settings.length}`}
        </Button>
      }
    >
      {shown.length === 0 ? (
        <p className="p-4 text-sm text-faint">All settings have their defaults.</p>
      ) : (
        <ul className="divide-y divide-line">
          {shown.map(({ name, value, about, is_default }) => (
            <li key={name} className="grid gap-x-6 gap-y-0.5 px-4 py-2.5 text-sm md:grid-cols-[16rem_minmax(0,1fr)]">
              <Code className={is_default ? 'text-faint' : 'font-medium'}>{name}</Code>
              <div className="min-w-0">
                <p className="line-clamp-3 wrap-anywhere">
                  {value === '' ? <span className="text-faint">not set</span> : value}
                </p>
                <p className="text-xs text-faint">{about}</p>
              </div>
            </li>
          ))}
        </ul>
      )}
    </Section>
  )
}

const REFRESH_MS = 5_000

const serverQuery = queryOptions({
  queryKey: ['server'],
  queryFn: ({ signal }) => api.get<ServerStatus>('/dashboard/api/server', {}, signal),
  refetchInterval: REFRESH_MS,
})
