import type { LoggedRequest } from '#contract/dashboard.ts'
import type { NotifiedEvent } from './queries.ts'

/** Shorter runs are listed one by one. */
const MIN_RUN = 4

export type LogRow = { kind: 'one'; request: LoggedRequest } | { kind: 'first results'; requests: LoggedRequest[] }

/** Joins consecutive delivered first results into one row, because an import creates hundreds of them. */
export function groupFirstResults(
  requests: readonly LoggedRequest[],
  eventOf: (event: string) => Pick<NotifiedEvent, 'old_state'> | undefined,
): LogRow[] {
  const isFirst = ({ event_id, status, events }: LoggedRequest) =>
    status === 'DELIVERED' && events === undefined && event_id !== null && eventOf(event_id)?.old_state === 'UNSET'
  const rows: LogRow[] = []
  for (let start = 0; start < requests.length; ) {
    let end = start
    while (end < requests.length && isFirst(requests[end]!)) end++
    const run = requests.slice(start, Math.max(end, start + 1))
    if (run.length >= MIN_RUN) rows.push({ kind: 'first results', requests: run })
    else rows.push(...run.map((request) => ({ kind: 'one', request }) as const))
    start += run.length
  }
  return rows
}
