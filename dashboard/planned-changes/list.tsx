import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { CalendarClock } from 'lucide-react'
import type { PlannedChange } from '#contract/planned-changes.ts'
import { recordName } from '#contract/wording.ts'
import { changesQuery } from '../alerts/queries.ts'
import { monitorQuery } from '../monitors/queries.ts'
import { EmptyState } from '../ui/empty-state.tsx'
import { Code, Section } from '../ui/page.tsx'
import { type Column, PagedTable, rowCell } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { ChangeState } from './of-monitor.tsx'

const route = getRouteApi('/signed-in/alerts')

export function PlannedChanges() {
  const search = route.useSearch()
  const { job } = search
  const navigate = route.useNavigate()
  return (
    <Section
      title="Planned changes"
      hint={
        <>
          During the period, the old values, the new values and a mix of both are valid.
          {job !== undefined && (
            <>
              {' '}
              Shown are the open changes of one job.{' '}
              <Link to="/alerts" search={{ tab: 'changes' }} className="underline underline-offset-2">
                Show all
              </Link>
            </>
          )}
        </>
      }
      isFlush
    >
      <PagedTable
        label="Planned changes"
        columns={COLUMNS}
        list={useQuery(changesQuery({ after: search.after, before: search.before, job }))}
        skeletonLines={3}
        onPage={(cursor) => void navigate({ search: { tab: 'changes', ...(job !== undefined && { job }), ...cursor } })}
        empty={
          <EmptyState icon={CalendarClock} title="No planned changes">
            <p>
              Open a monitor and choose Plan a change. Zonewatch sends no false alarm while the record changes, and
              alerts you if the new values do not arrive in time.
            </p>
          </EmptyState>
        }
      />
    </Section>
  )
}

const COLUMNS: Column<PlannedChange>[] = [
  {
    id: 'record',
    header: 'Record',
    meta: { cellClassName: 'min-w-0' },
    cell: rowCell(({ monitor_id }) => (
      <Link
        to="/monitors/$monitor"
        params={{ monitor: monitor_id }}
        className="font-medium break-all underline-offset-2 hover:underline"
      >
        <RecordName monitor={monitor_id} />
      </Link>
    )),
  },
  {
    id: 'change',
    header: 'Change',
    meta: { className: 'hidden sm:table-cell', cellClassName: 'min-w-0' },
    cell: rowCell(({ old_value, new_value }) => (
      <>
        <Code className="break-all">{old_value.join(', ')}</Code> →{' '}
        <Code className="break-all">{new_value.join(', ')}</Code>
      </>
    )),
  },
  {
    id: 'period',
    header: 'Period',
    meta: { className: 'hidden md:table-cell', cellClassName: 'text-soft' },
    cell: rowCell(({ from, to }) => (
      <>
        <Time at={from} isExact />
        <br />
        <span className="text-faint">
          to <Time at={to} isExact />
        </span>
      </>
    )),
  },
  { id: 'state', header: 'Status', cell: ({ row }) => <ChangeState state={row.original.state} /> },
]

function RecordName({ monitor: id }: { monitor: string }) {
  const { data } = useQuery(monitorQuery(id))
  return <>{data ? `${recordName(data.monitor)} ${data.monitor.record_type}` : 'Monitor'}</>
}
