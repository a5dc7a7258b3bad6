import type { MonitorRecordType } from '#contract/record-types.ts'
import { FIRST_INTERVAL_SECONDS, WAIT_HOURS } from '#contract/setup-pages.ts'
import { type MonitorQuery, monitorQueryFor, queryNameServer, withQueryBudget } from '../../checks/monitor-query.ts'
import { type Expectation, evaluate, type VerdictState } from '../../checks/verdict.ts'
import type { DnsClient } from '../../dns/client.ts'
import type { AuthoritativeClient } from '../../dns/resolver/authoritative-client.ts'
import { OverloadError } from '../../dns/semaphore.ts'
import { recordTypeOf } from '../../record-types/record-types.ts'
import { truncate } from '../../text.ts'
import { QUERY_SPACING_MS } from '../waits.ts'

/** A quick check: between its regular checks, a monitor with `until` queries one of the zone's name servers. */

const FIRST_MS = FIRST_INTERVAL_SECONDS * 1_000
const WAIT_MS = WAIT_HOURS * 60 * 60_000
/** A quick check that finds the records makes the regular check due, at most this often. */
const MIN_CONFIRMATION_INTERVAL_MS = 60_000
/** Of a quick check, with those for the addresses of name servers. After more queries the next quick check is later. */
const USUAL_QUERIES = 20

/**
 * The delay before the next quick check: 15 seconds at first, growing to the monitor's regular interval after 72 hours. Longer
 * if many monitors of the organization wait, and after many queries, which a hostile zone could cause.
 */
export function nextQuickCheckIn({
  ageMs,
  frequency,
  open,
  queries,
  isConfirming,
}: {
  ageMs: number
  /** Minutes. */
  frequency: number
  /** How many monitors of the organization wait. */
  open: number
  /** Of the last quick check. */
  queries: number
  /** The last quick check found the records. */
  isConfirming: boolean
}): number {
  const share = Math.min(1, Math.max(0, ageMs / WAIT_MS))
  const planned = FIRST_MS * ((frequency * 60_000) / FIRST_MS) ** share
  const spaced = Math.max(planned, open * QUERY_SPACING_MS)
  const costly = spaced * Math.max(1, queries / USUAL_QUERIES)
  return Math.ceil(Math.max(costly, isConfirming ? MIN_CONFIRMATION_INTERVAL_MS : 0))
}

/** As stored in `waits.seen`. `zone`: the one that contains the name; null if no name server answered. */
export type QuickCheckResult = {
  state: VerdictState
  values: string[]
  unexpected: string[]
  zone: string | null
  nameServers: string[]
}

export type QuickCheckDeps = { dns: DnsClient; authoritativeClient?: AuthoritativeClient | undefined }

/** Every 20th quick check follows the delegation again, which sends queries to the parent zones. */
const FRESH_EVERY = 20
const CHAIN_TIMEOUT_MS = 4_000
const MAX_STORED_VALUES = 10
const MAX_CHARACTERS = 1_000

/**
 * Queries one of the zone's name servers, another one each time, or the resolvers if no name server can be reached.
 * `number`: how many quick checks there were before. `seen`: undefined if too many queries were waiting, or were needed.
 */
export async function quickCheck(
  expectation: Expectation,
  deps: QuickCheckDeps,
  number: number,
  signal: AbortSignal,
): Promise<{ seen: QuickCheckResult | undefined; queries: number }> {
  const query = monitorQueryFor(expectation)
  const { authoritativeClient, budget } = withQueryBudget(deps)
  try {
    if (authoritativeClient && !(await authoritativeClient.findRootProblem())) {
      const bounded: MonitorQuery = (dns, options) => query(dns, { totalTimeoutMs: CHAIN_TIMEOUT_MS, ...options })
      const reply = await queryNameServer(
        authoritativeClient,
        bounded,
        { server: number, fresh: number % FRESH_EVERY === FRESH_EVERY - 1 },
        signal,
      )
      if (reply.isBusy) return { seen: undefined, queries: budget.spent }
      const { outcome, zone, nameServers } = reply
      return { seen: resultOf(expectation, outcome, zone, nameServers), queries: budget.spent }
    }
    const { outcome, evidence } = await query(deps.dns, { attempts: 1, signal })
    const zone = await zoneByResolvers(deps.dns, expectation.owner, signal)
    const seen = resultOf(expectation, outcome, zone?.name ?? null, zone?.nameServers ?? [])
    return { seen, queries: evidence.length }
  } catch (error) {
    if (error instanceof OverloadError) return { seen: undefined, queries: budget.spent }
    throw error
  }
}

function resultOf(
  expectation: Expectation,
  outcome: Parameters<typeof evaluate>[1],
  zone: string | null,
  nameServers: readonly string[],
): QuickCheckResult {
  const { state, values, reason } = evaluate(expectation, outcome)
  const { params } = reason
  return {
    state,
    // Several SPF records are an error without values, but the customer has to see them.
    values: limitValues(values ?? ('observed' in params ? params.observed : [])),
    unexpected: limitValues('unexpected' in params ? params.unexpected : []),
    zone,
    nameServers: limitValues(nameServers),
  }
}

const limitValues = (values: readonly string[]) =>
  values.slice(0, MAX_STORED_VALUES).map((text) => truncate(text, MAX_CHARACTERS))

/** The nearest ancestor with NS records. Resolvers have them in their caches. */
async function zoneByResolvers(dns: DnsClient, owner: string, signal: AbortSignal) {
  const labels = owner.split('.')
  for (let from = 0; from < Math.min(labels.length - 1, 5); from++) {
    const name = labels.slice(from).join('.')
    const { outcome } = await dns.query({ name, type: 'NS' }, { attempts: 1, signal })
    if (outcome.kind === 'answer' && outcome.chain.length === 0) return { name, nameServers: outcome.rrset.values }
  }
  return undefined
}

/** The expectation of a monitor's row. */
export const expectationOf = (row: {
  owner: string
  record_type: string
  is_exact_match: 0 | 1
  expected_values: string
}): Expectation => ({
  owner: row.owner,
  recordType: recordTypeOf(row.record_type as MonitorRecordType),
  isExactMatch: row.is_exact_match === 1,
  expectedValues: JSON.parse(row.expected_values),
})
