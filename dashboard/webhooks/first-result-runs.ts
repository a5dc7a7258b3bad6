import type { LoggedRequest } from '#contract/dashboard.ts'
import type { NotifiedEvent } from './queries.ts'

/** Fewer first results in a row are listed one by one. */
const LEAST = 4

export type LogLine = { kind: 'one'; request: LoggedRequest } | { kind: 'first results'; requests: LoggedRequest[] }

/** Puts first results that were delivered one after the other into one line: an import makes hundreds of them. */
export function linesOf(
  requests: readonly LoggedRequest[],
  eventOf: (event: string) => Pick<NotifiedEvent, 'old_state'> | undefined,
): LogLine[] {
  const isFirst = ({ event_id, status, events }: LoggedRequest) =>
    status === 'DELIVERED' && events === undefined && event_id !== null && eventOf(event_id)?.old_state === 'UNSET'
  const lines: LogLine[] = []
  for (let at = 0; at < requests.length; ) {
    let end = at
    while (end < requests.length && isFirst(requests[end]!)) end++
    const run = requests.slice(at, Math.max(end, at + 1))
    if (run.length >= LEAST) lines.push({ kind: 'first results', requests: run })
    else lines.push(...run.map((request) => ({ kind: 'one', request }) as const))
    at += run.length
  }
  return lines
}
