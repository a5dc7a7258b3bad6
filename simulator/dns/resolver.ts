import type { Random } from '../random.ts'
import {
  type Cache,
  type CacheEntry,
  closestDelegation,
  findEntry,
  newCache,
  store,
  TRUST,
  type Trust,
} from './cache.ts'
import { isWithin, parentOf, type Question, type RecordType, type Response, type RRset, response } from './message.ts'
import type { ResolverPolicy } from './policy.ts'
import { checkSignature } from './validation.ts'

/** Sends a query to an address. Undefined if no response comes. */
export type Ask = (ip: string, question: Question, time: number) => Response | undefined

export type ResolverSetup = {
  policy: ResolverPolicy
  /** How many independent caches answer behind its address. */
  caches: number
  /** Other clients query the same names, so that expired records are fetched again at once. */
  isPopular?: boolean
  /** Zones that it queries at these addresses, whatever the public DNS says. */
  privateZones?: readonly { zone: string; ips: readonly string[] }[]
  rootIps: readonly string[]
  /** How long it waits for one name server. */
  timeoutMs?: number
}

/** `ms`: how long the client waited. */
export type Resolved = { response: Response; ms: number }

export type Resolver = {
  query(question: Question, time: number, checkingDisabled?: boolean): Resolved
  /** Puts a forged record into one of the caches. */
  poison(rrset: RRset, time: number): void
}

const LATENCY_MS = 15
const TIMEOUT_MS = 800
/** After this the resolver gives up. */
const DEADLINE_MS = 10_000
const AVOID_MS = 60_000
const MAX_LINKS = 16
const MAX_DEPTH = 4

/** One resolution. `time` advances with each query to a name server. */
type Run = { time: number; deadline: number; depth: number; isUnvalidated: boolean; leewayMs: number }

type Found =
  | { kind: 'entry'; entry: CacheEntry; isStale?: true }
  | { kind: 'failure'; ede: readonly number[]; isStale?: true }

/** A recursive resolver, written from RFC 1034 section 5.3.3, RFC 2181, RFC 2308, RFC 4035 and RFC 8767, in virtual time. */
export function createResolver(setup: ResolverSetup, ask: Ask, random: Random): Resolver {
  const { policy, privateZones = [], rootIps, isPopular = false, timeoutMs = TIMEOUT_MS } = setup
  const caches = Array.from({ length: setup.caches }, newCache)
  const pickCache = () => caches[caches.length > 1 ? random.below(caches.length) : 0]!

  function query(question: Question, time: number, isUnvalidated = false): Resolved {
    const cache = pickCache()
    if (isPopular) fetchForOthers(cache, question, time)
    const run = newRun(time, isUnvalidated)
    const resolved = resolveChain(cache, question, run)
    if (policy.prefetches && !isUnvalidated) prefetch(cache, question, time)
    return { response: rewritten(resolved, question), ms: run.time - time + 5 }
  }

  function newRun(time: number, isUnvalidated = false): Run {
    return { time, deadline: time + DEADLINE_MS, depth: 0, isUnvalidated, leewayMs: 0 }
  }

  /** Other clients fetched the record whenever it expired. Only the last two times can matter. */
  function fetchForOthers(cache: Cache, { name, type }: Question, time: number): void {
    let entry = findEntry(cache, name, type)
    if (!entry || entry.until > time) return
    const life = Math.max(1_000, entry.until - entry.storedAt)
    let at = entry.until
    if (time - at > 2 * life) at = time - ((time - at) % life) - life
    for (let count = 0; count < 3 && at <= time; count++) {
      resolveChain(cache, { name, type }, newRun(at))
      entry = findEntry(cache, name, type)
      at = entry && entry.until > at ? entry.until : at + life
    }
  }

  /** A query in the last tenth of the TTL makes the resolver fetch the record again, for the next client. */
  function prefetch(cache: Cache, { name, type }: Question, time: number): void {
    const entry = findEntry(cache, name, type, time)
    if (!entry?.rrset || entry.trust < TRUST.answer || entry.storedAt === time) return
    if (entry.until - time <= (entry.until - entry.storedAt) / 10) refresh(cache, name, type, time)
  }

  /** Fetches a record again, while the client already has its answer. */
  function refresh(cache: Cache, name: string, type: RecordType, time: number): void {
    fetch(cache, name, type, { ...newRun(time), leewayMs: policy.refreshLeeway * 1_000 })
  }

  /** The answer for the client, with what is left of each TTL. */
  function resolveChain(cache: Cache, { name: first, type }: Question, run: Run): Response {
    const answer: RRset[] = []
    let ede: readonly number[] = []
    let name = first
    let ad = policy.validates && !run.isUnvalidated
    for (let links = 0; links <= MAX_LINKS; links++) {
      const found = find(cache, name, type, run)
      if (found.kind === 'failure') return response('SERVFAIL', false, { ede: found.ede })
      const { rrset, rcode, isSecure = false } = found.entry
      ad &&= isSecure
      if (found.isStale && policy.serveStale?.isDeclared) ede = [3]
      const ttl = found.isStale ? policy.serveStale!.answerTtl : remaining(found.entry, run.time)
      if (!rrset) return response(rcode, false, { answer, ede, ad })
      answer.push({ ...rrset, ttl })
      if (rrset.type !== 'CNAME' || type === 'CNAME') return response('NOERROR', false, { answer, ede, ad })
      name = rrset.values[0]!
    }
    return response('SERVFAIL', false, {})
  }

  function remaining({ until }: CacheEntry, time: number): number {
    return Math.max(0, Math.ceil((until - time) / 1_000))
  }

  function rewritten(resolved: Response, { name, type }: Question): Response {
    const address = policy.rewritesNxdomain
    if (address === undefined || resolved.rcode !== 'NXDOMAIN' || type !== 'A') return resolved
    return response('NOERROR', false, { answer: [{ name, type, ttl: 60, values: [address] }] })
  }

  /** From the cache, or from the zone's servers, or an expired record. */
  function find(cache: Cache, name: string, type: RecordType, run: Run): Found {
    const known = fresh(cache, name, type, run.time)
    if (known) return { kind: 'entry', entry: known }
    const stale = staleEntry(cache, name, type, run.time)
    if (stale && policy.serveStale?.when === 'at_once') {
      refresh(cache, name, type, run.time)
      return { kind: 'entry', entry: stale, isStale: true }
    }
    const fetched = fetch(cache, name, type, run)
    if (fetched.kind === 'failure' && stale) {
      // RFC 8767 section 5: the client waits at most 1.8 s, and the refresh is tried again after 30 s.
      cache.failures.set(`${name} ${type}`, { until: run.time + 30_000, ede: fetched.ede })
      return { kind: 'entry', entry: stale, isStale: true }
    }
    return fetched
  }

  function fresh(cache: Cache, name: string, type: RecordType, time: number): CacheEntry | undefined {
    const entry = findEntry(cache, name, type, time)
    // Glue and NS records of a referral are no answer.
    if (entry && entry.trust >= TRUST.besideAnswer) return entry
    const alias = type === 'CNAME' ? undefined : findEntry(cache, name, 'CNAME', time)
    return alias?.rrset ? alias : undefined
  }

  function staleEntry(cache: Cache, name: string, type: RecordType, time: number): CacheEntry | undefined {
    if (!policy.serveStale) return undefined
    const entry = findEntry(cache, name, type) ?? findEntry(cache, name, 'CNAME')
    if (!entry || entry.trust < TRUST.besideAnswer) return undefined
    return time - entry.until < policy.serveStale.maxStaleSeconds * 1_000 ? entry : undefined
  }

  // Resolution

  function fetch(cache: Cache, name: string, type: RecordType, run: Run): Found {
    const key = `${name} ${type}`
    const failed = cache.failures.get(key)
    if (failed && failed.until > run.time && !run.isUnvalidated) return { kind: 'failure', ede: failed.ede }
    const found = iterate(cache, name, type, run)
    if (found.kind === 'failure' && !run.isUnvalidated) {
      cache.failures.set(key, { until: run.time + policy.failureTtl * 1_000, ede: found.ede })
    }
    return found
  }

  function iterate(cache: Cache, name: string, type: RecordType, run: Run): Found {
    let zone = start(cache, type === 'DS' ? parentOf(name) : name, run.time + run.leewayMs)
    let skipped = ''
    for (let step = 0; step < 12; step++) {
      const ips = addressesOf(cache, zone, run)
      if (ips.length === 0) {
        // The addresses of servers inside their own zone come only from its parent.
        if (zone.zone === '' || skipped === zone.zone) return failure([22])
        skipped = zone.zone
        cache.entries.delete(`${zone.zone} NS`)
        zone = start(cache, parentOf(zone.zone), run.time)
        continue
      }
      const result = askZone(cache, zone.zone, ips, { name, type }, run)
      if (!('zone' in result)) return result
      zone = result
    }
    return failure([])
  }

  type Zone = { zone: string; servers: readonly string[]; ips?: readonly string[] }

  function start(cache: Cache, name: string, time: number): Zone {
    const own = privateZones.find(({ zone }) => isWithin(name, zone))
    if (own) return { zone: own.zone, servers: [], ips: own.ips }
    const ns = closestDelegation(cache, name, time)
    return ns ? { zone: ns.name, servers: ns.values } : { zone: '', servers: [], ips: rootIps }
  }

  /** Known addresses in random order, those that failed lately last. Resolves the names of servers only if none is known. */
  function addressesOf(cache: Cache, { servers, ips, zone }: Zone, run: Run): string[] {
    const known = ips ?? servers.flatMap((server) => addressOf(cache, server, run.time) ?? [])
    const found = known.length > 0 || run.depth >= MAX_DEPTH ? [...known] : []
    if (found.length === 0 && run.depth < MAX_DEPTH) {
      for (const server of servers) {
        if (isWithin(server, zone) || found.length >= 2) continue
        run.depth += 1
        const result = find(cache, server, 'A', run)
        run.depth -= 1
        if (result.kind === 'entry') found.push(...(result.entry.rrset?.values ?? []))
      }
    }
    const isAvoided = (ip: string) => (cache.avoidUntil.get(ip) ?? 0) > run.time
    const shuffled = random.shuffle(found)
    return cache.avoidUntil.size === 0
      ? shuffled
      : [...shuffled.filter((ip) => !isAvoided(ip)), ...shuffled.filter(isAvoided)]
  }

  function addressOf(cache: Cache, server: string, time: number): readonly string[] | undefined {
    const entry = cache.entries.get(`${server} A`)
    return entry && entry.until > time ? entry.rrset?.values : undefined
  }

  /** The answer of the first server that helps, or the zone to which it refers. */
  function askZone(cache: Cache, zone: string, ips: readonly string[], question: Question, run: Run): Found | Zone {
    let ede: readonly number[] = [22]
    for (const ip of ips) {
      if (run.time >= run.deadline) break
      const reply = ask(ip, question, run.time)
      run.time += reply ? LATENCY_MS : timeoutMs
      if (!reply || reply.rcode === 'SERVFAIL' || reply.rcode === 'REFUSED') {
        cache.avoidUntil.set(ip, run.time + AVOID_MS)
        continue
      }
      const ns = reply.authority.find(({ type }) => type === 'NS')
      if (!reply.aa && reply.answer.length === 0 && ns) {
        if (ns.name === zone || !isWithin(ns.name, zone) || !isWithin(question.name, ns.name)) {
          cache.avoidUntil.set(ip, run.time + AVOID_MS)
          continue // lame
        }
        return storeReferral(cache, zone, ns, reply, run)
      }
      const bogus = run.isUnvalidated || !policy.validates ? undefined : findBogus(cache, zone, reply, run)
      if (bogus === undefined) return storeAnswer(cache, zone, question, reply, run)
      ede = [bogus]
    }
    return failure(ede)
  }

  function failure(ede: readonly number[]): Found {
    return { kind: 'failure', ede: policy.extendedErrors ? ede : [] }
  }

  function storeReferral(cache: Cache, parent: string, ns: RRset, { authority, additional }: Response, run: Run): Zone {
    const ds = authority.find(({ type }) => type === 'DS')
    put(cache, ns, TRUST.referral, run)
    for (const glue of additional) if (isWithin(glue.name, parent)) put(cache, glue, TRUST.referral, run)
    if (ds) put(cache, ds, TRUST.answer, run)
    else deny(cache, `${ns.name} DS`, 'NOERROR', ns.ttl, run)
    return { zone: ns.name, servers: ns.values }
  }

  function storeAnswer(cache: Cache, zone: string, { name, type }: Question, reply: Response, run: Run): Found {
    if (policy.childNs !== 'ignored') {
      for (const ns of reply.authority) {
        if (ns.type === 'NS' && ns.name === zone) putChildNs(cache, ns, run)
      }
    }
    const isSecure = isSigned(cache, zone, run)
    let result: CacheEntry | undefined
    let last: RRset | undefined
    for (const rrset of reply.answer) {
      if (!isWithin(rrset.name, zone)) break
      const entry = Object.assign(put(cache, rrset, TRUST.answer, run), { isSecure })
      last = rrset
      result ??= entry
    }
    if (result && last && (last.type === type || last.type === 'CNAME')) {
      // A denial at the end of a chain in the same zone.
      const soa = reply.authority.find((rrset) => rrset.type === 'SOA')
      const target = last.type === 'CNAME' && type !== 'CNAME' ? last.values[0]! : undefined
      if (soa && target !== undefined && isWithin(target, zone)) denyBy(cache, target, type, soa, reply, run)
      return { kind: 'entry', entry: result }
    }
    const soa = reply.authority.find((rrset) => rrset.type === 'SOA')
    return { kind: 'entry', entry: Object.assign(denyBy(cache, name, type, soa, reply, run), { isSecure }) }
  }

  /** The root is signed, and the zones whose parents have DS records for them. */
  function isSigned(cache: Cache, zone: string, { time, isUnvalidated }: Run): boolean {
    if (!policy.validates || isUnvalidated) return false
    return zone === '' || findEntry(cache, zone, 'DS', time)?.rrset !== undefined
  }

  function denyBy(cache: Cache, name: string, type: RecordType, soa: RRset | undefined, { rcode }: Response, run: Run) {
    const ttl = soa ? Math.min(soa.ttl, soa.minimum ?? soa.ttl, policy.maxNegativeTtl) : 0
    return deny(cache, rcode === 'NXDOMAIN' ? `${name} NXDOMAIN` : `${name} ${type}`, rcode, ttl, run)
  }

  function deny(cache: Cache, key: string, rcode: Response['rcode'], ttl: number, run: Run): CacheEntry {
    return keep(cache, key, { rrset: undefined, rcode, ...lifetime(ttl, run), trust: TRUST.answer }, run)
  }

  function put(cache: Cache, rrset: RRset, trust: Trust, run: Run): CacheEntry {
    const ttl = Math.min(Math.max(rrset.ttl, policy.minTtl), policy.maxTtl, validity(rrset, run.time))
    // A name that has records is not denied any more.
    if (!run.isUnvalidated) cache.entries.delete(`${rrset.name} NXDOMAIN`)
    const entry = { rrset, rcode: 'NOERROR' as const, ...lifetime(ttl, run), trust }
    return keep(cache, `${rrset.name} ${rrset.type}`, entry, run)
  }

  function putChildNs(cache: Cache, ns: RRset, run: Run): void {
    const known = cache.entries.get(`${ns.name} NS`)
    if (!known || known.until <= run.time || known.trust >= TRUST.besideAnswer) return
    if (policy.childNs === 'when_expiring' && known.until - run.time > expiringMs(known)) return
    const ttl = Math.min(Math.max(ns.ttl, policy.minTtl), policy.maxTtl)
    const trust = policy.childNs === 'always' ? TRUST.besideAnswer : TRUST.referral
    cache.entries.set(`${ns.name} NS`, { rrset: ns, rcode: 'NOERROR', ...lifetime(ttl, run), trust })
  }

  function lifetime(ttl: number, { time }: Run): { storedAt: number; until: number } {
    return { storedAt: time, until: time + ttl * 1_000 }
  }

  /** Answers that were fetched without validation are not kept. Delegations are never validated. */
  function keep(cache: Cache, key: string, entry: CacheEntry, { isUnvalidated }: Run): CacheEntry {
    if (!isUnvalidated || entry.trust === TRUST.referral) store(cache, key, entry)
    return entry
  }

  /** Validated records live at most as long as their signature. RFC 4035 section 5.3.3. */
  function validity({ signature }: RRset, time: number): number {
    return policy.validates && signature ? Math.max(0, (signature.until - time) / 1_000) : Number.POSITIVE_INFINITY
  }

  /** The extended error if a part of the answer fails validation. */
  function findBogus(cache: Cache, zone: string, reply: Response, run: Run): number | undefined {
    if (zone === '' || privateZones.some((own) => own.zone === zone)) return undefined
    const parts = [...reply.answer.filter(({ name }) => isWithin(name, zone)), ...reply.authority.filter(isSoa)]
    const own = parts.find(({ type, name }) => type === 'DNSKEY' && name === zone)
    const ds = find(cache, zone, 'DS', run)
    if (ds.kind === 'failure') return 6
    const problemAbove = findBogusAbove(cache, zone, ds.entry, run)
    if (problemAbove !== undefined) return problemAbove
    if (!ds.entry.rrset) return undefined // an unsigned delegation
    const keys = own ?? keysOf(cache, zone, run)
    if (typeof keys === 'number') return keys
    if (!keys?.values.some((key) => ds.entry.rrset!.values.includes(key))) return 9
    const keyProblem = checkSignature(keys, ds.entry.rrset.values, run.time)
    if (keyProblem !== undefined) return keyProblem
    for (const part of parts) {
      const problem = part === own ? undefined : checkSignature(part, keys.values, run.time)
      if (problem !== undefined) return problem
    }
    return undefined
  }

  /** DS records, and their denial, are those of the zone above, if that one is signed. */
  function findBogusAbove(cache: Cache, zone: string, { rrset }: CacheEntry, run: Run): number | undefined {
    const parent = parentOf(zone)
    if (parent === '' || !findEntry(cache, parent, 'DS')?.rrset) return undefined
    const keys = keysOf(cache, parent, run) ?? 6
    if (typeof keys === 'number') return keys
    return rrset && checkSignature(rrset, keys.values, run.time)
  }

  /** The keys of a zone, or the extended error if they fail validation. */
  function keysOf(cache: Cache, zone: string, run: Run): RRset | number | undefined {
    const known = findEntry(cache, zone, 'DNSKEY', run.time)
    if (known) return known.rrset
    if (run.depth >= MAX_DEPTH) return undefined
    run.depth += 1
    const result = fetch(cache, zone, 'DNSKEY', run)
    run.depth -= 1
    return result.kind === 'entry' ? result.entry.rrset : result.ede[0]
  }

  return {
    query,
    poison(rrset, time) {
      const until = time + rrset.ttl * 1_000
      const entry = { rrset, rcode: 'NOERROR' as const, storedAt: time, until, trust: TRUST.answer }
      pickCache().entries.set(`${rrset.name} ${rrset.type}`, entry)
    },
  }
}

/** When Knot Resolver takes a record for expiring. */
const expiringMs = ({ storedAt, until }: CacheEntry) => 5_000 + (until - storedAt) / 100

const isSoa = ({ type }: RRset) => type === 'SOA'
