import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Check, CircleCheck } from 'lucide-react'
import type { Incident, IncidentsAcknowledged } from '#contract/incidents.ts'
import { visibleLines } from '#contract/visible-text.ts'
import { api } from '../api.ts'
import { useGroupOptions } from '../events/events-filters.tsx'
import { FailingNote } from '../monitors/failing.tsx'
import { useOverview } from '../monitors/list/overview.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { EmptyState } from '../ui/empty-state.tsx'
import { Field } from '../ui/field.tsx'
import { Code, Section } from '../ui/page.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { Select } from '../ui/select.tsx'
import { type Column, PagedTable, rowCell } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { IncidentBadge } from './incident-badge.tsx'
import { incidentDuration, incidentLabel } from './incident-text.ts'
import { incidentsQuery } from './queries.ts'

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
    id: 'incident',
    header: 'Incident',
    meta: { cellClassName: 'min-w-56' },
    cell: rowCell(({ id, headline, zone, state }) => (
      <>
        <Link
          to="/incidents/$incident"
          params={{ incident: id }}
          className="rounded-sm font-medium wrap-anywhere after:absolute after:inset-0 hover:underline"
        >
          {visibleLines(headline)}
        </Link>
        <p className="text-xs text-faint">
          {incidentLabel(state)} · <Code>{zone}</Code>
        </p>
      </>
    )),
  },
  { id: 'status', header: 'Status', cell: ({ row }) => <IncidentBadge incident={row.original} /> },
  {
    id: 'monitors',
    header: 'Monitors',
    meta: { className: 'hidden sm:table-cell', cellClassName: 'tabular-nums' },
    cell: ({ row }) => countText(row.original),
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
    cell: ({ row }) => incidentDuration(row.original, Date.now()),
  },
]

const countText = ({ monitors, failing, resolved }: Incident) =>
  resolved === null && failing < monitors ? `${failing} of ${monitors} failing` : String(monitors)
