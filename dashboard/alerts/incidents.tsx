import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Check, CircleAlert, CircleCheck, Eye } from 'lucide-react'
import { useState } from 'react'
import type { Incident, IncidentChange, IncidentState, IncidentsAcknowledged } from '#contract/incidents.ts'
import type { MonitorState } from '#contract/monitors.ts'
import { durationText } from '#contract/wording.ts'
import { api } from '../api.ts'
import { useGroupOptions } from '../events/events-filters.tsx'
import { FailingNote } from '../monitors/failing.tsx'
import { useOverview } from '../monitors/list/overview.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { EmptyState } from '../ui/empty-state.tsx'
import { Field, TextArea } from '../ui/field.tsx'
import { Code, Fact, Facts, Section, Skeleton } from '../ui/page.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { Select } from '../ui/select.tsx'
import { Badge, STATE_DISPLAY, stateTitle } from '../ui/state.tsx'
import { type Column, PagedTable, rowCell } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { AlertList } from './alert-log.tsx'
import { IncidentControls, IncidentTimeline } from './incident-controls.tsx'
import { alertsQuery, incidentQuery, incidentsQuery } from './queries.ts'

const route = getRouteApi('/signed-in/alerts')

export function Incidents() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const list = useQuery(incidentsQuery(search))
  const overview = useOverview()
  const group = search.group ?? ''
  const groups = useGroupOptions(group)
  return (
    <Section isFlush>
      {(group !== '' || groups.length > 2) && (
        <search aria-label="Filters" className="border-b border-line px-4 py-3">
          <Field label="Group" className="sm:w-44">
            <Select
              value={group}
              options={groups}
              onChange={(value) => void navigate({ search: value === '' ? {} : { group: value } })}
            />
          </Field>
        </search>
      )}
      {list.data && <AcknowledgeBar incidents={list.data.data} />}
      <PagedTable
        label="Incidents"
        columns={COLUMNS}
        list={list}
        skeletonLines={5}
        isClickable
        onPage={(cursor) => void navigate({ search: group === '' ? cursor : { group, ...cursor } })}
        empty={
          search.after === undefined && (
            <EmptyState icon={CircleCheck} title={group === '' ? 'No incidents' : 'No incidents of this group'}>
              <p>
                When a monitor that was valid fails, an incident opens. Others that fail for the same reason join it:
                the same domain and state, the same wrong records, or one DNS provider whose zones fail. You receive one
                message instead of hundreds.
              </p>
            </EmptyState>
          )
        }
      />
      {overview && <FailingNote failing={overview.failing} />}
    </Section>
  )
}

/** Acknowledges those of the page that are open and not acknowledged, if there are several. */
function AcknowledgeBar({ incidents }: { incidents: readonly Incident[] }) {
  const { can } = useSession()
  const queries = useQueryClient()
  const ids = incidents.flatMap(({ id, resolved, acknowledged }) => (resolved || acknowledged ? [] : [id]))
  const acknowledge = useMutation({
    mutationFn: () => api.post<IncidentsAcknowledged>('/incidents/acknowledge', { incidents: ids }),
    onSuccess: () => {
      for (const key of ['incidents', 'alerts']) void queries.invalidateQueries({ queryKey: [key] })
    },
  })
  if (!can('write') || ids.length < 2) return null
  return (
    <div className="flex flex-wrap items-center justify-between gap-3 border-b border-line px-4 py-2.5">
      <p className="text-sm text-soft">{ids.length} incidents on this page are not acknowledged.</p>
      <Button size="sm" isBusy={acknowledge.isPending} onClick={() => acknowledge.mutate()}>
        <Check /> Acknowledge all {ids.length}
      </Button>
      {acknowledge.error && <ProblemNote problem={acknowledge.error} />}
    </div>
  )
}

const COLUMNS: Column<Incident>[] = [
  {
    id: 'domain',
    header: 'Domain',
    meta: { cellClassName: 'max-w-80 min-w-0' },
    cell: rowCell(({ id, zone, state }) => (
      <>
        <Link
          to="/alerts"
          search={{ incident: id }}
          className="rounded-sm after:absolute after:inset-0 hover:underline"
        >
          <Code className="font-medium">{zone}</Code>
        </Link>
        <IncidentStateText state={state} />
      </>
    )),
  },
  { id: 'status', header: 'Status', cell: ({ row }) => <IncidentBadge incident={row.original} /> },
  {
    id: 'monitors',
    header: 'Monitors',
    meta: { className: 'hidden sm:table-cell', cellClassName: 'tabular-nums' },
    cell: ({ row }) => monitorsText(row.original),
  },
  {
    id: 'opened',
    header: 'Opened',
    meta: { className: 'hidden md:table-cell', cellClassName: 'text-soft' },
    cell: ({ row }) => <Time at={row.original.opened} />,
  },
  {
    id: 'duration',
    header: 'Duration',
    meta: { className: 'hidden lg:table-cell', cellClassName: 'text-soft' },
    cell: ({ row }) => incidentDuration(row.original),
  },
]

const isMonitorState = (state: IncidentState): state is MonitorState => state in STATE_DISPLAY

/** A zone that failed first has its health in capitals. */
const incidentLabel = (state: IncidentState) =>
  isMonitorState(state) ? STATE_DISPLAY[state].label : `zone ${state.toLowerCase()}`

function IncidentStateText({ state }: { state: IncidentState }) {
  return (
    <p className="text-xs text-faint" title={isMonitorState(state) ? stateTitle(state) : undefined}>
      {incidentLabel(state)}
    </p>
  )
}

const monitorsText = ({ monitors, failing, resolved }: Incident) =>
  resolved === null && failing < monitors ? `${failing} of ${monitors} failing` : String(monitors)

const incidentDuration = ({ opened, resolved }: Incident) =>
  durationText((resolved === null ? Date.now() : Date.parse(resolved)) - Date.parse(opened))

function IncidentBadge({ incident: { resolved, acknowledged } }: { incident: Incident }) {
  if (resolved !== null) return <Badge tone="good" icon={CircleCheck} label="Resolved" />
  return acknowledged === null ? (
    <Badge tone="bad" icon={CircleAlert} label="Open" />
  ) : (
    <Badge tone="warn" icon={Eye} label="Acknowledged" />
  )
}

export function IncidentDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const { data: incident, error } = useQuery(incidentQuery(id))
  return (
    <Dialog
      isOpen
      isWide
      onClose={onClose}
      title={incident ? `${incident.zone}: ${incidentLabel(incident.state)}` : 'Incident'}
    >
      {error && !incident ? (
        <ProblemNote problem={error} />
      ) : !incident ? (
        <Skeleton lines={4} />
      ) : (
        <Details incident={incident} />
      )}
    </Dialog>
  )
}

/** The common cause of monitors of several domains. */
const CAUSES = {
  value: 'Same records',
  target: 'CNAME target',
  provider: 'DNS provider',
  parent: 'Parent zone',
  name_server: 'Name server',
  upstream: 'Resolver',
} as const

function Details({ incident }: { incident: Incident }) {
  const { can } = useSession()
  const alerts = useQuery(alertsQuery({ incident: incident.id }))
  const queries = useQueryClient()
  const [note, setNote] = useState<string>()
  const change = useMutation({
    mutationFn: (body: IncidentChange) => api.patch<Incident>(`/incidents/${incident.id}`, body),
    onSuccess: () => {
      setNote(undefined)
      for (const key of ['incidents', 'alerts']) void queries.invalidateQueries({ queryKey: [key] })
    },
  })
  const isAcknowledged = incident.acknowledged !== null
  return (
    <div className="flex flex-col gap-5">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <IncidentBadge incident={incident} />
        {can('write') && incident.resolved === null && (
          <Button
            variant={isAcknowledged ? 'plain' : 'primary'}
            isBusy={change.isPending}
            onClick={() => change.mutate({ acknowledged: !isAcknowledged })}
          >
            {!isAcknowledged && <Check />} {isAcknowledged ? 'Undo acknowledgement' : 'Acknowledge'}
          </Button>
        )}
      </div>
      <Facts>
        <Fact name={incident.zones > 0 ? 'Monitors and zones' : 'Monitors'}>
          <Link to="/monitors" search={{ incident: incident.id }} className="underline">
            {monitorsText(incident)}
          </Link>
        </Fact>
        {incident.zones > 0 && (
          <Fact name="Zones">
            {incident.zones === 1 ? (
              <Link to="/zones/$zone" params={{ zone: incident.zone }} className="underline">
                {incident.zone}
              </Link>
            ) : (
              incident.zones
            )}
          </Fact>
        )}
        {incident.cause !== 'zone' && <Fact name={CAUSES[incident.cause]}>{incident.cause_value}</Fact>}
        <Fact name="Opened">
          <Time at={incident.opened} isExact />
        </Fact>
        {incident.resolved && (
          <Fact name="Resolved">
            <Time at={incident.resolved} isExact />
          </Fact>
        )}
        <Fact name="Duration">{incidentDuration(incident)}</Fact>
        {incident.acknowledged && (
          <Fact name="Acknowledged">
            {incident.acknowledged_by}, <Time at={incident.acknowledged} isExact />
          </Fact>
        )}
      </Facts>
      {can('write') && incident.resolved === null && (
        <IncidentControls incident={incident} onChange={(body) => change.mutate(body)} />
      )}
      {can('write') ? (
        <form
          className="flex flex-col items-start gap-2"
          onSubmit={(event) => {
            event.preventDefault()
            change.mutate({ note: note ?? incident.note })
          }}
        >
          <Field label="Note" hint="For your colleagues." className="w-full">
            <TextArea
              maxLength={2000}
              value={note ?? incident.note ?? ''}
              onChange={(event) => setNote(event.target.value)}
            />
          </Field>
          <Button type="submit" size="sm" disabled={note === undefined} isBusy={change.isPending}>
            Save note
          </Button>
        </form>
      ) : (
        incident.note && <p className="text-sm whitespace-pre-wrap">{incident.note}</p>
      )}
      {change.error && <ProblemNote problem={change.error} />}
      <section>
        <h3 className="mb-2 text-sm font-semibold">Timeline</h3>
        <IncidentTimeline id={incident.id} />
      </section>
      <section>
        <h3 className="mb-2 text-sm font-semibold">Alerts</h3>
        {alerts.data?.data.length === 0 ? (
          <p className="text-sm text-faint">No rule matches these monitors, so nobody is alerted.</p>
        ) : (
          <div className="rounded-lg border border-line">
            <AlertList list={alerts} skeletonLines={2} />
          </div>
        )}
      </section>
    </div>
  )
}
