import { isSubdomain } from '../dns/names.ts'
import type { Reply } from '../dns/outcome.ts'
import {
  type Check,
  type CheckSoFar,
  first,
  type Query,
  report,
  type Source,
  type Step,
  type ZoneReplies,
  type ZoneReply,
} from './check.ts'
import { fingerprint } from './fingerprint.ts'
import { isFailure, isGood, isSame, majority, mostTelling } from './outcomes.ts'
import { REASONS, serversAgree } from './reasons.ts'
import { mayRotate } from './rotation-rules.ts'
import { bySamples } from './sampling.ts'

// The zone's name servers

/** How many of a zone's name servers are queried. */
const MOST_ZONE_SERVERS = 4

const NOTHING: ZoneReplies = { next: [], good: [], failure: undefined, notAsked: undefined }

export function zoneReplies({ setup, observations }: CheckSoFar): ZoneReplies {
  if (!setup.hasAuthoritativeClient) return NOTHING
  const reachable = observations.find((one) => 'trouble' in one)
  if (!reachable) return { ...NOTHING, next: [{ purpose: 'zone_reachable' }] }
  if (reachable.trouble !== undefined) return { ...NOTHING, notAsked: REASONS.zoneUnreachable(reachable.trouble) }
  const cached: ZoneReply[] = []
  const fresh: ZoneReply[] = []
  for (const one of observations) {
    if (one.query.purpose !== 'zone' || !('zone' in one)) continue
    if (one.query.fresh || fresh.length > 0) fresh.push(one.zone)
    else cached.push(one.zone)
  }
  const missing = missingServers(cached, false)
  const isDoubtful = missing.length === 0 && isDelegationDoubtful(cached, first({ observations })!)
  const answers = deepest(fresh.length > 0 ? fresh : cached)
  return { ...countedOf(answers), next: isDoubtful ? missingServers(fresh, true) : missing }
}

/** One name server first, which finds the others; behind its failure are all of them already. */
function missingServers(replies: readonly ZoneReply[], fresh: boolean): Query[] {
  const [leader] = replies
  if (!leader) return [{ purpose: 'zone', server: 0, fresh }]
  const count = isFailure(leader.outcome) ? 1 : Math.min(leader.nameServers.length, MOST_ZONE_SERVERS)
  if (replies.length >= count) return []
  return Array.from({ length: count - replies.length }, (_, at): Query => {
    return { purpose: 'zone', server: replies.length + at, fresh: false }
  })
}

/** Before the zone overrules a resolver by a remembered delegation, be sure that it has not moved to other servers. */
function isDelegationDoubtful(replies: readonly ZoneReply[], resolver: Reply): boolean {
  const isByCache = replies.some(({ outcome, isFromCache }) => isFromCache && isGood(outcome))
  return isByCache && !replies.every(({ outcome }) => isSame(outcome, resolver.outcome))
}

function countedOf(answers: readonly ZoneReply[]): Omit<ZoneReplies, 'next'> {
  const good = answers.filter(({ outcome }) => isGood(outcome))
  if (good.length > 0) return { ...NOTHING, good }
  if (answers.some(({ isBusy }) => isBusy)) return { ...NOTHING, notAsked: REASONS.zoneBusy }
  const failure = mostTelling(answers.map(({ outcome }) => outcome))
  return { ...NOTHING, failure, notAsked: REASONS.zoneFailed(failure.kind) }
}

/** A server of a parent zone that denies what another one refers to is overruled by the servers it refers to. */
function deepest(replies: readonly ZoneReply[]): ZoneReply[] {
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
    zone: { good },
  } = check
  const names = () => namesOf(good)
  const outcomes = good.map(({ outcome }) => outcome)
  const isRecorded = () => outcomes.every((outcome) => fingerprint(outcome) === recorded.fingerprint)
  if (!mayRotate(recorded, outcomes, true) && isRecorded())
    return report(check, good[0]!.outcome, serversAgree(names()), names())
  const sources = zoneSources(check, good)
  return bySamples(check, sources, {
    isByZone: true,
    names,
    agreed: () => serversAgree(names()),
    divided: () => {
      // A server that answered in place of a silent one counts once.
      const votes = onePerServer(good).map(({ outcome }) => outcome)
      const found = majority(votes, recorded.fingerprint, [first(check)!.outcome]) ?? votes[0]!
      const supporters = namesOf(good.filter(({ outcome }) => isSame(outcome, found)))
      return report(check, found, REASONS.zoneDivided(names(), supporters), supporters)
    },
  })
}

/** Each answer counts for the server that gave it, which is another one than was asked where that one failed. */
function zoneSources({ observations }: Check, good: readonly ZoneReply[]): Source[] {
  const byServer = new Map<string | undefined, ZoneReply[]>()
  const add = (reply: ZoneReply) => {
    const own = byServer.get(reply.nameServer)
    if (own) own.push(reply)
    else byServer.set(reply.nameServer, [reply])
  }
  let samples = 0
  for (const reply of good) add(reply)
  for (const one of observations) {
    if (one.query.purpose !== 'zone_sample' || !('zone' in one)) continue
    samples += 1
    add(one.zone)
  }
  const asked = new Map(onePerServer(good).map((reply) => [reply.nameServer, reply.server]))
  const rounds = samples / asked.size + 1
  return [...byServer].map(([name, own]): Source => {
    const server = asked.get(name)
    const next: Query | undefined = server === undefined ? undefined : { purpose: 'zone_sample', server }
    return { server: name ?? '', replies: own, rounds, next }
  })
}

/** Of the replies that came from the same server the quickest: the others began at servers that do not answer. */
function onePerServer(good: readonly ZoneReply[]): ZoneReply[] {
  const byServer = new Map<string | undefined, ZoneReply>()
  for (const each of [...good].sort((one, other) => other.evidence.length - one.evidence.length)) {
    byServer.set(each.nameServer, each)
  }
  return [...byServer.values()]
}

function namesOf(replies: readonly ZoneReply[]): string[] {
  return [...new Set(replies.flatMap(({ nameServer }) => nameServer ?? []))].sort()
}
