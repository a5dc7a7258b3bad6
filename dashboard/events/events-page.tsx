import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Activity, Download, ListFilter, Plus } from 'lucide-react'
import { useEffect, useRef } from 'react'
import type { Event } from '#contract/events.ts'
import { plural } from '#contract/wording.ts'
import { organizationUrl } from '../api.ts'
import { useOverview } from '../monitors/list/overview.ts'
import { useSession } from '../session.tsx'
import { Button, ButtonAnchor, ButtonLink } from '../ui/button.tsx'
import { cx } from '../ui/class-names.ts'
import { EmptyState } from '../ui/empty-state.tsx'
import { Page, Section } from '../ui/page.tsx'
import { ProblemPage } from '../ui/problem.tsx'
import { Pager } from '../ui/table.tsx'
import { dayText, groupByDay } from './days.ts'
import { EventLine } from './event-line.tsx'
import { EventFilters } from './events-filters.tsx'
import { type EventSearch, eventsQuery, filtersOf } from './events-query.ts'
import { FirstResults } from './first-results.tsx'

export function EventsPage() {
  const search = useSearch({ from: '/signed-in/events' })
  const navigate = useNavigate({ from: '/events' })
  const show = (next: EventSearch) => void navigate({ search: next, resetScroll: false })
  const { group, old, new: next, since, until } = search
  const firstResults = useOverview()?.first_results
  const filters = { group, old, new: next, since, until } as EventSearch
  return (
    <Page
      title="Events"
      help="reference/states#changes-of-state"
      lead="Confirmed changes of all monitors, newest first."
      actions={
        <ButtonAnchor href={organizationUrl('/dashboard/api/events.csv', filtersOf(search))} download>
          <Download /> Export CSV
        </ButtonAnchor>
      }
    >
      <EventFilters search={search} onChange={show} />
      <Section isFlush className="overflow-hidden">
        {firstResults && Object.keys(search).length === 0 && <FirstResults results={firstResults} />}
        <Feed
          search={search}
          onPage={(cursor) => void navigate({ search: { ...filters, ...cursor } })}
          onClear={() => show({})}
        />
      </Section>
    </Page>
  )
}

type FeedProps = {
  search: EventSearch
  onPage: (cursor: Pick<EventSearch, 'after' | 'before'>) => void
  onClear: () => void
}

function Feed({ search, onPage, onClear }: FeedProps) {
  const { data: page, error, isPending, isPlaceholderData, refetch } = useQuery(eventsQuery(search))
  const { isNew, announcement } = useNewEvents(isPlaceholderData ? undefined : page?.data, JSON.stringify(search))
  if (isPending) return <FeedSkeleton />
  if (!page) {
    return (
      <ProblemPage problem={error} onRetry={() => void refetch()}>
        {(search.after ?? search.before) && <Button onClick={() => onPage({})}>Show newest events</Button>}
      </ProblemPage>
    )
  }
  if (page.data.length === 0) {
    return Object.keys(search).length === 0 ? <NoEvents /> : <NoMatches onClear={onClear} />
  }
  return (
    <>
      <p role="status" className="sr-only">
        {announcement}
      </p>
      <div className={cx('transition-opacity delay-200', isPlaceholderData && 'opacity-50')}>
        {groupByDay(page.data).map(({ day, items }) => (
          <section key={day} aria-labelledby={`day-${day}`} className="border-line not-first:border-t">
            <h2 id={`day-${day}`} className="border-b border-line bg-canvas px-4 py-1.5 text-xs font-medium text-soft">
              {dayText(day, Date.now())}
            </h2>
            <ol className="divide-y divide-line">
              {items.map((event) => (
                <EventLine key={event.id} event={event} isNew={isNew(event.id)} />
              ))}
            </ol>
          </section>
        ))}
      </div>
      <Pager page={page} onAfter={(after) => onPage({ after })} onBefore={(before) => onPage({ before })} />
    </>
  )
}

/** The events that arrived while this list was on the page. */
function useNewEvents(events: readonly Event[] | undefined, list: string) {
  const seen = useRef<{ list: string; ids: Set<string> }>(undefined)
  const known = seen.current?.list === list ? seen.current.ids : undefined
  const isNew = (id: string) => known !== undefined && !known.has(id)
  const count = events?.filter(({ id }) => isNew(id)).length ?? 0
  useEffect(() => {
    if (!events) return
    const ids = events.map(({ id }) => id)
    if (seen.current?.list === list) for (const id of ids) seen.current.ids.add(id)
    else seen.current = { list, ids: new Set(ids) }
  }, [events, list])
  return { isNew, announcement: count === 0 ? '' : plural(count, '1 new event.', (number) => `${number} new events.`) }
}

function FeedSkeleton() {
  return (
    <div role="status" aria-label="Loading" className="divide-y divide-line">
      {[0, 1, 2, 3, 4, 5, 6, 7].map((line) => (
        <div key={line} className="flex gap-4 px-4 py-3.5">
          <div className="skeleton h-4 w-11" />
          <div className="skeleton h-4 w-56" />
          <div className="skeleton ml-auto h-4 w-64 max-sm:hidden" />
        </div>
      ))}
    </div>
  )
}

function NoEvents() {
  const { can } = useSession()
  return (
    <EmptyState
      icon={Activity}
      title="No events yet"
      action={
        can('write') && (
          <ButtonLink to="/monitors/new" variant="primary">
            <Plus /> New monitor
          </ButtonLink>
        )
      }
    >
      Zonewatch lists each confirmed change of state or values here and sends it to the webhooks of the monitor’s group.
      First results are sent too, and listed separately.
    </EmptyState>
  )
}

function NoMatches({ onClear }: { onClear: () => void }) {
  return (
    <EmptyState icon={ListFilter} title="No matching events" action={<Button onClick={onClear}>Clear filters</Button>}>
      No events match these filters. Change or clear them.
    </EmptyState>
  )
}
