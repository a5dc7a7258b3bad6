import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, type PointerEvent, useId, useState } from 'react'
import type { Timeline, TimelineRange } from '#contract/dashboard.ts'
import type { MonitorState } from '#contract/monitors.ts'
import { durationText } from '#contract/wording.ts'
import { cx } from '../../ui/class-names.ts'
import { STATE_DISPLAY, State, type Tone } from '../../ui/state.tsx'
import { fullTime } from '../../ui/time.tsx'
import { type Bar, barAt, lanesOf, ticksOf } from './timeline-lanes.ts'

const LANE_PX = 28
const BAR_PX = 14
const FILLS: Record<Tone, string> = { good: 'fill-good', bad: 'fill-bad', warn: 'fill-warn', idle: 'fill-idle' }

type ChartProps = { timeline: Timeline; bars: readonly Bar[]; range: TimelineRange }

/**
 * One lane for each state, so that states differ by position and label and not only by color. The arrow keys move between
 * segments. Enter opens the event that began the segment.
 */
export function TimelineChart({ timeline, bars, range }: ChartProps) {
  const navigate = useNavigate({ from: '/monitors/$monitor' })
  const [selected, setSelected] = useState<number>()
  const lanes = lanesOf(bars)
  const bar = selected === undefined ? undefined : bars[selected]
  const height = Math.max(1, lanes.length) * LANE_PX
  const open = (event: string | null | undefined) => {
    if (event) void navigate({ search: (search) => ({ ...search, event }), resetScroll: false })
  }
  const selectAtPointer = (event: PointerEvent<SVGSVGElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect()
    setSelected(barAt(bars, ((event.clientX - left) / width) * 100)?.index)
  }
  const onKey = (event: KeyboardEvent) => {
    const next = KEYS[event.key]?.(selected ?? bars.length, bars.length - 1)
    if (next !== undefined) {
      event.preventDefault()
      setSelected(Math.min(Math.max(next, 0), bars.length - 1))
    } else if (event.key === 'Enter') open(bar?.event)
  }
  return (
    <div className="grid grid-cols-[6.5rem_minmax(0,1fr)] gap-x-3 sm:grid-cols-[7.5rem_minmax(0,1fr)]">
      <ul>
        {lanes.map(({ state }) => (
          <li key={state} className="flex items-center text-xs" style={{ height: LANE_PX }}>
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
        aria-valuenow={(selected ?? bars.length - 1) + 1}
        aria-valuetext={barText(bar ?? bars.at(-1))}
        onKeyDown={onKey}
        onBlur={() => setSelected(undefined)}
        className="rounded-sm outline-offset-4"
        style={{ height }}
      >
        <svg
          width="100%"
          height={height}
          aria-hidden="true"
          onPointerMove={selectAtPointer}
          onPointerLeave={() => setSelected(undefined)}
          onClick={() => open(bar?.event)}
          className={cx('block', bar?.event && 'cursor-pointer')}
        >
          <Bars bars={bars} lanes={lanes.map(({ state }) => state)} selected={bar} />
        </svg>
      </div>
      <Axis timeline={timeline} range={range} />
      <p className="col-span-2 mt-2 min-h-9 text-xs text-soft sm:col-span-1 sm:col-start-2 xl:min-h-5">
        {bar ? barText(bar) : <span className="text-faint">Hover over a period or use the arrow keys.</span>}
        {bar?.event && <span className="text-faint"> · Click or press Enter to open its event.</span>}
      </p>
    </div>
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

function barText(bar: Bar | undefined): string {
  if (!bar) return 'No data for this period.'
  const label = bar.state === null ? 'Unknown' : `${STATE_DISPLAY[bar.state].label} (${bar.state})`
  return `${label}: ${fullTime(bar.from)} – ${fullTime(bar.to)} (${durationText(bar.to - bar.from)})`
}

type BarsProps = { bars: readonly Bar[]; lanes: readonly MonitorState[]; selected: Bar | undefined }

function Bars({ bars, lanes, selected }: BarsProps) {
  const hatch = useId()
  const topOf = (state: MonitorState) => lanes.indexOf(state) * LANE_PX + (LANE_PX - BAR_PX) / 2
  const height = Math.max(1, lanes.length) * LANE_PX
  return (
    <>
      <pattern id={hatch} width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <rect width="1.5" height="5" className="fill-edge" opacity="0.45" />
      </pattern>
      {lanes.map((state, index) => (
        <line
          key={state}
          x1="0"
          x2="100%"
          y1={index * LANE_PX + LANE_PX / 2}
          y2={index * LANE_PX + LANE_PX / 2}
          className="stroke-line"
        />
      ))}
      {bars.map(({ index, state, x, width }) => {
        if (state === null)
          return <rect key={index} x={`${x}%`} width={`${width}%`} height={height} fill={`url(#${hatch})`} />
        const tone = STATE_DISPLAY[state].tone
        return (
          <rect
            key={index}
            x={`${x}%`}
            y={topOf(state)}
            width={`${width}%`}
            height={BAR_PX}
            rx={2}
            className={FILLS[tone]}
            opacity={selected && selected.index !== index ? 0.45 : tone === 'good' ? 0.8 : 1}
          />
        )
      })}
      {bars.map(({ index, state, x }) => {
        const last = index === 0 ? undefined : bars[index - 1]?.state
        if (!state || !last) return null
        const [y1, y2] = [topOf(last) + BAR_PX / 2, topOf(state) + BAR_PX / 2]
        return <line key={index} x1={`${x}%`} x2={`${x}%`} y1={y1} y2={y2} className="stroke-edge" strokeWidth="1" />
      })}
    </>
  )
}

function Axis({ timeline, range }: { timeline: Timeline; range: TimelineRange }) {
  const ticks = ticksOf(Date.parse(timeline.from), Date.parse(timeline.to), range)
  return (
    <div aria-hidden="true" className="relative col-start-2 mt-1 h-5 border-t border-line text-2xs text-faint">
      {ticks.map(({ x, text }, index) => (
        <span
          key={text}
          style={{ left: `${x}%` }}
          className={cx(
            'absolute top-0 flex -translate-x-1/2 flex-col items-center whitespace-nowrap tabular-nums',
            'before:h-1 before:w-px before:bg-edge',
            index % 3 !== 0 && 'max-sm:hidden',
            (x < 2 || x > 97) && 'hidden',
          )}
        >
          {text}
        </span>
      ))}
    </div>
  )
}
