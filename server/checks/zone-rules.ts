import { isSubdomain } from '../dns/names.ts'
import type { Reply } from '../dns/outcome.ts'
import {
  type Check,
  type CheckSoFar,
  firstReply,
  type NameServerReply,
  type Query,
  reportOutcome,
  type SampledServer,
  type Step,
  type ZoneReplies,
} from './check.ts'
import { fingerprint } from './fingerprint.ts'
import { isFailure, isSame, isUsable, majority, mostInformative } from './outcomes.ts'
import { CONFIRMATIONS, nameServersAgree } from './reasons.ts'
import { mayRotate } from './rotation-rules.ts'
import { decideBySampling } from './sampling.ts'

// The zone's name servers

/** How many of a zone's name servers are queried. */
const MAX_NAME_SERVERS = 4

const NO_REPLIES: ZoneReplies = { pendingQueries: [], usable: [], failure: undefined, unavailableReason: undefined }

export function zoneReplies({ setup, observations }: CheckSoFar): ZoneReplies {
  if (!setup.hasAuthoritativeClient) return NO_REPLIES
  const reachable = observations.find((one) => 'rootProblem' in one)
  if (!reachable) return { ...NO_REPLIES, pendingQueries: [{ purpose: 'root_servers' }] }
  if (reachable.rootProblem !== undefined)
    return { ...NO_REPLIES, unavailableReason: CONFIRMATIONS.rootProblem(reachable.rootProblem) }
  const cached: NameServerReply[] = []
  const fresh: NameServerReply[] = []
  for (const one of observations) {
    if (one.query.purpose !== 'name_server' || !('nameServerReply' in one)) continue
    if (one.query.fresh || fresh.length > 0) fresh.push(one.nameServerReply)
    else cached.push(one.nameServerReply)
  }
  const missing = missingServers(cached, false)
  const isDoubtful = missing.length === 0 && isDelegationDoubtful(cached, firstReply({ observations })!)
  const answers = inDeepestZone(fresh.length > 0 ? fresh : cached)
  return { ...summarize(answers), pendingQueries: isDoubtful ? missingServers(fresh, true) : missing }
}

/** One name server first, which finds the others; behind its failure are all of them already. */
function missingServers(replies: readonly NameServerReply[], fresh: boolean): Query[] {
  const [leader] = replies
  if (!leader) return [{ purpose: 'name_server', server: 0, fresh }]
  const count = isFailure(leader.outcome) ? 1 : Math.min(leader.nameServers.length, MAX_NAME_SERVERS)
  if (replies.length >= count) return []
  return Array.from({ length: count - replies.length }, (_, at): Query => {
    return { purpose: 'name_server', server: replies.length + at, fresh: false }
  })
}

/** Before the zone overrules a resolver by a remembered delegation, be sure that it has not moved to other servers. */
function isDelegationDoubtful(replies: readonly NameServerReply[], resolver: Reply): boolean {
  const isByCache = replies.some(({ outcome, isFromCache }) => isFromCache && isUsable(outcome))
  return isByCache && !replies.every(({ outcome }) => isSame(outcome, resolver.outcome))
}

function summarize(answers: readonly NameServerReply[]): Omit<ZoneReplies, 'next'> {
  const usable = answers.filter(({ outcome }) => isUsable(outcome))
  if (usable.length > 0) return { ...NO_REPLIES, usable }
  if (answers.some(({ isBusy }) => isBusy)) return { ...NO_REPLIES, unavailableReason: CONFIRMATIONS.nameServersBusy }
  const failure = mostInformative(answers.map(({ outcome }) => outcome))
  return { ...NO_REPLIES, failure, unavailableReason: CONFIRMATIONS.nameServersFailed(failure.kind) }
}

/** A server of a parent zone that denies what another one refers to is overruled by the servers it refers to. */
function inDeepestZone(replies: readonly NameServerReply[]): NameServerReply[] {
  const deep = replies.reduce(
    (best, { zone }) => (zone !== best && isSubdomain(zone, best) ? zone : best),
    replies[0]?.zone ?? '',
  )
  return replies.filter(({ zone }) => zone === deep)
}

// The zone decides

export function decideByZone(check: Check): Step {
  const {
    recorded,
    zone: { usable },
  } = check
  const names = () => namesOf(usable)
  const outcomes = usable.map(({ outcome }) => outcome)
  const isRecorded = () => outcomes.every((outcome) => fingerprint(outcome) === recorded.fingerprint)
  if (!mayRotate(recorded, outcomes, true) && isRecorded())
    return reportOutcome(check, usable[0]!.outcome, nameServersAgree(names()), names())
  const sources = sampledServers(check, usable)
  return decideBySampling(check, sources, {
    isByZone: true,
    nameServers: names,
    confirmAgreement: () => nameServersAgree(names()),
    decideDisagreement: () => {
      // A server that answered in place of a silent one counts once.
      const votes = latestPerServer(usable).map(({ outcome }) => outcome)
      const found = majority(votes, recorded.fingerprint, [firstReply(check)!.outcome]) ?? votes[0]!
      const supporters = namesOf(usable.filter(({ outcome }) => isSame(outcome, found)))
      return reportOutcome(check, found, CONFIRMATIONS.nameServersMajority(names(), supporters), supporters)
    },
  })
}

/** Each answer counts for the server that gave it, which is another one than was asked where that one failed. */
function sampledServers({ observations }: Check, usable: readonly NameServerReply[]): SampledServer[] {
  const byServer = new Map<string | undefined, NameServerReply[]>()
  const add = (reply: NameServerReply) => {
    const own = byServer.get(reply.nameServer)
    if (own) own.push(reply)
    else byServer.set(reply.nameServer, [reply])
  }
  let samples = 0
  for (const reply of usable) add(reply)
  for (const one of observations) {
    if (one.query.purpose !== 'name_server_sample' || !('nameServerReply' in one)) continue
    samples += 1
    add(one.nameServerReply)
  }
  const asked = new Map(latestPerServer(usable).map((reply) => [reply.nameServer, reply.server]))
  const rounds = samples / asked.size + 1
  return [...byServer].map(([name, own]): SampledServer => {
    const server = asked.get(name)
    const next: Query | undefined = server === undefined ? undefined : { purpose: 'name_server_sample', server }
    return { server: name ?? '', replies: own, rounds, next }
  })
}

/** Of the replies that came from the same server the quickest: the others began at servers that do not answer. */
function latestPerServer(good: readonly NameServerReply[]): NameServerReply[] {
  const byServer = new Map<string | undefined, NameServerReply>()
  for (const each of [...good].sort((one, other) => other.evidence.length - one.evidence.length)) {
    byServer.set(each.nameServer, each)
  }
  return [...byServer.values()]
}

function namesOf(replies: readonly NameServerReply[]): string[] {
  return [...new Set(replies.flatMap(({ nameServer }) => nameServer ?? []))].sort()
}
