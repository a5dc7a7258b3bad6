import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, type PointerEvent, useId, useState } from 'react'
import type { Timeline, TimelineRange } from '#contract/dashboard.ts'
import type { MonitorState } from '#contract/monitors.ts'
import { durationText } from '#contract/wording.ts'
import { cx } from '../ui/class-names.ts'
import { STATE_DISPLAY, State, type Tone } from '../ui/state.tsx'
import { fullTime } from '../ui/time.tsx'
import { type Bar, barAt, lanesOf, ticksOf } from './monitor-lanes.ts'

const LANE = 28
const THICK = 14
const FILLS: Record<Tone, string> = { good: 'fill-good', bad: 'fill-bad', warn: 'fill-warn', idle: 'fill-idle' }

type PictureProps = { timeline: Timeline; bars: readonly Bar[]; range: TimelineRange }

/**
 * A lane for each state that occurred, so that states differ by place and word and not by colour alone. The arrow keys go
 * from segment to segment, Enter opens the event that began it.
 */
export function TimelinePicture({ timeline, bars, range }: PictureProps) {
  const navigate = useNavigate({ from: '/monitors/$monitor' })
  const [chosen, setChosen] = useState<number>()
  const lanes = lanesOf(bars)
  const bar = chosen === undefined ? undefined : bars[chosen]
  const height = Math.max(1, lanes.length) * LANE
  const open = (event: string | null | undefined) => {
    if (event) void navigate({ search: (search) => ({ ...search, event }), resetScroll: false })
  }
  const point = (event: PointerEvent<SVGSVGElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect()
    setChosen(barAt(bars, ((event.clientX - left) / width) * 100)?.at)
  }
  const press = (event: KeyboardEvent) => {
    const next = KEYS[event.key]?.(chosen ?? bars.length, bars.length - 1)
    if (next !== undefined) {
      event.preventDefault()
      setChosen(Math.min(Math.max(next, 0), bars.length - 1))
    } else if (event.key === 'Enter') open(bar?.event)
  }
  return (
    <div className="grid grid-cols-[6.5rem_minmax(0,1fr)] gap-x-3 sm:grid-cols-[7.5rem_minmax(0,1fr)]">
      <ul>
        {lanes.map(({ state }) => (
          <li key={state} className="flex items-center text-xs" style={{ height: LANE }}>
            <State state={state} />
          </li>
        ))}
      </ul>
      <div
        role="slider"
        tabIndex={0}
        aria-label="State over time"
        aria-valuemin={1}
        aria-valuemax={Math.max(1, bars.length)}
        aria-valuenow={(chosen ?? bars.length - 1) + 1}
        aria-valuetext={textOf(bar ?? bars.at(-1))}
        onKeyDown={press}
        onBlur={() => setChosen(undefined)}
        className="rounded-sm outline-offset-4"
        style={{ height }}
      >
        <svg
          width="100%"
          height={height}
          aria-hidden="true"
          onPointerMove={point}
          onPointerLeave={() => setChosen(undefined)}
          onClick={() => open(bar?.event)}
          className={cx('block', bar?.event && 'cursor-pointer')}
        >
          <Picture bars={bars} lanes={lanes.map(({ state }) => state)} chosen={bar} />
        </svg>
      </div>
      <Axis timeline={timeline} range={range} />
      <p className="col-span-2 mt-2 min-h-9 text-xs text-soft sm:col-span-1 sm:col-start-2 xl:min-h-5">
        {bar ? textOf(bar) : <span className="text-faint">Hover over a period or use the arrow keys.</span>}
        {bar?.event && <span className="text-faint"> · Click or press Enter to open its event.</span>}
      </p>
    </div>
  )
}

const KEYS: Record<string, (at: number, last: number) => number> = {
  ArrowLeft: (at) => at - 1,
  ArrowDown: (at) => at - 1,
  ArrowRight: (at) => at + 1,
  ArrowUp: (at) => at + 1,
  Home: () => 0,
  End: (_at, last) => last,
}

function textOf(bar: Bar | undefined): string {
  if (!bar) return 'No data for this period.'
  const word = bar.state === null ? 'Unknown' : `${STATE_DISPLAY[bar.state].label} (${bar.state})`
  return `${word}: ${fullTime(bar.from)} – ${fullTime(bar.to)} (${durationText(bar.to - bar.from)})`
}

type Drawn = { bars: readonly Bar[]; lanes: readonly MonitorState[]; chosen: Bar | undefined }

function Picture({ bars, lanes, chosen }: Drawn) {
  const hatch = useId()
  const topOf = (state: MonitorState) => lanes.indexOf(state) * LANE + (LANE - THICK) / 2
  const height = Math.max(1, lanes.length) * LANE
  return (
    <>
      <pattern id={hatch} width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <rect width="1.5" height="5" className="fill-edge" opacity="0.45" />
      </pattern>
      {lanes.map((state, at) => (
        <line
          key={state}
          x1="0"
          x2="100%"
          y1={at * LANE + LANE / 2}
          y2={at * LANE + LANE / 2}
          className="stroke-line"
        />
      ))}
      {bars.map(({ at, state, x, width }) => {
        if (state === null)
          return <rect key={at} x={`${x}%`} width={`${width}%`} height={height} fill={`url(#${hatch})`} />
        const tone = STATE_DISPLAY[state].tone
        return (
          <rect
            key={at}
            x={`${x}%`}
            y={topOf(state)}
            width={`${width}%`}
            height={THICK}
            rx={2}
            className={FILLS[tone]}
            opacity={chosen && chosen.at !== at ? 0.45 : tone === 'good' ? 0.8 : 1}
          />
        )
      })}
      {bars.map(({ at, state, x }) => {
        const last = at === 0 ? undefined : bars[at - 1]?.state
        if (!state || !last) return null
        const [y1, y2] = [topOf(last) + THICK / 2, topOf(state) + THICK / 2]
        return <line key={at} x1={`${x}%`} x2={`${x}%`} y1={y1} y2={y2} className="stroke-edge" strokeWidth="1" />
      })}
    </>
  )
}

function Axis({ timeline, range }: { timeline: Timeline; range: TimelineRange }) {
  const ticks = ticksOf(Date.parse(timeline.from), Date.parse(timeline.to), range)
  return (
    <div aria-hidden="true" className="relative col-start-2 mt-1 h-5 border-t border-line text-2xs text-faint">
      {ticks.map(({ x, text }, at) => (
        <span
          key={text}
          style={{ left: `${x}%` }}
          className={cx(
            'absolute top-0 flex -translate-x-1/2 flex-col items-center whitespace-nowrap tabular-nums',
            'before:h-1 before:w-px before:bg-edge',
            at % 2 === 1 && 'max-sm:hidden',
            (x < 2 || x > 97) && 'hidden',
          )}
        >
          {text}
        </span>
      ))}
    </div>
  )
}
