import type { PublicPage, PublicRecord, RecordState } from '#contract/setup-pages.ts'
import type { Database } from '../database/database.ts'
import { isoOrNull } from '../http/times.ts'
import { getPageByToken, monitorsOfPage, type PageMonitor } from '../monitors/setup-pages.ts'
import { notFound } from '../problem.ts'
import { hintsOf, providerOf, stepsOf } from './providers.ts'

/** Seconds. Short enough to correct a mistake soon. */
const TTL = 3_600

const MOST_FOUND = 20

/** What the link shows: the name of the organization, and of its monitors those of this page. Throws `not_found`. */
export async function readPublicPage(db: Database, token: string, now: number): Promise<PublicPage> {
  const { organization_id, id, organization, logo } = await getPageByToken(db, token, now)
  const monitors = await monitorsOfPage(db, organization_id, id)
  if (monitors.length === 0) throw notFound()
  const records = monitors.map(toRecord)
  return { organization, logo, ttl: TTL, is_done: records.every(({ state }) => state === 'valid'), records }
}

/** What the loop that asks the name servers wrote, or the regular checks after it ended. */
type Seen = {
  state: string
  values: string[]
  unexpected: string[]
}
/** What the loop knows of the zone stays true. */
type SeenZone = { zone: string | null; nameServers: string[] }

function toRecord(monitor: PageMonitor): PublicRecord {
  const looked: (Seen & SeenZone) | null = monitor.seen === null ? null : JSON.parse(monitor.seen)
  const isOpen = monitor.ended_at === null
  const seen = isOpen ? looked : checkedOf(monitor)
  const zone = zoneOf(monitor, looked)
  const isApex = monitor.owner === zone
  const host = isApex ? '@' : monitor.owner.slice(0, -zone.length - 1)
  const provider = providerOf(looked?.nameServers ?? [])
  const state = stateOf(monitor, seen)
  const isValid = state === 'valid'
  const expected: string[] = JSON.parse(monitor.expected_values)
  const current: string[] = monitor.current_values === null ? [] : JSON.parse(monitor.current_values)
  return {
    host,
    name: monitor.owner,
    zone,
    type: monitor.record_type === 'SPF' ? 'TXT' : monitor.record_type,
    values: expected.map((value) => entryOf(monitor.record_type, value)),
    state,
    found: isValid || seen === null ? current.slice(0, MOST_FOUND) : foundBy(seen),
    unexpected: isValid ? [] : (seen?.unexpected ?? []),
    has_other_records: monitor.is_exact_match === 0,
    checked: isoOrNull(isOpen ? monitor.seen_at : monitor.last_checked_at),
    provider: provider ? { name: provider.name, url: provider.url, steps: stepsOf(provider, zone, isApex) } : null,
    notes: hintsOf(provider, monitor.record_type, isApex),
  }
}

/** As it is stored, of several SPF records. */
type Verdict = { code?: string; params?: { observed?: string[]; unexpected?: string[] } }

/** After the wait only the regular checks look. Null before the first of them. */
function checkedOf({ state, expected_values, current_values, diagnosis }: PageMonitor): Seen | null {
  if (state === 'UNSET') return null
  const { code, params }: Verdict = (diagnosis === null ? null : JSON.parse(diagnosis).verdict) ?? {}
  // No values of the monitor, but what the customer has to change.
  if (state === 'BAD_SETUP' && code === 'several_spf_records')
    return { state, values: params?.observed ?? [], unexpected: params?.unexpected ?? [] }
  const expected: string[] = JSON.parse(expected_values)
  const values: string[] = current_values === null || state === 'BAD_SETUP' ? [] : JSON.parse(current_values)
  return { state, values, unexpected: values.filter((value) => !expected.includes(value)) }
}

/** Null after a failure: it says nothing of the records. */
function foundBy({ state, values }: Seen): string[] | null {
  const isUnknown = state === 'TIMEOUT' || state === 'INVALID' || (state === 'BAD_SETUP' && values.length === 0)
  return isUnknown ? null : values.slice(0, MOST_FOUND)
}

function zoneOf({ owner, domain }: PageMonitor, seen: SeenZone | null): string {
  const zone = seen?.zone ?? ''
  const isInZone = zone !== '' && zone.includes('.') && (owner === zone || owner.endsWith(`.${zone}`))
  if (isInZone) return zone
  // Names without DNS yet are entered in the zone of the registered domain.
  return owner === domain || owner.endsWith(`.${domain}`) ? domain : owner
}

function stateOf({ state, result }: PageMonitor, seen: Seen | null): RecordState {
  if (state === 'VALID') return 'valid'
  if (result === 'timed_out') return 'timed_out'
  if (seen?.state === 'VALID') return 'found'
  return seen?.state === 'MISMATCH' || seen?.state === 'BAD_SETUP' ? 'wrong' : 'waiting'
}

/** Providers have a field of its own for the priority. */
function entryOf(type: string, value: string) {
  const [, priority, host] = (type === 'MX' && /^(\d+) (\S+)$/.exec(value)) || []
  return host === undefined ? { value, priority: null } : { value: host, priority: priority! }
}
