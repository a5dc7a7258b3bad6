import { getPublicSuffix } from 'tldts'
import { isSubdomain } from '../dns/names.ts'
import { isUsable, type Outcome } from '../dns/outcome.ts'
import { lameZone } from '../dns/resolver/zone-response.ts'
import type { ZoneView } from '../dns/resolver/zone-view.ts'
import {
  type Check,
  type CheckSoFar,
  firstReply,
  inconclusive,
  isMajorityDue,
  type NameServerReply,
  type Query,
  type SampledServer,
  type Step,
  verdict,
  type ZoneReplies,
} from './check-state.ts'
import { fingerprint } from './fingerprint.ts'
import { areSame, isSame, majority, mostInformative } from './outcomes.ts'
import { CONFIRMATIONS, nameServersAgree } from './reasons.ts'
import { mayRotate } from './rotation-rules.ts'
import { decideBySampling } from './sampling.ts'
import { isDelegationChanging, validateServers } from './validity-rule.ts'

const NO_REPLIES: ZoneReplies = {
  pendingQueries: [],
  view: undefined,
  replies: [],
  usable: [],
  bogus: [],
  failure: undefined,
  unavailableReason: undefined,
}

export function zoneReplies({ capabilities, observations, recorded }: CheckSoFar): ZoneReplies {
  if (!capabilities.hasAuthoritativeClient) return NO_REPLIES
  if (recorded.resolution === 'resolvers') return { ...NO_REPLIES, unavailableReason: CONFIRMATIONS.resolversChosen }
  const rootCheck = observations.findLast((observation) => 'rootProblem' in observation)
  if (!rootCheck) return { ...NO_REPLIES, pendingQueries: [{ purpose: 'root_servers' }] }
  if (rootCheck.rootProblem !== undefined)
    return { ...NO_REPLIES, unavailableReason: CONFIRMATIONS.rootProblem(rootCheck.rootProblem) }
  const delegation = observations.find((observation) => 'view' in observation)
  if (!delegation) return { ...NO_REPLIES, pendingQueries: [{ purpose: 'delegation' }] }
  const { view } = delegation
  if (!view) return { ...NO_REPLIES, unavailableReason: CONFIRMATIONS.nameServersBusy }
  if (view.isUnknown) return { ...NO_REPLIES, unavailableReason: CONFIRMATIONS.nameServersFailed('timeout') }
  if (view.isDenied) return { ...NO_REPLIES, view, replies: denials(view, recorded), usable: denials(view, recorded) }
  const replies = observations.flatMap((observation) =>
    observation.query.purpose === 'name_server' && 'nameServerReply' in observation
      ? [observation.nameServerReply]
      : [],
  )
  const pendingQueries = missingServers(view, replies)
  const { bogus, valid } = splitByValidity(observations, replies)
  return { ...NO_REPLIES, view, replies, bogus, ...summarize(view, replies, valid), pendingQueries }
}

/** A validator that receives a bogus answer queries the next server, so only the others count. RFC 4035 section 5.5. */
function splitByValidity(observations: CheckSoFar['observations'], replies: readonly NameServerReply[]) {
  const bogusServers = new Set<number>()
  for (const one of observations) {
    if ('validity' in one && one.query.purpose === 'validity' && one.validity.kind === 'bogus')
      bogusServers.add(one.query.server)
  }
  const isBogus = ({ server, outcome }: NameServerReply) => bogusServers.has(server) && isUsable(outcome)
  return { bogus: replies.filter(isBogus), valid: replies.filter((reply) => !isBogus(reply)) }
}

/** What most servers of the parent zone deny does not exist, whatever its old name servers answer. */
function denials(view: ZoneView, { owner }: CheckSoFar['recorded']): NameServerReply[] {
  const nameServers = view.parents.flatMap(({ server, nameServers }) => (nameServers === null ? [server] : []))
  return nameServers.map((nameServer, server) => ({
    ...{ owner, server, zone: view.zone, nameServers, nameServer, isFromCache: false, evidence: [] },
    outcome: { kind: 'nxdomain', chain: [] },
  }))
}

/** The first one follows the delegations of CNAME targets again, which the others then know. */
function missingServers({ nameServers }: ZoneView, replies: readonly NameServerReply[]): Query[] {
  const queryOf = (server: number, fresh: boolean): Query => ({ purpose: 'name_server', server, fresh })
  const [first] = replies
  if (!first) return nameServers.length === 0 ? [] : [queryOf(0, true)]
  const queried = new Set(replies.map(({ server }) => server))
  const isFollowed = replies.some(({ outcome }) => isUsable(outcome))
  return nameServers.flatMap((_, server) => (queried.has(server) ? [] : [queryOf(server, !isFollowed)]))
}

function summarize(
  { zone, nameServers }: ZoneView,
  replies: readonly NameServerReply[],
  valid: readonly NameServerReply[],
) {
  const usable = inDeepestZone(valid.filter(({ outcome }) => isUsable(outcome)))
  if (usable.length > 0) return { usable, failure: undefined, unavailableReason: undefined }
  if (replies.some(({ isBusy }) => isBusy))
    return { usable, failure: undefined, unavailableReason: CONFIRMATIONS.nameServersBusy }
  const failure = failureOf(zone, nameServers, replies)
  return { usable, failure, unavailableReason: CONFIRMATIONS.nameServersFailed(failure.kind) }
}

/** A zone is lame if all of its servers are. */
function failureOf(zone: string, nameServers: ZoneView['nameServers'], replies: readonly NameServerReply[]): Outcome {
  const outcomes = replies.map(({ outcome }) => outcome)
  const others = outcomes.filter(({ kind }) => kind !== 'lame')
  if (others.length > 0) return mostInformative(others)
  return lameZone(zone, nameServers)
}

/** If a server of the parent zone denies a zone that another one refers to, the servers of the deeper zone decide. */
function inDeepestZone(replies: readonly NameServerReply[]): NameServerReply[] {
  const deep = replies.reduce(
    (best, { zone }) => (zone !== best && isSubdomain(zone, best) ? zone : best),
    replies[0]?.zone ?? '',
  )
  return replies.filter(({ zone }) => zone === deep)
}

/** While the servers of the parent zone give different delegations, nothing that depends on them is reported. */
export function decideByZone(check: Check): Step {
  const step = decideByServers(check)
  if (step.kind !== 'verdict') return step
  const isNew = fingerprint(step.outcome) !== check.recorded.fingerprint
  if (isNew && !isMajorityDue(check) && isDelegationChanging(check))
    return inconclusive(check, CONFIRMATIONS.delegationChanging, step.rotation)
  // Of servers that differ, some may be bogus.
  const areDifferent = !check.recorded.isRotating && !areSame(check.zone.usable.map(({ outcome }) => outcome))
  return isNew || areDifferent ? (validateServers(check) ?? step) : step
}

function decideByServers(check: Check): Step {
  const {
    recorded,
    zone: { usable, view },
  } = check
  if (view?.isDenied)
    return verdict(check, usable[0]!.outcome, CONFIRMATIONS.zoneDenied(view.zone, namesOf(usable)), namesOf(usable))
  const names = () => namesOf(usable)
  const outcomes = usable.map(({ outcome }) => outcome)
  const isRecorded = () => outcomes.every((outcome) => fingerprint(outcome) === recorded.fingerprint)
  const agreement = () =>
    isParentDenial(recorded.owner, usable)
      ? CONFIRMATIONS.zoneDenied(usable[0]!.zone, names())
      : nameServersAgree(names())
  if (!mayRotate(recorded, outcomes, true) && isRecorded())
    return verdict(check, usable[0]!.outcome, agreement(), names())
  const sources = sampledServers(check, usable)
  return decideBySampling(check, sources, {
    isByZone: true,
    nameServers: names,
    confirmAgreement: agreement,
    decideDisagreement: () => {
      // A server that also answered in place of another one counts once.
      const votes = bestPerServer(usable).map(({ outcome }) => outcome)
      const winner = majority(votes, recorded.fingerprint, [firstReply(check)!.outcome]) ?? votes[0]!
      const supporters = namesOf(usable.filter(({ outcome }) => isSame(outcome, winner)))
      return verdict(check, winner, CONFIRMATIONS.nameServersMajority(names(), supporters), supporters)
    },
  })
}

/** Whether the servers of a public suffix, such as those of `com`, deny the whole domain. */
function isParentDenial(owner: string, replies: readonly NameServerReply[]): boolean {
  const suffix = getPublicSuffix(owner, { allowPrivateDomains: false, extractHostname: false, detectIp: false })
  return replies.every(
    ({ outcome, zone }) =>
      outcome.kind === 'nxdomain' && outcome.chain.length === 0 && suffix !== null && isSubdomain(suffix, zone),
  )
}

/** An answer counts for the server that gave it, also if another one was queried and failed. Silence counts for the one queried. */
function sampledServers({ observations }: Check, usable: readonly NameServerReply[]): SampledServer[] {
  const best = bestPerServer(usable)
  const byServer = new Map<string | undefined, NameServerReply[]>()
  const add = (reply: NameServerReply) => {
    const name = reply.nameServer ?? best.find(({ server }) => server === reply.server)?.nameServer
    byServer.set(name, [...(byServer.get(name) ?? []), reply])
  }
  let samples = 0
  for (const reply of usable) add(reply)
  for (const observation of observations) {
    if (observation.query.purpose !== 'name_server_sample' || !('nameServerReply' in observation)) continue
    samples += 1
    add(observation.nameServerReply)
  }
  const queried = new Map(best.map((reply) => [reply.nameServer, reply.server]))
  const rounds = samples / queried.size + 1
  return [...byServer].map(([name, replies]): SampledServer => {
    const server = queried.get(name)
    const next: Query | undefined = server === undefined ? undefined : { purpose: 'name_server_sample', server }
    return { server: name ?? '', replies, rounds, next }
  })
}

/** The reply of each server that took the fewest exchanges: the others were sent to failing servers first. */
function bestPerServer(good: readonly NameServerReply[]): NameServerReply[] {
  const byServer = new Map<string | undefined, NameServerReply>()
  for (const reply of [...good].sort((one, other) => other.evidence.length - one.evidence.length)) {
    byServer.set(reply.nameServer, reply)
  }
  return [...byServer.values()]
}

function namesOf(replies: readonly NameServerReply[]): string[] {
  return [...new Set(replies.flatMap(({ nameServer }) => nameServer ?? []))].sort()
}
