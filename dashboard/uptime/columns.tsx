import { useId } from 'react'
import type { UptimeDay } from '#contract/uptime.ts'
import { type DayTone, stackOf } from './day.ts'

const FILLS: Record<Exclude<DayTone, 'none'>, string> = {
  good: 'fill-good',
  bad: 'fill-bad',
  warn: 'fill-warn',
  idle: 'fill-idle opacity-30',
}

/**
 * A column for each day, with what failed at its bottom. Failures are hatched and failed lookups dotted, so that color is not the only
 * difference. One path for each tone, because a list has many of these.
 */
export function DayColumns({
  days,
  height,
  selected,
}: {
  days: readonly UptimeDay[]
  height: number
  selected?: number | undefined
}) {
  const id = useId()
  const paths: Record<DayTone, string> = { good: '', bad: '', warn: '', idle: '', none: '' }
  for (const [index, day] of days.entries()) {
    let bottom = height
    const stack = stackOf(day)
    if (stack.length === 0) paths.none += `M${index * STEP} ${height - 1}h${WIDTH}v1h-${WIDTH}z`
    for (const { tone, share } of stack) {
      const length = Math.round(share * height * 10) / 10
      paths[tone] += `M${index * STEP} ${Math.max(0, bottom - length)}h${WIDTH}V${bottom}h-${WIDTH}z`
      bottom -= length
    }
  }
  return (
    <svg
      viewBox={`0 0 ${days.length * STEP - GAP} ${height}`}
      preserveAspectRatio="none"
      width="100%"
      height={height}
      aria-hidden="true"
      className="block"
    >
      <pattern id={`${id}-bad`} width="3" height="3" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <rect width="0.9" height="3" className="fill-surface" />
      </pattern>
      <pattern id={`${id}-warn`} width="2" height="4" patternUnits="userSpaceOnUse">
        <rect width="2" height="1.2" className="fill-surface" />
      </pattern>
      {selected !== undefined && (
        <rect x={selected * STEP - GAP} width={STEP + GAP} height={height} className="fill-edge opacity-30" />
      )}
      {(['good', 'idle', 'bad', 'warn'] as const).map(
        (tone) => paths[tone] !== '' && <path key={tone} d={paths[tone]} className={FILLS[tone]} />,
      )}
      {(['bad', 'warn'] as const).map(
        (tone) => paths[tone] !== '' && <path key={tone} d={paths[tone]} fill={`url(#${id}-${tone})`} />,
      )}
      {paths.none !== '' && <path d={paths.none} className="fill-edge" />}
    </svg>
  )
}

/** In units of the picture, which is as wide as its place. */
const WIDTH = 3
const GAP = 1
const STEP = WIDTH + GAP
