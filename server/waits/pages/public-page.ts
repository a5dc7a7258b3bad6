import { adviceFor, customerStepsOf } from '#contract/advice.ts'
import type { PublicPage, PublicRecord, RecordState } from '#contract/setup-pages.ts'
import type { Database } from '../../database/database.ts'
import { readDiagnosis } from '../../monitors/diagnosis.ts'
import { lastCheckedAt } from '../../monitors/last-round.ts'
import { notFound } from '../../problem.ts'
import { toIsoOrNull } from '../../times.ts'
import { hintsOf, providerOf, stepsOf } from '../providers.ts'
import { getPageByToken } from '../setup-pages.ts'

/** Seconds. Short, so that a mistake can be corrected soon. */
const TTL = 3_600

const MAX_FOUND_VALUES = 20

/** The name of the organization and the records of the page. Throws `not_found`. */
export async function readPublicPage(db: Database, token: string, now: number): Promise<PublicPage> {
  const { organization_id, id, organization, logo } = await getPageByToken(db, token, now)
  const monitors = await monitorsOfPage(db, organization_id, id)
  if (monitors.length === 0) throw notFound()
  const records = monitors.map(toRecord)
  return { organization, logo, ttl: TTL, is_done: records.every(({ state }) => state === 'valid'), records }
}

/** The last result of the wait worker, or of the regular checks after the wait ended. */
type Result = { state: string; values: string[]; unexpected: string[] }
/** The zone that the wait worker found. Still used after the wait ended. */
type Zone = { zone: string | null; nameServers: string[] }

function toRecord(monitor: PageMonitor): PublicRecord {
  const waitResult: (Result & Zone) | null = monitor.seen === null ? null : JSON.parse(monitor.seen)
  const isWaiting = monitor.ended_at === null
  const result = isWaiting ? waitResult : regularResult(monitor)
  const zone = zoneName(monitor, waitResult)
  const isApex = monitor.owner === zone
  const host = isApex ? '@' : monitor.owner.slice(0, -zone.length - 1)
  const provider = providerOf(waitResult?.nameServers ?? [])
  const state = recordState(monitor, result)
  const isValid = state === 'valid'
  const expected: string[] = JSON.parse(monitor.expected_values)
  const current: string[] = monitor.current_values === null ? [] : JSON.parse(monitor.current_values)
  return {
    host,
    name: monitor.owner,
    zone,
    type: monitor.record_type === 'SPF' ? 'TXT' : monitor.record_type,
    values: expected.map((value) => splitPriority(monitor.record_type, value)),
    state,
    found: isValid || result === null ? current.slice(0, MAX_FOUND_VALUES) : foundValues(result),
    unexpected: isValid ? [] : (result?.unexpected ?? []),
    has_other_records: monitor.is_exact_match === 0,
    checked: toIsoOrNull(isWaiting ? monitor.seen_at : monitor.last_checked_at),
    provider: provider ? { name: provider.name, url: provider.url, steps: stepsOf(provider, zone, isApex) } : null,
    advice: isValid || state === 'found' ? [] : adviceSteps(monitor, result),
    notes: hintsOf(provider, monitor.record_type, isApex),
  }
}

/** The stored verdict of several SPF or DMARC records. */
type Verdict = { code?: string; params?: { observed?: string[]; unexpected?: string[] } }

/** Null before the first regular check. */
function regularResult({ state, expected_values, current_values, diagnosis }: PageMonitor): Result | null {
  if (state === 'UNSET') return null
  const { code, params }: Verdict = (diagnosis === null ? null : JSON.parse(diagnosis).verdict) ?? {}
  // Not the values of the monitor, but the records that the customer has to change.
  if (state === 'BAD_SETUP' && (code === 'several_spf_records' || code === 'several_dmarc_records'))
    return { state, values: params?.observed ?? [], unexpected: params?.unexpected ?? [] }
  const expected: string[] = JSON.parse(expected_values)
  const values: string[] = current_values === null || state === 'BAD_SETUP' ? [] : JSON.parse(current_values)
  return { state, values, unexpected: values.filter((value) => !expected.includes(value)) }
}

/** Of the last regular check, unless the customer has changed the record since. */
function adviceSteps({ state, current_values, diagnosis }: PageMonitor, result: Result | null): string[] {
  if (diagnosis === null || state !== result?.state) return []
  if (state === 'MISMATCH' && current_values !== JSON.stringify(result.values)) return []
  const { verdict, warnings } = readDiagnosis(diagnosis)
  const advice = adviceFor(verdict, warnings)
  return advice ? customerStepsOf(advice) : []
}

/** Null if the lookup failed. */
function foundValues({ state, values }: Result): string[] | null {
  const isUnknown = state === 'TIMEOUT' || state === 'INVALID' || (state === 'BAD_SETUP' && values.length === 0)
  return isUnknown ? null : values.slice(0, MAX_FOUND_VALUES)
}

function zoneName({ owner, domain }: PageMonitor, found: Zone | null): string {
  const zone = found?.zone ?? ''
  const isInZone = zone !== '' && zone.includes('.') && (owner === zone || owner.endsWith(`.${zone}`))
  if (isInZone) return zone
  // A domain without DNS has no zone yet: its records belong to the registered domain.
  return owner === domain || owner.endsWith(`.${domain}`) ? domain : owner
}

function recordState(monitor: PageMonitor, result: Result | null): RecordState {
  if (monitor.state === 'VALID') return 'valid'
  if (monitor.result === 'timed_out') return 'timed_out'
  if (result?.state === 'VALID') return 'found'
  return result?.state === 'MISMATCH' || result?.state === 'BAD_SETUP' ? 'wrong' : 'waiting'
}

/** Providers have a separate field for the priority of an MX record. */
function splitPriority(type: string, value: string) {
  const [, priority, host] = (type === 'MX' && /^(\d+) (\S+)$/.exec(value)) || []
  return host === undefined ? { value, priority: null } : { value: host, priority: priority! }
}

type PageMonitor = Awaited<ReturnType<typeof monitorsOfPage>>[number]

/** In the order of creation. */
function monitorsOfPage(db: Database, organizationId: string, pageId: string) {
  return db
    .selectFrom('waits')
    .innerJoin('monitors', 'monitors.id', 'waits.monitor_id')
    .innerJoin('due_checks', 'due_checks.slot', 'monitors.slot')
    .select(['monitors.domain', 'monitors.subdomain', 'monitors.owner', 'monitors.record_type', 'monitors.state'])
    .select(['monitors.expected_values', 'monitors.is_exact_match', 'monitors.current_values'])
    .select('monitors.diagnosis')
    .select(['waits.result', 'waits.ended_at', 'waits.seen', 'waits.seen_at'])
    .select(lastCheckedAt.as('last_checked_at'))
    .where('waits.organization_id', '=', organizationId)
    .where('monitors.organization_id', '=', organizationId)
    .where('waits.page_id', '=', pageId)
    .orderBy('waits.monitor_id')
    .execute()
}
