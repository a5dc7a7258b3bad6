import { isSubdomain } from '../names.ts'
import type { Outcome, Question } from '../outcome.ts'
import { WeightedCache } from '../weighted-cache.ts'
import { ancestors, type Delegation, delegationOf, type NameServer, type Referral } from './delegation.ts'
import { fillInAddresses, queryZone, type Resolution, type ResolverDeps } from './iterative-resolver.ts'
import { isReferralDown } from './zone-response.ts'

/**
 * The zone of a name, as its parent zone delegates it. `nameServers`: the delegation that most servers of the parent give.
 * `parents`: what each of them that answered says; empty for the root and top-level domains.
 */
export type ZoneView = {
  zone: string
  /** The zone that delegates it; the root is the empty string. */
  parentZone: string
  nameServers: NameServer[]
  parents: ParentAnswer[]
  /** Most servers of `zone` deny a zone below it that others delegate. `parents` are then the servers of `zone`. */
  isDenied: boolean
  /** The NS records of the zone itself; null if unknown. */
  ownNameServers: string[] | null
  /** Of the delegation, in seconds. */
  ttl: number
  /** No server of the parent zone answered, so nobody knows the delegation now. */
  isUnknown: boolean
}

/** `nameServers`: the NS set of the referral, sorted; null if the server denies the name (NXDOMAIN). */
export type ParentAnswer = { server: string; nameServers: string[] | null }

/** `seenAt`: when a server of the parent last gave the delegation; `learnedAt`: when all were asked; `changedAt`: when it last changed. Elapsed milliseconds of the clock. */
export type CachedView = ZoneView & { seenAt: number; learnedAt: number; changedAt: number | undefined }

/** The views of the zones that monitors live in. Shared by all checks of a process. */
export type ZoneViews = {
  /** From all servers of the parent zone, at most `FRESH_MS` old. */
  fresh(question: Question, resolution: Resolution): Promise<CachedView>
  /** Given by one of the servers of the parent zone within the last `RECENT_MS`, another one each time. */
  recent(question: Question, resolution: Resolution): Promise<CachedView>
}

/** Monitors of one zone that change at the same time share a view. */
const FRESH_MS = 5_000
/** The queries at the source rest on it, so that a change of the delegation is seen hardly later than one of a record. */
const RECENT_MS = 5 * 60_000
const MAX_CUTS = 10
/** Of the name servers that one server gives. A response has room for thousands. */
const MAX_NAMES = 100
const MAX_VIEWS = 10_000
/** In characters of names: as many as 50 views of a hostile zone have. */
const MAX_WEIGHT = 16 * 1024 * 1024
const NEVER = Number.NEGATIVE_INFINITY

export function createZoneViews(deps: ResolverDeps, limit = { entries: MAX_VIEWS, weight: MAX_WEIGHT }): ZoneViews {
  const { clock } = deps
  const views = new WeightedCache<CachedView>(limit, weightOf)
  const pending = new Map<string, Promise<unknown>>()
  const isYoung = (at: number, ms: number) => clock.elapsed() - at <= ms

  function find(name: string): CachedView | undefined {
    for (const key of ancestors(name)) {
      const view = views.get(key)
      if (view) return view
    }
    return undefined
  }

  function add({ name }: Question, before: CachedView | undefined, view: CachedView): CachedView {
    if (view.isUnknown) return view
    // What a parent denies is known for this name only.
    const key = view.zone.includes('.') && !view.isDenied ? view.zone : name
    // A view of a zone above says nothing about this one.
    const earlier = before && isSubdomain(before.zone, view.zone) ? before : undefined
    const isChanged = earlier !== undefined && !isSameDelegation(earlier, view)
    const added = { ...view, changedAt: isChanged ? clock.elapsed() : earlier?.changedAt }
    if (earlier && earlier.zone !== view.zone) views.delete(earlier.zone)
    views.set(key, added)
    return added
  }

  /**
   * Names of one domain share most of the path, so the others of their group wait for the first one, and then begin at its view.
   * They do not wait for other groups: the domain may be a public suffix, and the zone of another group silent.
   */
  async function learnOnce(
    name: string,
    { group = '' }: Resolution,
    learn: (domain: string) => Promise<CachedView>,
  ): Promise<CachedView> {
    const domain = `${group} ${name.split('.').slice(-2).join('.')}`
    for (let running = pending.get(domain); running; running = pending.get(domain)) await running.catch(() => {})
    return await learn(domain)
  }

  function register(domain: string, running: Promise<CachedView>): Promise<CachedView> {
    const registered = running.finally(() => void pending.delete(domain))
    pending.set(domain, registered)
    return registered
  }

  async function learn(question: Question, resolution: Resolution, before: CachedView | undefined, path: Path) {
    return add(question, before, await followDown(deps, question, resolution, path))
  }

  async function confirm(question: Question, resolution: Resolution, before: CachedView | undefined) {
    const seen = await followDown(deps, question, resolution, { until: before, isFull: false })
    if (before && isSameDelegation(before, seen)) return add(question, before, { ...before, seenAt: seen.seenAt })
    if (!before || seen.isUnknown) return add(question, before, seen)
    // One server gives another delegation: all of them say whether it changed.
    return await learn(question, resolution, before, { isFull: true })
  }

  return {
    fresh: (question, resolution) =>
      learnOnce(question.name, resolution, (domain) => {
        const before = find(question.name)
        const from = before && isYoung(before.learnedAt, FRESH_MS) && !before.isDenied ? before : undefined
        const learning = learn(question, resolution, before, { from, isFull: true })
        return from ? learning : register(domain, learning)
      }),
    recent: (question, resolution) =>
      learnOnce(question.name, resolution, async (domain) => {
        const before = find(question.name)
        if (before && isYoung(before.seenAt, RECENT_MS)) return before
        return await register(domain, confirm(question, resolution, before))
      }),
  }
}

function weightOf({ zone, nameServers, parents, ownNameServers }: ZoneView): number {
  const lists = [
    [zone],
    nameServers.map(({ name }) => name),
    ownNameServers ?? [],
    ...parents.map(({ server, nameServers }) => [server, ...(nameServers ?? [])]),
  ]
  return lists.flat().reduce((sum, name) => sum + name.length, 0)
}

/** The delegation as the resolver uses it. `server`: only to the n-th of its name servers. */
export function delegationTo({ zone, nameServers }: ZoneView, server?: number): Delegation {
  const servers = server === undefined ? nameServers : nameServers.slice(server, server + 1)
  return { zone, nameServers: servers, learnedAt: NEVER, expiresAt: Number.POSITIVE_INFINITY }
}

/** Equal for equal NS sets. */
export function delegationKey(nameServers: readonly string[] | null): string {
  return nameServers === null ? '-' : [...nameServers].sort().join(' ')
}

type Path = {
  /** Each server above a cut is asked for it, and the zone for its own NS records. */
  isFull: boolean
  /** Begins here. */
  from?: CachedView | undefined
  /** Ends here, if the delegation is the same. */
  until?: CachedView | undefined
}

/** Follows the delegations from the top-level domain down to the zone of the name. */
async function followDown(
  deps: ResolverDeps,
  question: Question,
  resolution: Resolution,
  { isFull, from, until }: Path,
): Promise<CachedView> {
  const seenAt = deps.clock.elapsed()
  let zone = from ? delegationTo(from) : await topLevelDomain(deps, question, resolution)
  let view: ZoneView = from ?? viewOf(zone)
  for (let cuts = 0; cuts < MAX_CUTS; cuts++) {
    const isParent = isFull && zone.zone !== '' && isTopLevel(zone.zone)
    const answers = isParent
      ? await askEach(deps, zone, question, resolution)
      : await askOne(deps, zone, question, resolution)
    if (answers.length === 0) {
      // The zone's own servers may fail. Without those of a top-level domain there is nothing to ask.
      const isCutShort = resolution.checkBudget !== undefined && resolution.checkBudget.leftFor(zone.zone) <= 0
      if (isTopLevel(zone.zone) || isCutShort) view = { ...view, isUnknown: true }
      break
    }
    if (!answers.some(({ outcome }) => outcome.kind === 'nxdomain' || isCut(outcome, zone, question))) break
    const above = isFull && !isParent ? await askEach(deps, zone, question, resolution) : answers
    const next = decideCut(deps, zone, question, above)
    if (!next) break
    view = next.view
    if (view.isDenied || (until && isSameDelegation(until, view))) break
    zone = next.delegation
    deps.cache.add(zone)
  }
  if (view === from) return from
  if (isFull && !view.isDenied && view.parents.length > 0) view = await withOwnNameServers(deps, view, resolution)
  return { ...view, seenAt, learnedAt: isFull ? seenAt : NEVER, changedAt: undefined }
}

async function withOwnNameServers(deps: ResolverDeps, view: ZoneView, resolution: Resolution): Promise<ZoneView> {
  const { outcome } = await queryZone(deps, delegationTo(view), { name: view.zone, type: 'NS' }, resolution)
  return { ...view, ownNameServers: outcome.kind === 'answer' ? outcome.rrset.values.slice(0, MAX_NAMES) : null }
}

type ServerAnswer = { server: string; outcome: Outcome }

async function askOne(
  deps: ResolverDeps,
  zone: Delegation,
  question: Question,
  resolution: Resolution,
): Promise<ServerAnswer[]> {
  const { outcome, nameServer } = await queryZone(deps, zone, question, resolution)
  return nameServer === undefined ? [] : [{ server: nameServer, outcome }]
}

/** The servers that answered. */
async function askEach(
  deps: ResolverDeps,
  zone: Delegation,
  question: Question,
  resolution: Resolution,
): Promise<ServerAnswer[]> {
  await fillInAddresses(deps, zone.nameServers, resolution, zone.nameServers.length)
  const servers = zone.nameServers.filter(({ ips }) => ips?.length)
  const answers = servers.map((server) =>
    askOne(deps, { ...zone, nameServers: [server] }, question, { ...resolution, firstServer: 0 }),
  )
  return (await Promise.all(answers)).flat()
}

/** What most of the servers above a cut say. Undefined if none of them delegates a zone. */
function decideCut(
  { isAllowed, clock }: ResolverDeps,
  zone: Delegation,
  question: Question,
  answers: readonly ServerAnswer[],
) {
  const parents: ParentAnswer[] = []
  const referrals = new Map<string, Referral>()
  for (const { server, outcome } of answers) {
    if (isCut(outcome, zone, question)) {
      const nameServers = [...new Set(outcome.nameServers)].sort().slice(0, MAX_NAMES)
      parents.push({ server, nameServers })
      if (!referrals.has(delegationKey(nameServers))) referrals.set(delegationKey(nameServers), outcome)
    } else if (outcome.kind === 'nxdomain') parents.push({ server, nameServers: null })
  }
  if (referrals.size === 0) return undefined
  const referral = referrals.get(delegationKey(mostFrequent(parents)))
  if (!referral) return { view: { ...viewOf(zone), parentZone: zone.zone, parents, isDenied: true }, delegation: zone }
  const delegation = delegationOf(referral, zone.zone, isAllowed, clock.elapsed())
  return { view: { ...viewOf(delegation), parentZone: zone.zone, parents, ttl: referral.ttl }, delegation }
}

/** The DS records of a zone are in its parent zone. RFC 4035 section 3.1.4.1. */
function isCut(outcome: Outcome, { zone }: Delegation, { name, type }: Question): outcome is Referral {
  return isReferralDown(outcome, zone) && !(type === 'DS' && outcome.zone === name)
}

/** On a tie, a delegation rather than a denial. */
function mostFrequent(parents: readonly ParentAnswer[]): string[] | null {
  const groups = [...Map.groupBy(parents, ({ nameServers }) => delegationKey(nameServers)).values()]
  const isDenial = (group: readonly ParentAnswer[]) => Number(group[0]!.nameServers === null)
  groups.sort((one, other) => other.length - one.length || isDenial(one) - isDenial(other))
  return groups[0]![0]!.nameServers
}

function viewOf({ zone, nameServers }: Delegation): ZoneView {
  return {
    ...{ zone, parentZone: '', nameServers, parents: [], isDenied: false, ownNameServers: null },
    ...{ ttl: 0, isUnknown: false },
  }
}

function isSameDelegation(one: ZoneView, other: ZoneView): boolean {
  const key = ({ nameServers }: ZoneView) => delegationKey(nameServers.map(({ name }) => name))
  return one.zone === other.zone && one.isDenied === other.isDenied && key(one) === key(other)
}

/** The delegation of the top-level domain, cached for at most an hour; of the root if there is none. */
async function topLevelDomain(deps: ResolverDeps, question: Question, resolution: Resolution): Promise<Delegation> {
  const { cache, clock, isAllowed } = deps
  const cached = cache.closest(question.name.slice(question.name.lastIndexOf('.') + 1))
  if (cached.zone !== '') return cached
  const { outcome } = await queryZone(deps, cached, question, resolution)
  if (!isReferralDown(outcome, '')) return cached
  const delegation = delegationOf(outcome, '', isAllowed, clock.elapsed())
  cache.add(delegation)
  return delegation
}

const isTopLevel = (zone: string) => !zone.includes('.')
