import { isBelow } from '../dns/names.ts'
import type { Outcome } from '../dns/outcome.ts'
import { ask, type Check, first, type Observation, type Query, report, type Step, type ZoneReply } from './check.ts'
import { isFailure, isGood, isSame, majority, mostTelling } from './outcomes.ts'
import { REASONS, serversAgree, zoneNotAsked } from './reasons.ts'
import { bySamples, type Voice } from './sampling.ts'
import { fingerprint } from './verdict.ts'

// The zone's name servers

/** As many of a zone's name servers are asked. */
const MOST_ZONE_SERVERS = 4

export function askZone(check: Check): Step | undefined {
  if (!check.setup.zone) return undefined
  const reachable = check.observations.find((one) => 'trouble' in one)
  if (!reachable) return ask({ purpose: 'zone_reachable' })
  if (reachable.trouble !== undefined) return undefined
  const cached = zoneRound(check, false)
  if (cached.missing.length > 0) return ask(...cached.missing)
  if (!isDelegationDoubtful(check, cached.replies)) return undefined
  const fresh = zoneRound(check, true)
  return fresh.missing.length > 0 ? ask(...fresh.missing) : undefined
}

/** One name server first, which finds the others; behind its failure are all of them already. */
function zoneRound(check: Check, fresh: boolean): { replies: ZoneReply[]; missing: Query[] } {
  const all = check.observations.filter((one) => 'zone' in one && one.query.purpose === 'zone')
  const start = all.findIndex(({ query }) => 'fresh' in query && query.fresh)
  const round = fresh ? (start < 0 ? [] : all.slice(start)) : start < 0 ? all : all.slice(0, start)
  const replies = round.map((one) => (one as Extract<Observation, { zone: ZoneReply }>).zone)
  const [leader] = replies
  if (!leader) return { replies, missing: [{ purpose: 'zone', server: 0, fresh }] }
  const count = isFailure(leader.outcome) ? 1 : Math.min(leader.nameServers.length, MOST_ZONE_SERVERS)
  const missing = Array.from({ length: Math.max(0, count - replies.length) }, (_, at): Query => {
    return { purpose: 'zone', server: replies.length + at, fresh: false }
  })
  return { replies, missing }
}

/** Before the zone overrules a resolver by a remembered delegation, be sure that it has not moved to other servers. */
function isDelegationDoubtful(check: Check, replies: readonly ZoneReply[]): boolean {
  const isByCache = replies.some(({ outcome, isFromCache }) => isFromCache && isGood(outcome))
  return isByCache && !replies.every(({ outcome }) => isSame(outcome, first(check)!.outcome))
}

export type ZoneReplies = { good: ZoneReply[]; failure: Outcome | undefined; notAsked: string | undefined }

/** What the zone's servers said last, and why it does not count where it does not. */
export function zoneReplies(check: Check): ZoneReplies {
  const none: ZoneReplies = { good: [], failure: undefined, notAsked: undefined }
  const reachable = check.observations.find((one) => 'trouble' in one)
  if (!reachable) return none
  if (reachable.trouble !== undefined) return { ...none, notAsked: zoneNotAsked(reachable.trouble) }
  const fresh = zoneRound(check, true).replies
  const heard = deepest(fresh.length > 0 ? fresh : zoneRound(check, false).replies)
  const good = heard.filter(({ outcome }) => isGood(outcome))
  if (good.length > 0) return { ...none, good }
  if (heard.some(({ isBusy }) => isBusy)) return { ...none, notAsked: zoneNotAsked(REASONS.zoneBusy) }
  const failure = mostTelling(heard.map(({ outcome }) => outcome))
  return { ...none, failure, notAsked: zoneNotAsked(REASONS.zoneFailed(failure.kind)) }
}

/** A server of a parent zone that denies what another one refers to is overruled by the servers it refers to. */
function deepest(replies: readonly ZoneReply[]): ZoneReply[] {
  const deep = replies.reduce(
    (best, { zone }) => (zone !== best && isBelow(zone, best) ? zone : best),
    replies[0]?.zone ?? '',
  )
  return replies.filter(({ zone }) => zone === deep)
}

// The zone decides

export function decideByZone(check: Check): Step {
  const { recorded } = check
  const { good } = zoneReplies(check)
  const names = namesOf(good)
  const isRecorded = good.every(({ outcome }) => fingerprint(outcome) === recorded.fingerprint)
  if (isRecorded && !recorded.isRotating) return report(check, good[0]!.outcome, serversAgree(names), names)
  const voices = zoneVoices(check, good)
  return bySamples(check, voices, {
    isByZone: true,
    names,
    agreed: serversAgree(names),
    divided: () => {
      const outcomes = good.map(({ outcome }) => outcome)
      const found = majority(outcomes, recorded.fingerprint, [first(check)!.outcome]) ?? outcomes[0]!
      const supporters = namesOf(good.filter(({ outcome }) => isSame(outcome, found)))
      return report(check, found, REASONS.zoneDivided(names), supporters)
    },
  })
}

/** Each answer counts for the server that gave it, which is another one than was asked where that one failed. */
function zoneVoices({ observations }: Check, good: readonly ZoneReply[]): Voice[] {
  const samples = observations.filter((one) => one.query.purpose === 'zone_sample' && 'zone' in one)
  const all = [...good, ...samples.map((one) => (one as Extract<Observation, { zone: ZoneReply }>).zone)]
  const asked = new Map(onePerServer(good).map((reply) => [reply.nameServer, reply.server]))
  const rounds = samples.length / asked.size + 1
  return [...new Set(all.map(({ nameServer }) => nameServer))].flatMap((name): Voice[] => {
    const said = all.filter(({ nameServer }) => nameServer === name)
    const server = asked.get(name)
    const next: Query | undefined = server === undefined ? undefined : { purpose: 'zone_sample', server }
    return [{ server: name ?? '', said, rounds, next }]
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
