import { Meter } from '@base-ui/react/meter'
import type { Subscription } from '#contract/subscription.ts'
import { cx } from '../ui/class-names.ts'
import { Fact, Facts } from '../ui/page.tsx'

const COUNTED = [
  ['monitors', 'Monitors'],
  ['webhooks', 'Webhooks'],
  ['agents', 'Team members, including pending invitations'],
  ['api_keys', 'Active API keys'],
] as const

/** How much of the plan's limits is used. */
export function Usage({ subscription: { limits, usage } }: { subscription: Subscription }) {
  return (
    <div className="flex flex-col gap-6">
      <div className="grid gap-x-10 gap-y-4 sm:grid-cols-2">
        {COUNTED.map(([name, label]) => (
          <Used key={name} label={label} used={usage[name]} limit={limits[name]} />
        ))}
      </div>
      <Facts>
        <Fact name="Shortest interval">
          <span className="tabular-nums">
            {usage.min_frequency === null ? 'No monitors yet' : `${usage.min_frequency} minutes in use`}
            {limits.min_frequency !== null && `, ${limits.min_frequency} allowed`}
          </span>
        </Fact>
        <Fact name="Events are kept">
          <span className="tabular-nums">
            {usage.event_retention_days === null ? 'forever' : `for ${usage.event_retention_days} days`}
            {limits.event_retention_days !== null && `, ${limits.event_retention_days} allowed`}
          </span>
        </Fact>
      </Facts>
    </div>
  )
}

function Used({ label, used, limit }: { label: string; used: number; limit: number | null }) {
  const words = limit === null ? `${used.toLocaleString()}` : `${used.toLocaleString()} of ${limit.toLocaleString()}`
  if (limit === null) {
    return (
      <div className="flex items-baseline justify-between gap-4 border-b border-line pb-2 text-sm">
        <span className="text-soft">{label}</span>
        <span className="tabular-nums">
          <span className="font-medium">{words}</span> <span className="text-xs text-faint">no limit</span>
        </span>
      </div>
    )
  }
  const isFull = used >= limit
  return (
    <Meter.Root value={Math.min(used, limit)} max={Math.max(limit, 1)} getAriaValueText={() => words}>
      <div className="mb-1.5 flex items-baseline justify-between gap-4 text-sm">
        <Meter.Label className="text-soft">{label}</Meter.Label>
        <span className="tabular-nums">
          <span className="font-medium">{words}</span>
          {isFull && <span className="text-xs text-warn"> {used > limit ? 'over the limit' : 'full'}</span>}
        </span>
      </div>
      <Meter.Track className="h-1.5 overflow-hidden rounded-full bg-sunken">
        <Meter.Indicator className={cx('h-full rounded-full', isFull ? 'bg-warn' : 'bg-accent')} />
      </Meter.Track>
    </Meter.Root>
  )
}
