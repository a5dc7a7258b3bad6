import type { MonitorRecordType } from '#contract/record-types.ts'
import type { Clock } from '../clock.ts'
import type { Claim } from '../database/lease-queue.ts'
import type { DnsClient } from '../dns/client.ts'
import type { NetworkCheck } from '../dns/network-check.ts'
import type { Outcome, Reply } from '../dns/outcome.ts'
import type { AuthoritativeClient, AuthoritativeReply } from '../dns/resolver/authoritative-client.ts'
import type { RootProblem } from '../dns/resolver/root-servers.ts'
import { OverloadError } from '../dns/semaphore.ts'
import { recordTypeOf } from '../monitors/record-types/record-types.ts'
import type { OpenChange, ServerAnswer } from '../planned-changes/planned-change.ts'
import type { Instant, NameServerReply, Observation, Query, Recorded, Step } from './check.ts'
import { parseStoredFingerprint } from './fingerprint.ts'
import { type MonitoredName, type MonitorQuery, monitorQueryFor, queryNameServer } from './lookup.ts'
import { isUsable } from './outcomes.ts'
import { queryEveryServer } from './propagation.ts'
import { decide, isAsRecorded } from './state-machine.ts'
import { evaluate } from './verdict.ts'

/** Without `authoritativeClient` the resolvers decide alone; without `canaries` our own network is trusted. */
export type CheckDeps = {
  dns: DnsClient
  clock: Clock
  authoritativeClient?: AuthoritativeClient | undefined
  networkCheck?: NetworkCheck | undefined
}

/** The result of one check. `observations`: all queries, in order. */
export type CheckFinding =
  | (Exclude<Step, { kind: 'query' | 'unchanged' }> & { observations: Observation[] })
  | { kind: 'unchanged' }
  /** Nothing: so many queries wait for the resolvers that there would have been no answer in time. */
  | { kind: 'postponed'; afterMs: number }
  /** The monitor was deleted meanwhile. */
  | { kind: 'deleted' }

/** What a check came to, and the monitor's row as it was when that was decided. */
export type CheckResult<Row = unknown> = {
  claim: Claim<'due_checks'>
  at: number
  row?: Row
  /** Of a monitor with a planned change: the change, and what was expected by it. */
  planned?: PlannedFinding
} & CheckFinding

/** `outcome`: what the check found, where it is certain. `seen`: what each server answers, where the period has begun. */
export type PlannedFinding = {
  change: OpenChange
  recorded: Recorded
  outcome?: Outcome | undefined
  seen?: ServerAnswer[]
}

/** What is recorded of a monitor. `planned`: its change that is open. */
export type LoadedMonitor<Row> = { recorded: Recorded; row: Row; planned?: OpenChange | undefined }

/** Less than the lease may pass before the first query is sent, so that the check ends within it. */
const FIRST_QUERY_OPTIONS = { maxWaitMs: 5_000 }

/**
 * One check of one claimed monitor. `load` reads what is recorded, and is called only where the first answer differs. Rejects
 * only when the DNS client is closed or `signal` is aborted.
 */
export async function runCheck<Row>(
  claim: Claim<'due_checks'>,
  deps: CheckDeps,
  load: (claim: Claim<'due_checks'>) => Promise<LoadedMonitor<Row> | undefined>,
  signal: AbortSignal,
): Promise<CheckResult<Row>> {
  const lookup = monitorQueryFor(monitoredNameOf(claim))
  try {
    const first = await lookup(deps.dns, FIRST_QUERY_OPTIONS)
    if (isUsable(first.outcome)) deps.networkCheck?.noteAnswer()
    const { recorded: fingerprint, isRotating } = parseStoredFingerprint(claim.fingerprint)
    const isKnown = isAsRecorded({ fingerprint, isRotating, inconclusiveCount: claim.inconclusive_count }, first)
    if (isKnown && claim.planned_change_id === null) return { claim, at: deps.clock.now(), kind: 'unchanged' }
    const loaded = await load(claim)
    if (!loaded) return { claim, at: deps.clock.now(), kind: 'deleted' }
    const { recorded, row, planned } = loaded
    if (planned) return await checkPlanned(claim, deps, { recorded, row, planned }, { lookup, first, isKnown }, signal)
    if (isKnown) return { claim, at: deps.clock.now(), row, kind: 'unchanged' }
    const finding = await confirm(recorded, lookup, first, deps, signal)
    return { claim, at: deps.clock.now(), row, ...finding }
  } catch (error) {
    if (!(error instanceof OverloadError)) throw error
    return { claim, at: deps.clock.now(), kind: 'postponed', afterMs: error.retryInMs }
  }
}

type StartedCheck = { lookup: MonitorQuery; first: Reply; isKnown: boolean }

/** A check of a monitor with a planned change. Within its period it also notes what each server answers. */
async function checkPlanned<Row>(
  claim: Claim<'due_checks'>,
  deps: CheckDeps,
  { recorded, row, planned }: Required<Pick<LoadedMonitor<Row>, 'recorded' | 'row'>> & { planned: OpenChange },
  { lookup, first, isKnown }: StartedCheck,
  signal: AbortSignal,
): Promise<CheckResult<Row>> {
  const { change } = recorded
  // Where the known outcome means something else now, it is confirmed as a new one is.
  const isAsBefore = isKnown && evaluate(recorded, first.outcome).state === recorded.state
  const finding: CheckFinding = isAsBefore
    ? { kind: 'unchanged' }
    : await confirm(isKnown ? { ...recorded, fingerprint: null } : recorded, lookup, first, deps, signal)
  if (!change) return { claim, at: deps.clock.now(), row, planned: { change: planned, recorded }, ...finding }
  const seen = await queryEveryServer(recorded, change, lookup, deps, signal)
  const outcome = finding.kind === 'verdict' ? finding.outcome : isAsBefore ? first.outcome : undefined
  return { claim, at: deps.clock.now(), row, planned: { change: planned, recorded, outcome, seen }, ...finding }
}

/** A check without a monitor that gives its verdict at once, however little is certain. */
export async function checkOnce(
  watched: MonitoredName & { expectedValues: readonly string[] },
  deps: CheckDeps,
  signal: AbortSignal,
): Promise<Exclude<CheckFinding, { kind: 'unchanged' | 'postponed' | 'deleted' }>> {
  const recorded: Recorded = {
    ...watched,
    state: 'UNSET',
    values: null,
    fingerprint: null,
    isRotating: false,
    rotation: null,
    inconclusiveCount: 0,
    mustConclude: true,
  }
  const lookup = monitorQueryFor(watched)
  return await confirm(recorded, lookup, await lookup(deps.dns, {}), deps, signal)
}

/** Sends what the rules ask for until they come to a result. */
async function confirm(
  recorded: Recorded,
  lookup: MonitorQuery,
  first: Reply,
  deps: CheckDeps,
  signal: AbortSignal,
): Promise<Exclude<Step, { kind: 'query' | 'unchanged' }> & { observations: Observation[] }> {
  const { clock, dns, authoritativeClient, networkCheck } = deps
  const setup = {
    resolvers: dns.servers,
    hasAuthoritativeClient: authoritativeClient !== undefined,
    hasNetworkCheck: networkCheck !== undefined,
  }
  const instant = (): Instant => ({ at: clock.now(), elapsed: clock.elapsed() })
  const observations: Observation[] = [{ query: { purpose: 'first' }, reply: first, ...instant() }]
  for (;;) {
    const step = decide({ recorded, observations, now: instant(), setup })
    if (step.kind === 'unchanged') throw new Error('A check that is confirmed differs from what is recorded.')
    if (step.kind !== 'query') return { ...step, observations }
    observations.push(
      ...(await Promise.all(
        step.queries.map(async (query): Promise<Observation> => {
          const wait = (query.notBefore ?? 0) - clock.elapsed()
          if (wait > 0) await clock.sleep(wait, signal)
          signal.throwIfAborted()
          const result = await send(query, recorded, lookup, deps, signal)
          return { query, ...result, ...instant() }
        }),
      )),
    )
  }
}

type QueryResult =
  | { reply: Reply }
  | { nameServerReply: NameServerReply }
  | { nsReply: AuthoritativeReply }
  | { rootProblem: RootProblem | undefined }
  | { network: Awaited<ReturnType<NetworkCheck['state']>> }

async function send(
  query: Query,
  recorded: Recorded,
  lookup: MonitorQuery,
  { dns, authoritativeClient, networkCheck }: CheckDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  switch (query.purpose) {
    case 'first':
      return { reply: await lookup(dns, { signal }) }
    case 'retry':
    case 'resolver_sample':
      return { reply: await lookup(dns, { servers: query.servers, signal }) }
    case 'checking_disabled':
      return { reply: await lookup(dns, { servers: query.servers, checkingDisabled: true, attempts: 2, signal }) }
    case 'other_type':
      return { reply: await dns.query({ name: recorded.owner, type: 'SOA' }, { signal }) }
    case 'cname_links':
      return {
        reply: await monitorQueryFor({ ...recorded, recordType: recordTypeOf('CNAME'), isExactMatch: false })(dns, {
          attempts: 2,
          signal,
        }),
      }
    case 'resolver_ns': {
      const { name, servers, attempts } = query
      return { reply: await dns.query({ name, type: 'NS' }, { servers, attempts, signal }) }
    }
    case 'name_server':
      return { nameServerReply: await queryNameServer(authoritativeClient!, lookup, query.server, query.fresh, signal) }
    case 'name_server_sample':
      return { nameServerReply: await queryNameServer(authoritativeClient!, lookup, query.server, false, signal) }
    case 'zone_ns':
      return { nsReply: await authoritativeClient!.query({ name: query.name, type: 'NS' }, { signal }) }
    case 'root_servers':
      return { rootProblem: await authoritativeClient!.findRootProblem() }
    case 'network':
      return { network: await networkCheck!.state() }
  }
}

function monitoredNameOf(claim: Claim<'due_checks'>): MonitoredName {
  return {
    owner: claim.owner,
    recordType: recordTypeOf(claim.record_type as MonitorRecordType),
    isExactMatch: claim.is_exact_match === 1,
  }
}
