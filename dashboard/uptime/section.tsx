import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Download } from 'lucide-react'
import { type KeyboardEvent, type PointerEvent, useState } from 'react'
import type { Uptime, UptimeOfMonitors } from '#contract/uptime.ts'
import { api, organizationUrl } from '../api.ts'
import { ButtonAnchor } from '../ui/button.tsx'
import { Section, Skeleton } from '../ui/page.tsx'
import { ProblemPage } from '../ui/problem.tsx'
import { DayColumns } from './columns.tsx'
import { dateText, dayText, percentText, summaryText } from './day.ts'

const DAYS = 90
const HEIGHT_PX = 36

/** The last 90 days of a monitor, a group or a zone. `path`: of it in the API. */
export function UptimeSection({ path }: { path: string }) {
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ['events', 'uptime', path],
    queryFn: ({ signal }) => api.get<Uptime | UptimeOfMonitors>(`${path}/uptime`, { days: DAYS }, signal),
    placeholderData: keepPreviousData,
  })
  const monitors = data && 'monitors' in data ? data.monitors : 1
  if (monitors === 0) return null
  return (
    <Section
      title="Uptime"
      hint={`The last ${DAYS} days, in UTC. Time in which nobody looked does not count.`}
      actions={
        <ButtonAnchor size="sm" href={organizationUrl(`${path}/uptime.csv`, { days: DAYS })} download>
          <Download /> CSV
        </ButtonAnchor>
      }
    >
      {data ? (
        <Chart uptime={data} monitors={monitors} />
      ) : isPending ? (
        <Skeleton lines={2} className="h-24" />
      ) : (
        <ProblemPage problem={error} onRetry={() => void refetch()} />
      )}
    </Section>
  )
}

/** The arrow keys move between days. */
function Chart({ uptime, monitors }: { uptime: Uptime; monitors: number }) {
  const [selected, setSelected] = useState<number>()
  const { days, valid_percent } = uptime
  const last = days.length - 1
  const day = days[selected ?? last]!
  const onKey = (event: KeyboardEvent) => {
    const next = KEYS[event.key]?.(selected ?? last, last)
    if (next === undefined) return
    event.preventDefault()
    setSelected(Math.min(Math.max(next, 0), last))
  }
  const selectAtPointer = (event: PointerEvent<HTMLDivElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect()
    setSelected(Math.min(last, Math.max(0, Math.floor(((event.clientX - left) / width) * days.length))))
  }
  return (
    <>
      <p className="mb-3 flex flex-wrap items-baseline gap-x-2">
        {valid_percent === null ? (
          <span className="text-sm text-faint">A percentage appears when a whole day is known.</span>
        ) : (
          <>
            <span className="text-xl font-semibold tracking-tight tabular-nums">{percentText(valid_percent)}</span>
            <span className="text-sm text-faint">
              valid{monitors > 1 && `, over ${monitors.toLocaleString()} monitors`}
            </span>
          </>
        )}
        <span className="sr-only">{summaryText(uptime)}</span>
      </p>
      <div
        role="slider"
        tabIndex={0}
        aria-label="Days"
        aria-valuemin={1}
        aria-valuemax={days.length}
        aria-valuenow={(selected ?? last) + 1}
        aria-valuetext={dayText(day, monitors)}
        onKeyDown={onKey}
        onBlur={() => setSelected(undefined)}
        onPointerMove={selectAtPointer}
        onPointerDown={selectAtPointer}
        onPointerLeave={() => setSelected(undefined)}
        className="rounded-sm outline-offset-4"
      >
        <DayColumns days={days} height={HEIGHT_PX} selected={selected} />
      </div>
      <p className="mt-1.5 flex justify-between text-xs text-faint" aria-hidden="true">
        <span>{dateText(days[0]!.date)}</span>
        <span>Today</span>
      </p>
      <p className="mt-1 min-h-9 text-xs text-soft sm:min-h-5">
        {selected === undefined ? (
          <span className="text-faint">Point at a day or use the arrow keys.</span>
        ) : (
          dayText(day, monitors)
        )}
      </p>
    </>
  )
}

const KEYS: Record<string, (index: number, last: number) => number> = {
  ArrowLeft: (index) => index - 1,
  ArrowDown: (index) => index - 1,
  ArrowRight: (index) => index + 1,
  ArrowUp: (index) => index + 1,
  Home: () => 0,
  End: (_index, last) => last,
}
