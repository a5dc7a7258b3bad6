import type { Readable } from 'node:stream'
import type { Event, EventQuery } from '#contract/events.ts'
import { recordName } from '#contract/wording.ts'
import type { Tenant } from '../context.ts'
import type { Deps } from '../deps.ts'
import { streamCsv } from '../http/csv.ts'
import { listEvents } from './store.ts'

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

/** The events as CSV (RFC 4180). Throws what `listEvents` throws. After `maxRows` events, it ends with a line that says so. */
export const eventsCsv = (
  { db, keyring }: Pick<Deps, 'db' | 'keyring'>,
  tenant: Tenant,
  { is_change: isChange = false, ...query }: EventsQuery,
  maxRows?: number,
): Promise<Readable> =>
  streamCsv({
    columns: COLUMNS,
    cellsOf,
    readPage: (limit, after) =>
      listEvents(db, keyring, tenant, { ...query, limit, ...(after === undefined ? {} : { after }) }, { isChange }),
    maxRows,
    limitNote: (maxRows) => `The export is limited to ${maxRows} events. Choose a shorter period.`,
  })

function cellsOf({ domain, ...event }: Event): unknown[] {
  return [
    event.occurred,
    recordName(domain),
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
