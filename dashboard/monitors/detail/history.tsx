import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { History } from 'lucide-react'
import type { Event } from '#contract/events.ts'
import { plural } from '#contract/wording.ts'
import { StateChange, ValueDiff } from '../../events/event-change.tsx'
import { Button } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Section, Skeleton } from '../../ui/page.tsx'
import { ProblemNote, ProblemPage } from '../../ui/problem.tsx'
import { Time } from '../../ui/time.tsx'
import { historyQuery, type MonitorDetails } from '../queries.ts'

export function MonitorHistory({ monitor }: { monitor: MonitorDetails }) {
  const { data, error, isPending, isFetchingNextPage, hasNextPage, fetchNextPage, refetch } = useInfiniteQuery(
    historyQuery(monitor.id),
  )
  const events = data?.pages.flatMap((page) => page.data) ?? []
  return (
    <Section title="History" hint={events.length > 0 && hintOf(monitor.incidence_count)} isFlush>
      {isPending && <Skeleton lines={4} className="p-4" />}
      {!data && error && <ProblemPage problem={error} onRetry={() => void refetch()} />}
      {data && events.length === 0 && (
        <EmptyState icon={History} title="No events yet">
          The first completed check creates the first event. Each confirmed change adds one.
        </EmptyState>
      )}
      <ol className="divide-y divide-line">
        {events.map((event) => (
          <Line key={event.id} event={event} />
        ))}
      </ol>
      {data && error && (
        <div className="border-t border-line p-4">
          <ProblemNote problem={error} />
        </div>
      )}
      {hasNextPage && (
        <div className="border-t border-line px-4 py-2.5">
          <Button size="sm" isBusy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            Load more
          </Button>
        </div>
      )}
    </Section>
  )
}

function hintOf(count: number): string {
  const changes = plural(count, '1 change.', (number) => `${number} changes.`)
  return `${count === 0 ? 'No changes.' : changes} The first result of a new monitor or of new expected values is not counted.`
}

function Line({ event }: { event: Event }) {
  return (
    <li className="relative grid gap-x-6 gap-y-1.5 px-4 py-3 hover:bg-canvas md:grid-cols-[11rem_15rem_minmax(0,1fr)]">
      <div className="relative z-10 w-fit text-xs leading-5 text-faint">
        <Time at={event.occurred} isExact />
      </div>
      <Link
        from="/monitors/$monitor"
        to="."
        search={(search) => ({ ...search, event: event.id })}
        resetScroll={false}
        // The link covers the whole line. The time is above it, for its tooltip.
        className="w-fit rounded-sm leading-5 after:absolute after:inset-0"
      >
        <StateChange event={event} />
        <span className="sr-only">: show the evidence</span>
      </Link>
      <ValueDiff event={event} maxLines={6} />
    </li>
  )
}
