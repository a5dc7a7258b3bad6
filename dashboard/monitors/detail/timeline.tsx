import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import type { Timeline, TimelineRange } from '#contract/dashboard.ts'
import { durationText, plural } from '#contract/wording.ts'
import { Button } from '../../ui/button.tsx'
import { cx } from '../../ui/class-names.ts'
import { Section, Skeleton } from '../../ui/page.tsx'
import { ProblemPage } from '../../ui/problem.tsx'
import { STATE_DISPLAY, stateTitle } from '../../ui/state.tsx'
import { type Column, DataTable, rowCell } from '../../ui/table.tsx'
import { fullTime, Time } from '../../ui/time.tsx'
import { checksQuery, type MonitorDetails, timelineQuery } from '../queries.ts'
import { checksText } from './checks-text.ts'
import { TimelineChart } from './timeline-chart.tsx'
import { type Bar, barsOf, RANGE_NAMES } from './timeline-lanes.ts'

const NEW_MONITOR_MS = 2 * 86_400_000

/** 7 days, or 24 hours for a new monitor. */
const defaultRangeFor = (created: string): TimelineRange =>
  Date.now() - Date.parse(created) < NEW_MONITOR_MS ? '24h' : '7d'

/** The states of the monitor over time, as a chart and as a table. */
export function MonitorTimeline({ monitor: { id, created } }: { monitor: MonitorDetails }) {
  const defaultRange = defaultRangeFor(created)
  const search = useSearch({ from: '/signed-in/monitors/$monitor' })
  const navigate = useNavigate({ from: '/monitors/$monitor' })
  const range = search.range && search.range in RANGE_NAMES ? (search.range as TimelineRange) : defaultRange
  const { data, error, isPending, isPlaceholderData, refetch } = useQuery(timelineQuery(id, range))
  const choose = (next: TimelineRange) =>
    void navigate({
      search: ({ event }) => ({ ...(event ? { event } : {}), ...(next === defaultRange ? {} : { range: next }) }),
      replace: true,
      resetScroll: false,
    })
  return (
    <Section title="State over time" actions={<Ranges range={range} onChoose={choose} />}>
      {data ? (
        <div className={cx('transition-opacity delay-200', isPlaceholderData && 'opacity-50')}>
          <States timeline={data} range={range} />
        </div>
      ) : isPending ? (
        <Skeleton lines={3} className="h-28" />
      ) : (
        <ProblemPage problem={error} onRetry={() => void refetch()} />
      )}
      <ChecksMade id={id} />
    </Section>
  )
}

/** Whether each check of the last 30 days was made. */
function ChecksMade({ id }: { id: string }) {
  const { data } = useQuery(checksQuery(id))
  const text = data && checksText(data, fullTime)
  return text && <p className="mt-3 text-sm text-faint">{text}</p>
}

function Ranges({ range, onChoose }: { range: TimelineRange; onChoose: (range: TimelineRange) => void }) {
  return (
    <fieldset className="flex gap-0.5 rounded-md bg-sunken p-0.5">
      <legend className="sr-only">Range</legend>
      {(Object.keys(RANGE_NAMES) as TimelineRange[]).map((option) => (
        <Button
          key={option}
          size="sm"
          variant="quiet"
          aria-pressed={option === range}
          title={RANGE_NAMES[option]}
          onClick={() => onChoose(option)}
          className={cx('tabular-nums', option === range && 'bg-surface !text-ink shadow-[0_0_0_1px_var(--line)]')}
        >
          {option.replace(/(\d+)/, '$1 ')}
        </Button>
      ))}
    </fieldset>
  )
}

function States({ timeline, range }: { timeline: Timeline; range: TimelineRange }) {
  const bars = barsOf(timeline)
  const { changes } = timeline
  return (
    <>
      <p className="mb-3 text-sm text-faint">
        {changes === 0 ? 'No changes' : plural(changes, '1 change', (number) => `${number} changes`)} in the last{' '}
        {RANGE_NAMES[range]}
      </p>
      <TimelineChart timeline={timeline} bars={bars} range={range} />
      <details className="mt-3 text-sm">
        <summary className="w-fit cursor-pointer rounded-sm text-xs text-faint hover:text-ink">Show as table</summary>
        <PeriodTable bars={bars} />
      </details>
    </>
  )
}

function PeriodTable({ bars }: { bars: readonly Bar[] }) {
  return (
    <div className="mt-2 max-h-80 overflow-y-auto rounded-md border border-line">
      <DataTable
        label="States over time"
        columns={COLUMNS}
        rows={bars.toReversed()}
        rowId={({ index }) => String(index)}
      />
    </div>
  )
}

const COLUMNS: Column<Bar>[] = [
  {
    id: 'state',
    header: 'State',
    cell: rowCell(({ state }) =>
      state === null ? 'Unknown' : <span title={stateTitle(state)}>{STATE_DISPLAY[state].label}</span>,
    ),
  },
  {
    id: 'from',
    header: 'From',
    cell: ({ row }) => <Time at={new Date(row.original.from).toISOString()} isExact />,
  },
  {
    id: 'to',
    header: 'To',
    cell: ({ row }) => <Time at={new Date(row.original.to).toISOString()} isExact />,
  },
  {
    id: 'duration',
    header: 'Duration',
    meta: { className: 'text-right', cellClassName: 'whitespace-nowrap tabular-nums' },
    cell: rowCell(({ from, to }) => durationText(to - from)),
  },
]
