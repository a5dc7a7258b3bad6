import { Link } from '@tanstack/react-router'
import type { Event } from '#contract/events.ts'
import { recordName } from '#contract/wording.ts'
import { cx } from '../ui/class-names.ts'
import { Code } from '../ui/page.tsx'
import { fullTime } from '../ui/time.tsx'
import { Tooltip } from '../ui/tooltip.tsx'
import { StateChange, ValueDiff } from './event-change.tsx'

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })

/** One event of the list. `isNew`: it arrived while the page was open. */
export function EventLine({ event, isNew }: { event: Event; isNew: boolean }) {
  const name = recordName(event.domain)
  return (
    <li
      className={cx(
        'grid grid-cols-[3.75rem_minmax(0,1fr)] gap-x-4 gap-y-1 px-4 py-3 transition-colors duration-1000',
        'lg:grid-cols-[3.75rem_minmax(0,5fr)_14rem_minmax(0,6fr)]',
        isNew && 'starting:bg-accent-wash',
      )}
    >
      <Tooltip text={`${fullTime(event.occurred)} · ${event.occurred.replace('T', ' ').replace('Z', '')} UTC`}>
        <time dateTime={event.occurred} className="text-xs leading-5 text-faint tabular-nums">
          {clock.format(new Date(event.occurred))}
        </time>
      </Tooltip>
      <div className="min-w-0 leading-5">
        <Link
          to="/monitors/$monitor"
          params={{ monitor: event.monitor_id }}
          search={{ event: event.id }}
          className="rounded-sm hover:underline"
        >
          <Code className="font-medium">{name}</Code>
        </Link>{' '}
        <span className="text-xs text-faint">{event.domain.record_type}</span>
      </div>
      <div className="col-start-2 lg:col-start-auto">
        <StateChange event={event} />
      </div>
      <div className="col-start-2 min-w-0 lg:col-start-auto">
        <ValueDiff event={event} maxLines={3} />
      </div>
    </li>
  )
}
