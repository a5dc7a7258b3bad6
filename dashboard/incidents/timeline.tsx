import { useInfiniteQuery } from '@tanstack/react-query'
import type { IncidentEntry } from '#contract/incidents.ts'
import { visible } from '#contract/visible-text.ts'
import { Button } from '../ui/button.tsx'
import { Skeleton } from '../ui/page.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { fullTime, Time } from '../ui/time.tsx'
import { entryDetail, entryTitle } from './incident-text.ts'
import { incidentEntriesQuery } from './queries.ts'

/** Who was notified, what people did and planned, and who recovered: newest first. */
export function IncidentTimeline({ id }: { id: string }) {
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(incidentEntriesQuery(id))
  if (error && !data) return <ProblemNote problem={error} />
  if (!data) return <Skeleton lines={3} />
  const entries = data.pages.flatMap((page) => page.data)
  if (entries.length === 0) return <p className="text-sm text-faint">No entries yet.</p>
  return (
    <>
      <ol aria-label="Timeline" className="flex flex-col gap-3 border-l border-line pl-4 text-sm">
        {entries.map((entry) => (
          <Entry key={entry.id} entry={entry} />
        ))}
      </ol>
      {hasNextPage && (
        <Button size="sm" className="mt-3" isBusy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Load more
        </Button>
      )}
    </>
  )
}

function Entry({ entry }: { entry: IncidentEntry }) {
  const detail = entryDetail(entry, fullTime)
  return (
    <li className="relative before:absolute before:top-1.5 before:-left-[1.2rem] before:size-1.5 before:rounded-full before:bg-idle">
      <p className="break-words">{visible(entryTitle(entry))}</p>
      {detail !== null && <p className="break-words whitespace-pre-wrap text-soft">{visible(detail)}</p>}
      <p className="text-xs text-faint">
        <Time at={entry.occurred} isExact />
      </p>
    </li>
  )
}
