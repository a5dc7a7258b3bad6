import { Readable } from 'node:stream'
import type { Event, EventQuery } from '#contract/events.ts'
import type { Tenant } from '../context.ts'
import type { Deps } from '../deps.ts'
import { listEvents } from '../events/list.ts'
import { csvText } from '../http/csv.ts'
import type { Page } from '../http/pagination.ts'

/** Events of one download, and of one page of it. */
const MOST = 100_000
const AT_ONCE = 500

const COLUMNS = [
  'occurred',
  'name',
  'record_type',
  'old_state',
  'new_state',
  'previous_value',
  'current_value',
  'expected_value',
  'is_exact_match',
  'incidence_count',
  'event_id',
  'monitor_id',
]

export type EventsQuery = Omit<EventQuery, 'after' | 'before' | 'limit'> & { is_change?: boolean }

/**
 * The events as RFC 4180 text, page by page as the reader takes it. Throws what the list throws before the first line.
 * `most`: events after which it ends, with a line that says so.
 */
export async function eventsCsv(
  { db, seal }: Pick<Deps, 'db' | 'seal'>,
  tenant: Tenant,
  { is_change: isChange = false, ...query }: EventsQuery,
  most = MOST,
): Promise<Readable> {
  const read = (limit: number, after?: string) =>
    listEvents(db, seal, tenant, { ...query, limit, ...(after === undefined ? {} : { after }) }, { isChange })
  const first = await read(Math.min(AT_ONCE, most))
  return Readable.from(lines(first, read, most), { objectMode: false, highWaterMark: 65_536 })
}

async function* lines(
  first: Page<Event>,
  read: (limit: number, after: string) => Promise<Page<Event>>,
  most: number,
): AsyncGenerator<string> {
  yield csvText([COLUMNS])
  let left = most
  for (let page = first; ; page = await read(Math.min(AT_ONCE, left), page.after!)) {
    if (page.data.length > 0) yield csvText(page.data.map(cellsOf))
    left -= page.data.length
    if (page.after === null) return
    if (left <= 0) {
      yield csvText([[`The export is limited to ${most} events. Choose a shorter period.`]])
      return
    }
  }
}

function cellsOf({ domain, ...event }: Event): unknown[] {
  return [
    event.occurred,
    [domain.subdomain, domain.domain].filter((part) => part !== '').join('.'),
    domain.record_type,
    event.old_state,
    event.new_state,
    event.previous_value?.join('\n'),
    event.current_value?.join('\n'),
    domain.expected_value.join('\n'),
    domain.is_exact_match,
    event.incidence_count,
    event.id,
    event.monitor_id,
  ]
}
