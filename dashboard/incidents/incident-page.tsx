import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Copy, Download, Ellipsis, Lightbulb, ListChecks } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import type { Incident } from '#contract/incidents.ts'
import type { MonitorResponse } from '#contract/monitors.ts'
import { visibleLines } from '#contract/visible-text.ts'
import { recordName } from '#contract/wording.ts'
import { AlertList } from '../alerts/alert-log.tsx'
import { alertsQuery } from '../alerts/queries.ts'
import { api, type Page as PageOf } from '../api.ts'
import { download } from '../download.ts'
import { ValueText } from '../events/value-text.tsx'
import { monitorQuery } from '../monitors/queries.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { copyText } from '../ui/copy.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { Code, Page, Section, Skeleton } from '../ui/page.tsx'
import { ProblemPage } from '../ui/problem.tsx'
import { State } from '../ui/state.tsx'
import { type Column, PagedTable, rowCell } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { useToast } from '../ui/toast.tsx'
import { IncidentActions, IncidentAssignee, IncidentStanding } from './controls.tsx'
import { IncidentBadge } from './incident-badge.tsx'
import { failedText, incidentDuration } from './incident-text.ts'
import { IncidentNote } from './note.tsx'
import { incidentEntriesQuery, incidentMonitorsQuery, incidentPath, incidentQuery } from './queries.ts'
import { incidentReport } from './report.ts'
import { IncidentTimeline } from './timeline.tsx'

const Evidence = lazy(async () => ({ default: (await import('../monitors/detail/evidence.tsx')).Evidence }))
const JobDialog = lazy(async () => ({ default: (await import('../jobs/bulk-action-dialog.tsx')).JobDialog }))

const route = getRouteApi('/signed-in/incidents/$incident')
const back = { to: '/alerts', label: 'Incidents' } as const

export function IncidentPage() {
  const { incident: id } = route.useParams()
  const { data: incident, error, isPending, refetch } = useQuery(incidentQuery(id))
  if (isPending)
    return (
      <Page title="Incident" back={back}>
        <Skeleton lines={6} />
      </Page>
    )
  if (!incident)
    return (
      <Page title="Incident" back={back}>
        <ProblemPage problem={error} onRetry={() => void refetch()} />
      </Page>
    )
  const [first] = incident.first_monitors
  return (
    <Page
      title={incident.headline}
      heading={<span className="wrap-anywhere">{visibleLines(incident.headline)}</span>}
      lead={<IncidentFacts incident={incident} />}
      back={back}
      actions={
        <>
          <IncidentActions incident={incident} />
          <More incident={incident} />
        </>
      }
    >
      <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_20rem]">
        <div className="flex min-w-0 flex-col gap-4">
          <WhatToDo incident={incident} />
          {incident.monitors > incident.zones && <Monitors incident={incident} />}
          {first && incident.resolved === null && <FirstEvidence id={first.id} />}
          <SentAlerts incident={incident} />
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          <Section>
            <div className="flex flex-col gap-4">
              <IncidentAssignee incident={incident} />
              <IncidentNote incident={incident} />
            </div>
          </Section>
          <Section title="Timeline">
            <IncidentTimeline id={id} />
          </Section>
        </div>
      </div>
    </Page>
  )
}

/** The common cause of monitors of several domains. */
const CAUSES = {
  value: 'same records',
  target: 'CNAME target',
  provider: 'DNS provider',
  parent: 'parent zone',
  name_server: 'name server',
  upstream: 'resolver',
} as const

function IncidentFacts({ incident }: { incident: Incident }) {
  const { opened, resolved, zones, zone, cause, cause_value } = incident
  return (
    <div className="mt-1.5 flex flex-wrap items-center gap-x-4 gap-y-1">
      <IncidentBadge incident={incident} />
      <span>{failedText(incident)}</span>
      <span>
        since <Time at={opened} isExact />
      </span>
      {resolved !== null && (
        <span>
          until <Time at={resolved} isExact />
        </span>
      )}
      <span>{incidentDuration(incident, Date.now())}</span>
      {zones === 1 && (
        <Link to="/zones/$zone" params={{ zone }} className="rounded-sm text-accent-ink hover:underline">
          zone {zone}
        </Link>
      )}
      {cause !== 'zone' && (
        <span className="wrap-anywhere">
          {CAUSES[cause]}: {visibleLines(cause_value ?? '')}
        </span>
      )}
      <IncidentStanding incident={incident} />
    </div>
  )
}

/** The advice, and the new values of all monitors that answer others than expected. */
function WhatToDo({ incident }: { incident: Incident }) {
  const { can } = useSession()
  const queries = useQueryClient()
  const [isAccepting, setAccepting] = useState(false)
  if (incident.resolved !== null) return null
  const canAccept = can('write') && incident.first_monitors.some(({ state }) => state === 'MISMATCH')
  const records = incident.failing - incident.zones
  return (
    <section aria-label="What to do" className="rounded-lg border border-line bg-surface p-4">
      <div className="flex items-start gap-3">
        <Lightbulb className="mt-0.5 size-4 shrink-0 text-accent-ink" aria-hidden="true" />
        <p className="max-w-prose min-w-0 text-sm wrap-anywhere">
          {incident.advice
            ? visibleLines(incident.advice)
            : 'Compare the records: the evidence shows what each server answered.'}
        </p>
      </div>
      {canAccept && (
        <Button size="sm" className="mt-3 ml-7" onClick={() => setAccepting(true)}>
          <ListChecks />{' '}
          {records > 1 ? `Accept the new values of all ${records.toLocaleString('en')}` : 'Accept the new values'}
        </Button>
      )}
      <Suspense>
        {isAccepting && (
          <JobDialog
            title="Accept the new values"
            parameters={{ action: 'accept' }}
            target={{ filter: { incident: incident.id, state: 'MISMATCH' } }}
            onClose={() => {
              setAccepting(false)
              void queries.invalidateQueries({ queryKey: ['incidents'] })
            }}
          />
        )}
      </Suspense>
    </section>
  )
}

function Monitors({ incident: { id } }: { incident: Incident }) {
  const [cursor, setCursor] = useState<{ after?: string; before?: string }>({})
  const list = useQuery(incidentMonitorsQuery(id, cursor))
  return (
    <Section
      title="Monitors"
      actions={
        <Link to="/monitors" search={{ incident: id }} className="rounded-sm text-xs text-accent-ink hover:underline">
          Open as a list
        </Link>
      }
      isFlush
    >
      <PagedTable
        label="Monitors"
        columns={COLUMNS}
        list={list}
        skeletonLines={3}
        isClickable
        onPage={setCursor}
        empty={<p className="p-4 text-sm text-faint">They were deleted.</p>}
      />
    </Section>
  )
}

const COLUMNS: Column<MonitorResponse>[] = [
  {
    id: 'name',
    header: 'Record',
    meta: { cellClassName: 'max-w-80 min-w-0' },
    cell: rowCell((monitor) => (
      <Link
        to="/monitors/$monitor"
        params={{ monitor: monitor.id }}
        className="rounded-sm after:absolute after:inset-0 hover:underline"
      >
        <Code className="font-medium">{recordName(monitor)}</Code>{' '}
        <span className="text-xs text-faint">{monitor.record_type}</span>
      </Link>
    )),
  },
  {
    id: 'state',
    header: 'Now',
    cell: ({ row }) => <State state={row.original.state} isActive={row.original.is_active} />,
  },
  {
    id: 'found',
    header: 'Found',
    meta: { className: 'hidden sm:table-cell', cellClassName: 'max-w-60 min-w-0 font-mono text-xs' },
    cell: rowCell(({ current_value }) =>
      current_value && current_value.length > 0 ? (
        <ValueText value={current_value.slice(0, 3).join(', ')} />
      ) : (
        <span className="text-faint">–</span>
      ),
    ),
  },
]

/** What the servers answered for the monitor that failed first. */
function FirstEvidence({ id }: { id: string }) {
  const { data } = useQuery(monitorQuery(id))
  const diagnosis = data?.monitor.diagnosis
  if (!data || !diagnosis) return null
  return (
    <Section
      title={`Evidence: ${recordName(data.monitor)} ${data.monitor.record_type}`}
      hint={
        <>
          {diagnosis.decided}
          {diagnosis.at && (
            <>
              {' '}
              Collected <Time at={diagnosis.at} isExact />.
            </>
          )}
        </>
      }
      isFlush
    >
      <Suspense fallback={<Skeleton lines={4} className="p-4" />}>
        <Evidence paths={diagnosis.paths} />
      </Suspense>
    </Section>
  )
}

function SentAlerts({ incident: { id } }: { incident: Incident }) {
  const alerts = useQuery(alertsQuery({ incident: id }))
  return (
    <Section title="Alerts" isFlush>
      <AlertList
        list={alerts}
        skeletonLines={2}
        empty={
          <p className="p-4 text-sm text-faint">
            No rule matches these monitors, so nobody is alerted.{' '}
            <Link to="/alerts" search={{ tab: 'rules' }} className="text-accent-ink underline underline-offset-2">
              Alert rules
            </Link>
          </p>
        }
      />
    </Section>
  )
}

const MAX_REPORTED = 100

function More({ incident }: { incident: Incident }) {
  const queries = useQueryClient()
  const toast = useToast()
  const { id } = incident
  const report = async () => {
    const query = { limit: MAX_REPORTED, order_by: 'name' }
    const [monitors, timeline] = await Promise.all([
      api.get<PageOf<MonitorResponse>>(`${incidentPath(id)}/monitors`, query),
      queries.fetchInfiniteQuery(incidentEntriesQuery(id)),
    ])
    const entries = timeline.pages.flatMap((page) => page.data).reverse()
    const url = new URL(`/dashboard/incidents/${id}`, location.origin).href
    return incidentReport({ incident, monitors: monitors.data, entries, url, now: Date.now() })
  }
  const use = (what: (text: string) => unknown, done: string) => async () => {
    try {
      await what(await report())
      toast.done(done)
    } catch (problem) {
      toast.failed(problem)
    }
  }
  return (
    <Menu
      trigger={
        <Button isSquare aria-label="More">
          <Ellipsis />
        </Button>
      }
    >
      <MenuItem icon={Copy} onSelect={use(copyText, 'Report copied.')}>
        Copy report as Markdown
      </MenuItem>
      <MenuItem icon={Download} onSelect={use((text) => download(`${id}.md`, text), 'Report downloaded.')}>
        Download report
      </MenuItem>
    </Menu>
  )
}
