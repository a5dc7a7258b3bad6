import { isSubdomain } from '../dns/names.ts'
import { isUsable, type Reply } from '../dns/outcome.ts'
import {
  type Check,
  type CheckSoFar,
  firstReply,
  type NameServerReply,
  type Query,
  type SampledServer,
  type Step,
  verdict,
  type ZoneReplies,
} from './check-state.ts'
import { fingerprint } from './fingerprint.ts'
import { isFailure, isSame, majority, mostInformative } from './outcomes.ts'
import { CONFIRMATIONS, nameServersAgree } from './reasons.ts'
import { mayRotate } from './rotation-rules.ts'
import { decideBySampling } from './sampling.ts'

/** How many of a zone's name servers are queried. */
const MAX_NAME_SERVERS = 4

const NO_REPLIES: ZoneReplies = { pendingQueries: [], usable: [], failure: undefined, unavailableReason: undefined }

export function zoneReplies({ capabilities, observations }: CheckSoFar): ZoneReplies {
  if (!capabilities.hasAuthoritativeClient) return NO_REPLIES
  const rootCheck = observations.find((observation) => 'rootProblem' in observation)
  if (!rootCheck) return { ...NO_REPLIES, pendingQueries: [{ purpose: 'root_servers' }] }
  if (rootCheck.rootProblem !== undefined)
    return { ...NO_REPLIES, unavailableReason: CONFIRMATIONS.rootProblem(rootCheck.rootProblem) }
  const cached: NameServerReply[] = []
  const fresh: NameServerReply[] = []
  for (const observation of observations) {
    const { query } = observation
    if (query.purpose !== 'name_server' || !('nameServerReply' in observation)) continue
    const replies = query.fresh || fresh.length > 0 ? fresh : cached
    replies.push(observation.nameServerReply)
  }
  const missing = missingServers(cached, false)
  const mustRefresh = missing.length === 0 && isDelegationOutdated(cached, firstReply({ observations })!)
  const answers = inDeepestZone(fresh.length > 0 ? fresh : cached)
  return { ...summarize(answers), pendingQueries: mustRefresh ? missingServers(fresh, true) : missing }
}

/** The first reply names the other servers. If it is a failure, all servers were already queried. */
function missingServers(replies: readonly NameServerReply[], fresh: boolean): Query[] {
  const [first] = replies
  if (!first) return [{ purpose: 'name_server', server: 0, fresh }]
  const count = isFailure(first.outcome) ? 1 : Math.min(first.nameServers.length, MAX_NAME_SERVERS)
  if (replies.length >= count) return []
  return Array.from({ length: count - replies.length }, (_, index): Query => {
    return { purpose: 'name_server', server: replies.length + index, fresh: false }
  })
}

/** A cached delegation may be outdated, so it is followed again before the zone's servers overrule a resolver. */
function isDelegationOutdated(replies: readonly NameServerReply[], resolver: Reply): boolean {
  const isByCache = replies.some(({ outcome, isFromCache }) => isFromCache && isUsable(outcome))
  return isByCache && !replies.every(({ outcome }) => isSame(outcome, resolver.outcome))
}

function summarize(answers: readonly NameServerReply[]): ZoneReplies {
  const usable = answers.filter(({ outcome }) => isUsable(outcome))
  if (usable.length > 0) return { ...NO_REPLIES, usable }
  if (answers.some(({ isBusy }) => isBusy)) return { ...NO_REPLIES, unavailableReason: CONFIRMATIONS.nameServersBusy }
  const failure = mostInformative(answers.map(({ outcome }) => outcome))
  return { ...NO_REPLIES, failure, unavailableReason: CONFIRMATIONS.nameServersFailed(failure.kind) }
}

/** If a server of the parent zone denies a zone that another one refers to, the servers of the deeper zone decide. */
function inDeepestZone(replies: readonly NameServerReply[]): NameServerReply[] {
  const deep = replies.reduce(
    (best, { zone }) => (zone !== best && isSubdomain(zone, best) ? zone : best),
    replies[0]?.zone ?? '',
  )
  return replies.filter(({ zone }) => zone === deep)
}

export function decideByZone(check: Check): Step {
  const {
    recorded,
    zone: { usable },
  } = check
  const names = () => namesOf(usable)
  const outcomes = usable.map(({ outcome }) => outcome)
  const isRecorded = () => outcomes.every((outcome) => fingerprint(outcome) === recorded.fingerprint)
  if (!mayRotate(recorded, outcomes, true) && isRecorded())
    return verdict(check, usable[0]!.outcome, nameServersAgree(names()), names())
  const sources = sampledServers(check, usable)
  return decideBySampling(check, sources, {
    isByZone: true,
    nameServers: names,
    confirmAgreement: () => nameServersAgree(names()),
    decideDisagreement: () => {
      // A server that also answered in place of another one counts once.
      const votes = bestPerServer(usable).map(({ outcome }) => outcome)
      const winner = majority(votes, recorded.fingerprint, [firstReply(check)!.outcome]) ?? votes[0]!
      const supporters = namesOf(usable.filter(({ outcome }) => isSame(outcome, winner)))
      return verdict(check, winner, CONFIRMATIONS.nameServersMajority(names(), supporters), supporters)
    },
  })
}

/** An answer counts for the server that gave it, also if another one was queried and failed. */
function sampledServers({ observations }: Check, usable: readonly NameServerReply[]): SampledServer[] {
  const byServer = new Map<string | undefined, NameServerReply[]>()
  const add = (reply: NameServerReply) => {
    byServer.set(reply.nameServer, [...(byServer.get(reply.nameServer) ?? []), reply])
  }
  let samples = 0
  for (const reply of usable) add(reply)
  for (const observation of observations) {
    if (observation.query.purpose !== 'name_server_sample' || !('nameServerReply' in observation)) continue
    samples += 1
    add(observation.nameServerReply)
  }
  const queried = new Map(bestPerServer(usable).map((reply) => [reply.nameServer, reply.server]))
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
