import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { CalendarClock } from 'lucide-react'
import type { PlannedChange } from '#contract/planned-changes.ts'
import { nameOf } from '../events/event-change.tsx'
import { ChangeState } from '../monitors/monitor-planned.tsx'
import { monitorQuery } from '../monitors/monitor-queries.ts'
import { Empty } from '../ui/empty.tsx'
import { Code, Section, Skeleton } from '../ui/page.tsx'
import { ProblemPage } from '../ui/problem.tsx'
import { Cell, Head, Pager, Table } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { changesQuery } from './queries.ts'

const route = getRouteApi('/inside/alerts')

export function PlannedChanges() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const { data: page, error, refetch } = useQuery(changesQuery({ after: search.after, before: search.before }))
  if (error && !page) return <ProblemPage problem={error} onRetry={() => void refetch()} />
  return (
    <Section
      title="Planned changes"
      hint="Within its period, the old values of a record, the new ones and a mix of both are valid."
      isFlush
    >
      {!page ? (
        <Skeleton lines={3} className="p-4" />
      ) : page.data.length === 0 ? (
        <Empty icon={CalendarClock} title="No planned changes">
          <p>
            Open a monitor and choose Plan a change. Zonewatch sends no false alarm while the record changes, and alerts
            you if the new values do not arrive in time.
          </p>
        </Empty>
      ) : (
        <>
          <List changes={page.data} />
          <Pager
            page={page}
            onAfter={(after) => void navigate({ search: { tab: 'changes', after } })}
            onBefore={(before) => void navigate({ search: { tab: 'changes', before } })}
          />
        </>
      )}
    </Section>
  )
}

function List({ changes }: { changes: readonly PlannedChange[] }) {
  return (
    <Table
      label="Planned changes"
      head={
        <>
          <Head>Record</Head>
          <Head className="hidden sm:table-cell">Change</Head>
          <Head className="hidden md:table-cell">Period</Head>
          <Head>Status</Head>
        </>
      }
    >
      {changes.map((change) => (
        <tr key={change.id}>
          <Cell className="min-w-0">
            <Link
              to="/monitors/$monitor"
              params={{ monitor: change.monitor_id }}
              className="font-medium break-all underline-offset-2 hover:underline"
            >
              <RecordName monitor={change.monitor_id} />
            </Link>
          </Cell>
          <Cell className="hidden min-w-0 sm:table-cell">
            <Code className="break-all">{change.old_value.join(', ')}</Code> →{' '}
            <Code className="break-all">{change.new_value.join(', ')}</Code>
          </Cell>
          <Cell className="hidden text-soft md:table-cell">
            <Time at={change.from} isExact />
            <br />
            <span className="text-faint">
              to <Time at={change.to} isExact />
            </span>
          </Cell>
          <Cell>
            <ChangeState state={change.state} />
          </Cell>
        </tr>
      ))}
    </Table>
  )
}

function RecordName({ monitor: id }: { monitor: string }) {
  const { data } = useQuery(monitorQuery(id))
  return <>{data ? `${nameOf(data.monitor)} ${data.monitor.record_type}` : 'Monitor'}</>
}
