import { randomBytes } from 'node:crypto'
import type { MonitorRecordType } from '#contract/record-types.ts'
import type { NetworkState } from '#contract/server.ts'
import type { Warning } from '#contract/warnings.ts'
import type { Clock } from '../clock.ts'
import type { DnsClient } from '../dns/client.ts'
import type { ServerValidator } from '../dns/dnssec/server-validator.ts'
import { CHECK_STEPS, ValidationWork } from '../dns/dnssec/validation-work.ts'
import type { DnssecValidator, ValidationCall, Validity } from '../dns/dnssec-validator.ts'
import type { NetworkCheck } from '../dns/network-check.ts'
import { isUsable, type Outcome, type Question, type Reply } from '../dns/outcome.ts'
import type { AuthoritativeClient, AuthoritativeReply } from '../dns/resolver/authoritative-client.ts'
import { QueryBudget } from '../dns/resolver/query-budget.ts'
import type { RootProblem } from '../dns/resolver/root-servers.ts'
import type { ZoneView } from '../dns/resolver/zone-view.ts'
import { OverloadError, type Semaphore } from '../dns/semaphore.ts'
import type { OpenChange, ServerAnswer } from '../planned-changes/planned-change.ts'
import type { Claim, Lease } from '../queue/lease-queue.ts'
import { recordTypeOf } from '../record-types/record-types.ts'
import type { Instant, NameServerReply, Observation, Query, Recorded, Step } from './check-state.ts'
import { decide, isAsRecorded } from './confirmation-rules.ts'
import { findDnssecEvidence, isAboutDnssec } from './dnssec-evidence.ts'
import { hidesServfail } from './dnssec-rule.ts'
import { parseStoredFingerprint } from './fingerprint.ts'
import { KeptAnswers } from './kept-answers.ts'
import {
  forOrganization,
  type MonitoredName,
  type MonitorQuery,
  monitorQueryFor,
  queryNameServer,
  withQueryBudget,
} from './monitor-query.ts'
import { queryEveryServer } from './server-answers.ts'
import { validateAnyServer } from './target-validity.ts'
import { evaluate } from './verdict.ts'
import { warningsOf } from './warnings.ts'

/**
 * Without `authoritativeClient` only the resolvers decide. Without `networkCheck` Zonewatch's own network is trusted. Without
 * `validator` only resolvers validate DNSSEC. `serverValidator` says why validation fails, as evidence, and may have no trust anchors.
 */
export type CheckDeps = {
  dns: DnsClient
  clock: Clock
  authoritativeClient?: AuthoritativeClient | undefined
  networkCheck?: NetworkCheck | undefined
  validator?: DnssecValidator | undefined
  serverValidator?: ServerValidator | undefined
  /** Places for checks with large answers, so that all checks together keep a bounded number of octets. */
  largeChecks?: Semaphore
  /** Of the organization, for queries that wait for a server. `forOrganization` sets it. */
  group?: string
  /** Of the check. `withQueryBudget` sets it. */
  budget?: QueryBudget
}

type BudgetedDeps = CheckDeps & { budget: QueryBudget }

/**
 * A monitor to check. `read`: for a check in a round, which has no lease of its own: its row in `due_checks` as it was read. The `streak` of
 * the claim then counts the rounds.
 */
export type CheckClaim = Claim<'due_checks'> & { read?: Pick<Claim<'due_checks'>, DueColumn> }
type DueColumn = Exclude<keyof Claim<'due_checks'>, keyof Lease | 'was_due_at'>

/** What the rules decided. `observations`: all queries and replies, in order. */
export type Decision = Exclude<Step, { kind: 'query' | 'unchanged' }> & {
  observations: Observation[]
  warnings?: Warning[]
}

/** The result of one check. */
export type CheckFinding =
  | Decision
  | { kind: 'unchanged' }
  /** Too many queries to the resolvers were waiting, so none was sent in time. */
  | { kind: 'postponed'; afterMs: number }
  /** The monitor was deleted during the check. */
  | { kind: 'deleted' }

/**
 * `row`, `recorded`: the monitor when the check was decided, unless its first answer was as recorded. `planned`: present for a monitor
 * with a planned change.
 */
export type CheckResult<Row = unknown> = {
  claim: CheckClaim
  startedAt: number
  at: number
  row?: Row
  recorded?: Recorded
  planned?: PlannedFinding
} & CheckFinding

/** `outcome`: present if it is certain. `seen`: what each server answers, present once the period has begun. */
export type PlannedFinding = {
  change: OpenChange
  outcome?: Outcome | undefined
  seen?: ServerAnswer[]
}

/** What is recorded of a monitor. `planned`: its open change. */
export type LoadedMonitor<Row> = { recorded: Recorded; row: Row; planned?: OpenChange | undefined }

/** From so many name servers on, two of them are queried at the source. Of two that differ, nobody knows which one is behind. */
const COMPARED_SERVERS = 3
/** The first query waits at most 5 s, so that the check ends within its lease. */
const FIRST_QUERY_MAX_WAIT_MS = 5_000

/**
 * Checks one claimed monitor. `load` reads what is recorded, and is called only if the first answer differs from the fingerprint.
 * Rejects only when the DNS client is closed or `signal` is aborted.
 */
export async function runCheck<Row>(
  claim: CheckClaim,
  deps: CheckDeps,
  load: (claim: CheckClaim) => Promise<LoadedMonitor<Row> | undefined>,
  signal: AbortSignal,
): Promise<CheckResult<Row>> {
  const startedAt = deps.clock.now()
  const resultOf = (finding: CheckFinding) => ({ claim, startedAt, at: deps.clock.now(), ...finding })
  const query = monitorQueryFor(monitoredNameOf(claim))
  const budget = new QueryBudget(deps.largeChecks, claim.organization_id)
  const grouped = withQueryBudget(forOrganization(deps, claim.organization_id), budget)
  try {
    const { recorded: fingerprint, isRotating } = parseStoredFingerprint(claim.fingerprint)
    const known = { fingerprint, isRotating, inconclusiveCount: claim.inconclusive_count }
    const source = await queryAtSource(claim, known, query, 0, grouped, signal)
    const isPublishedBySecond = async () => {
      const second = await queryAtSource(claim, known, query, 1, grouped, signal)
      return second === undefined || isAsRecorded(known, second)
    }
    let isPublished = source !== undefined && isAsRecorded(known, source)
    // One of several servers may be behind for days.
    const isCompared = isPublished && source!.servers >= COMPARED_SERVERS
    if (isCompared) isPublished = await isPublishedBySecond()
    // Only a resolver validates. Where each check goes to the source, it also asks a resolver.
    if (isPublished && checksPerHour(claim) > 1) return resultOf({ kind: 'unchanged' })
    const startAt = numberOfResolverCheck(claim, deps.clock) + claim.slot + claim.inconclusive_count
    const first = await query(grouped.dns, { startAt, maxWaitMs: FIRST_QUERY_MAX_WAIT_MS })
    if (isUsable(first.outcome)) deps.networkCheck?.noteAnswer()
    const isCopy = isAsRecorded(known, first)
    // A copy that differs from what the source publishes is old, or of another region, unless this one server is the one that is behind.
    if (isPublished && isUsable(first.outcome) && !isCopy && !isCompared) isPublished = await isPublishedBySecond()
    // A failure may be that of a validator.
    if (isPublished && isUsable(first.outcome) && !hidesServfail(first)) return resultOf({ kind: 'unchanged' })
    if (isCopy && !source && claim.planned_change_id === null) return resultOf({ kind: 'unchanged' })
    if (!isCopy && !isUsable(first.outcome)) deps.networkCheck?.noteFailure(claim.owner)
    const loaded = await load(claim)
    if (!loaded) return resultOf({ kind: 'deleted' })
    const { row, planned: change } = loaded
    const isPrivate = loaded.recorded.resolution === 'resolvers' || loaded.recorded.hasOwnView === true
    const recorded: Recorded = { ...loaded.recorded, isSuspected: source !== undefined && !isPublished && !isPrivate }
    const isKnown = isCopy && !recorded.isSuspected
    if (!change) {
      const finding = isKnown ? { kind: 'unchanged' as const } : await confirm(recorded, query, first, grouped, signal)
      return { ...resultOf(finding), row, recorded }
    }
    const { finding, planned } = await checkPlannedChange(recorded, query, { first, isKnown }, grouped, signal)
    return { ...resultOf(finding), row, recorded, planned: { change, ...planned } }
  } catch (error) {
    if (!(error instanceof OverloadError)) throw error
    return resultOf({ kind: 'postponed', afterMs: error.retryInMs })
  } finally {
    budget.close()
  }
}

/**
 * Every hour, or at each check where the interval is longer, the first query goes to one of the zone's name servers, another one
 * each time: resolvers may keep old answers for days. `offset`: of the server in their list. Undefined if it is not time, or if the source cannot be queried.
 */
async function queryAtSource(
  claim: Claim<'due_checks'>,
  {
    fingerprint,
    isRotating,
    inconclusiveCount,
  }: { fingerprint: number | null; isRotating: boolean; inconclusiveCount: number },
  query: MonitorQuery,
  offset: number,
  { clock, authoritativeClient }: CheckDeps,
  signal: AbortSignal,
): Promise<(Reply & { servers: number }) | undefined> {
  const isCertain = fingerprint !== null && !isRotating && inconclusiveCount === 0 && claim.planned_change_id === null
  if (!authoritativeClient || !isCertain) return undefined
  const round = roundOf(claim, clock)
  const perHour = checksPerHour(claim)
  if (round % perHour !== claim.slot % perHour) return undefined
  if ((await authoritativeClient.findRootProblem()) !== undefined) return undefined
  const number = Math.floor(round / perHour)
  const view = await authoritativeClient.zoneView(questionOf(monitoredNameOf(claim)), { fresh: false, number, signal })
  if (!view || view.isUnknown || view.nameServers.length === 0) return undefined
  if (view.isDenied) return { outcome: { kind: 'nxdomain', chain: [] }, evidence: [], servers: 0 }
  const server = (number + offset) % view.nameServers.length
  const reply = await queryNameServer(authoritativeClient, query, { view, server, fresh: false }, signal)
  return reply.isBusy ? undefined : { ...reply, servers: view.nameServers.length }
}

/** How many intervals of the monitor have begun since the epoch. */
const roundOf = ({ frequency }: Claim<'due_checks'>, clock: Clock) => Math.floor(clock.now() / (frequency * 60_000))

/**
 * Counts the checks that begin at a resolver, so that each begins at another one. A count of all queries would not do: with as many
 * monitors as resolvers, each monitor would stay at one, which may be the one that does not validate.
 */
function numberOfResolverCheck(claim: Claim<'due_checks'>, clock: Clock): number {
  const perHour = checksPerHour(claim)
  const sinceSource = roundOf(claim, clock) - (claim.slot % perHour) - 1
  const hours = Math.floor(sinceSource / perHour)
  return perHour === 1 ? hours : hours * (perHour - 1) + (sinceSource - hours * perHour)
}

const checksPerHour = ({ frequency }: Claim<'due_checks'>) => Math.max(1, Math.floor(60 / frequency))

/** Within the period of a planned change, a check also records what each server answers. */
async function checkPlannedChange(
  recorded: Recorded,
  query: MonitorQuery,
  { first, isKnown }: { first: Reply; isKnown: boolean },
  deps: BudgetedDeps,
  signal: AbortSignal,
): Promise<{ finding: CheckFinding; planned?: Pick<PlannedFinding, 'outcome' | 'seen'> }> {
  // A known outcome that now leads to another state is confirmed like a new one.
  const isUnchanged = isKnown && evaluate(recorded, first.outcome).state === recorded.state
  const finding: CheckFinding = isUnchanged
    ? { kind: 'unchanged' }
    : await confirm(isKnown ? { ...recorded, fingerprint: null } : recorded, query, first, deps, signal)
  if (!recorded.change) return { finding }
  const seen = await queryEveryServer(recorded, recorded.change, query, deps, signal)
  const outcome = finding.kind === 'verdict' ? finding.outcome : isUnchanged ? first.outcome : undefined
  return { finding, planned: { outcome, seen } }
}

/** Checks a name without a monitor, and gives a verdict at once, however little is certain. */
export async function checkOnce(
  monitored: MonitoredName & { expectedValues: readonly string[] },
  deps: CheckDeps,
  signal: AbortSignal,
): Promise<Decision> {
  const recorded: Recorded = {
    ...monitored,
    state: 'UNSET',
    values: null,
    fingerprint: null,
    isRotating: false,
    rotation: null,
    inconclusiveCount: 0,
    mustConclude: true,
  }
  const query = monitorQueryFor(monitored)
  const decision = await confirm(recorded, query, await query(deps.dns, {}), withQueryBudget(deps), signal)
  if (decision.kind === 'unchanged') throw new Error('Nothing is recorded of a name without a monitor.')
  return decision
}

/** Sends the queries that the rules request until they decide. */
async function confirm(
  recorded: Recorded,
  monitorQuery: MonitorQuery,
  first: Reply,
  deps: BudgetedDeps,
  signal: AbortSignal,
): Promise<Decision | { kind: 'unchanged' }> {
  const { clock, dns, authoritativeClient, networkCheck, budget } = deps
  const call = { signal, work: new ValidationWork(CHECK_STEPS), group: deps.group, budget }
  const answers = new KeptAnswers(budget)
  const capabilities = {
    resolvers: dns.servers,
    hasAuthoritativeClient: authoritativeClient !== undefined,
    hasNetworkCheck: networkCheck !== undefined,
    hasValidator: deps.validator !== undefined,
  }
  const instant = (): Instant => ({ at: clock.now(), elapsed: clock.elapsed() })
  const observations: Observation[] = [{ query: { purpose: 'first' }, reply: answers.keep(first), ...instant() }]
  const observe = async (query: Query): Promise<Observation> => {
    const waitMs = (query.notBefore ?? 0) - clock.elapsed()
    if (waitMs > 0) await clock.sleep(waitMs, signal)
    signal.throwIfAborted()
    const result = await send(query, { recorded, monitorQuery, observations }, deps, call)
    return { query, ...keepReply(result, answers), ...instant() }
  }
  for (;;) {
    const soFar = { recorded, observations, now: instant(), capabilities }
    const step = decide(soFar)
    if (step.kind === 'unchanged') return step
    if (step.kind !== 'query') {
      const outcome = step.kind === 'verdict' ? step.outcome : undefined
      const evidence = isAboutDnssec(step) ? await findDnssecEvidence(soFar, deps, call) : []
      return { ...step, observations, warnings: [...warningsOf(soFar, outcome, step.confirmation), ...evidence] }
    }
    if (budget.isLarge) await budget.takePlace(signal)
    observations.push(...(await Promise.all(step.queries.map(observe))))
  }
}

function keepReply(result: QueryResult, answers: KeptAnswers): QueryResult {
  if ('reply' in result) return { reply: answers.keep(result.reply) }
  if ('nameServerReply' in result) return { nameServerReply: answers.keep(result.nameServerReply) }
  return 'nsReply' in result ? { nsReply: answers.keep(result.nsReply) } : result
}

type QueryResult =
  | { reply: Reply }
  | { nameServerReply: NameServerReply }
  | { nsReply: AuthoritativeReply }
  | { view: ZoneView | undefined }
  | { rootProblem: RootProblem | undefined }
  | { network: NetworkState }
  | { validity: Validity }

type Sending = { recorded: Recorded; monitorQuery: MonitorQuery; observations: readonly Observation[] }

async function send(
  query: Query,
  { recorded, monitorQuery, observations }: Sending,
  { dns, authoritativeClient, networkCheck, validator }: CheckDeps,
  call: ValidationCall & { budget: QueryBudget },
): Promise<QueryResult> {
  const { signal } = call
  switch (query.purpose) {
    case 'first':
      return { reply: await monitorQuery(dns, { signal }) }
    case 'retry':
      return { reply: await monitorQuery(dns, { servers: query.servers, signal }) }
    case 'resolver_sample': {
      const hasSamples = observations.some((each) => each.query.purpose === 'resolver_sample')
      // A round without answers is the last one.
      if (call.budget.isFull && hasSamples) return { reply: { outcome: { kind: 'timeout' }, evidence: [] } }
      return { reply: await monitorQuery(dns, { servers: query.servers, signal }) }
    }
    case 'checking_disabled':
      return { reply: await monitorQuery(dns, { servers: query.servers, checkingDisabled: true, attempts: 2, signal }) }
    case 'other_resolver':
      return { reply: await monitorQuery(dns, { servers: query.servers, attempts: 2, signal }) }
    case 'validation_probe':
      return { reply: await dns.query({ name: '', type: 'NS' }, { servers: query.servers, attempts: 2, signal }) }
    case 'other_type': {
      const { servers } = query
      return { reply: await dns.query({ name: recorded.owner, type: 'SOA' }, { servers, attempts: 2, signal }) }
    }
    case 'cname_links': {
      const chainQuery = monitorQueryFor({ ...recorded, recordType: recordTypeOf('CNAME'), isExactMatch: false })
      return { reply: await chainQuery(dns, { attempts: 2, signal }) }
    }
    case 'resolver_ns': {
      const { name, servers, attempts } = query
      return { reply: await dns.query({ name, type: 'NS' }, { servers, attempts, signal }) }
    }
    case 'uncached': {
      const name = `zw-${randomBytes(6).toString('hex')}${query.zone === '' ? '' : `.${query.zone}`}`
      return { reply: await dns.query({ name, type: 'A' }, { servers: query.servers, attempts: 2, signal }) }
    }
    case 'delegation':
      return { view: await authoritativeClient!.zoneView(questionOf(recorded), { fresh: true, signal }) }
    case 'name_server':
    case 'name_server_sample': {
      const { view } = observations.find((observation) => 'view' in observation)!
      const pinned = { view: view!, server: query.server, fresh: query.purpose === 'name_server' && query.fresh }
      // The first queries resolved the names of the name servers. Samples of a hostile zone must not do so again.
      const isSample = query.purpose === 'name_server_sample'
      const client = isSample ? withoutResolving(authoritativeClient!) : authoritativeClient!
      return { nameServerReply: await queryNameServer(client, monitorQuery, pinned, signal) }
    }
    case 'validity': {
      const { view } = observations.find((observation) => 'view' in observation)!
      return { validity: await validator!.validate(questionOf(recorded), view!, query.server, call) }
    }
    case 'target_validity': {
      const question = { ...questionOf(recorded), name: query.name }
      return { validity: await validateAnyServer(authoritativeClient!, validator!, question, call) }
    }
    case 'zone_ns':
      return { nsReply: await authoritativeClient!.query({ name: query.name, type: 'NS' }, { signal }) }
    case 'zone_ds':
      return { nsReply: await authoritativeClient!.query({ name: query.name, type: 'DS' }, { fresh: true, signal }) }
    case 'root_servers':
      return { rootProblem: await authoritativeClient!.findRootProblem(query.isAgain) }
    case 'network':
      return { network: await networkCheck!.state() }
  }
}

function withoutResolving(client: AuthoritativeClient): AuthoritativeClient {
  return { ...client, query: (question, options) => client.query(question, { ...options, resolvesNameServers: false }) }
}

const questionOf = ({ owner, recordType }: Pick<Recorded, 'owner' | 'recordType'>): Question => ({
  name: owner,
  type: recordType.queryType,
})

function monitoredNameOf(claim: Claim<'due_checks'>): MonitoredName {
  return {
    owner: claim.owner,
    recordType: recordTypeOf(claim.record_type as MonitorRecordType),
    isExactMatch: claim.is_exact_match === 1,
  }
}
