import { Link } from '@tanstack/react-router'
import type { Overview } from '#contract/dashboard.ts'
import type { Event } from '#contract/events.ts'
import { recordName } from '#contract/wording.ts'
import { StateChange } from '../events/event-change.tsx'
import { FirstResults } from '../events/first-results.tsx'
import { Code, Section } from '../ui/page.tsx'
import { Time } from '../ui/time.tsx'

type ChangesProps = { events: readonly Event[]; firstResults: Overview['first_results'] }

/** The newest confirmed changes, and first results in one line. */
export function Changes({ events, firstResults }: ChangesProps) {
  return (
    <Section
      title="Recent changes"
      className="min-w-0"
      actions={
        <Link to="/events" className="rounded-sm text-xs text-accent-ink hover:underline">
          All events
        </Link>
      }
      isFlush
    >
      {firstResults && <FirstResults results={firstResults} />}
      {events.length === 0 ? (
        <p className="px-4 py-6 text-sm text-faint">No changes yet.</p>
      ) : (
        <ol className="divide-y divide-line">
          {events.map((event) => (
            <li
              key={event.id}
              className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-0.5 px-4 py-2.5 sm:grid-cols-[minmax(0,1fr)_15rem_6.5rem]"
            >
              <Link
                to="/monitors/$monitor"
                params={{ monitor: event.monitor_id }}
                search={{ event: event.id }}
                className="min-w-0 rounded-sm hover:underline"
              >
                <Code>{recordName(event.domain)}</Code>{' '}
                <span className="text-xs text-faint">{event.domain.record_type}</span>
              </Link>
              <span className="col-span-2 row-start-2 flex sm:col-span-1 sm:row-start-auto">
                <StateChange event={event} />
              </span>
              <span className="text-right text-xs text-faint max-sm:col-start-2 max-sm:row-start-1">
                <Time at={event.occurred} />
              </span>
            </li>
          ))}
        </ol>
      )}
    </Section>
  )
}
