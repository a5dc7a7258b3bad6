import { isSubdomain } from '../dns/names.ts'
import type { ExtendedError, QuestionType, ServerAddress } from '../dns/outcome.ts'
import { createDelegations } from './dns-server-delegations.ts'
import { encodeReply, type Query, type Reply, readQuery } from './dns-server-reply.ts'
import { listenForQueries, type Transport } from './dns-server-sockets.ts'
import { createZone } from './dns-server-zone.ts'

/** One received query. */
export type ReceivedQuery = {
  name: string
  type: string
  transport: Transport
  edns: boolean
  id: number
  port: number
}

/** The raw packets that answer a query, none with null. Over TCP each is sent with its length in front. `zone`: as without a script. */
export type Respond = (query: Buffer, transport: Transport) => Buffer | Buffer[] | null | 'zone'

/** A scriptable DNS server. In a script, the name `*` means every name without its own script. */
export type DnsServer = {
  address: ServerAddress
  isAuthoritative: boolean
  /** `log` holds the last 1,000 queries; `count` says how many arrived for a name. */
  queries: {
    total: number
    udp: number
    tcp: number
    log: ReceivedQuery[]
    count(name: string, type?: QuestionType): number
  }
  /** `values` in canonical text, of further types as octets (`\\# 4 c0000201`): `10 mail.example.com`, `v=spf1 -all`, `0 issue "ca.example"`. `ttl` in seconds, else 300. */
  set(name: string, type: QuestionType, values: string[], options?: { ttl?: number | (() => number) }): void
  remove(name: string, type: QuestionType): void
  fail(name: string, rcode: string, ede?: ExtendedError): void
  /** Answers every query of the type with the response code, for all names. */
  failType(type: QuestionType, rcode: string): void
  drop(name: string): void
  delay(name: string, ms: number): void
  /** Answers over UDP with TC and without records. */
  truncate(name: string): void
  respond(name: string, respond: Respond): void
  /** Undoes `fail`, `drop`, `delay`, `truncate` and `respond`. */
  recover(name: string): void
  /** Refers queries at or below the zone to these name servers. Maps their names to their glue addresses. */
  delegate(zone: string, nameServers: Record<string, string[]>, options?: { ttl?: number }): void
  undelegate(zone: string): void
  /** Answers each query with `size` random members. */
  rotate(name: string, type: QuestionType, members: string[], size: number, random: () => number): void
  /** Fails the name as a validating server does: SERVFAIL unless the query has CD set. */
  validate(name: string, ede: ExtendedError): void
  /** Answers for the name with the AD bit, as a validating server does for a signed zone. The root is the empty string. */
  authenticate(name: string): void
  /** Removes all records, scripts and delegations. */
  reset(): void
  /** Answers queries that have an OPT record with FORMERR from now on. */
  refuseEdns(): void
  /** Answers a CNAME without the records of its target from now on. */
  stopFollowingCnames(): void
  /** Answers a CNAME with the records of its target from now on, if this server has them. */
  followCnames(): void
  close(): Promise<void>
}

type Script = {
  rcode?: string
  ede?: ExtendedError
  drop?: boolean
  delayMs?: number
  truncate?: boolean
  respond?: Respond
  bogus?: ExtendedError
  isAuthentic?: boolean
  rotation?: { type: QuestionType; members: string[]; size: number; random: () => number }
}

const MAX_LOG = 1_000

/**
 * Starts a DNS server on UDP and TCP of one port, a free one by default. With `authoritative` it sets AA instead of RA and
 * does not follow CNAMEs. With `zones` it refuses names outside of them.
 */
export async function startDnsServer(
  options: { port?: number; ip?: string; authoritative?: boolean; zones?: string[] } = {},
): Promise<DnsServer> {
  const { port = 0, ip = '127.0.0.1', authoritative = false, zones = [''] } = options
  let zone = createZone()
  let delegations = createDelegations()
  const scripts = new Map<string, Script>()
  const brokenTypes = new Map<string, string>()
  const delayed = new Set<NodeJS.Timeout>()
  const { queries, recordQuery } = createQueryLog()
  let closing: Promise<void> | undefined
  let readsEdns = true
  let followsCnames = !authoritative

  const sockets = await listenForQueries(ip, port, (packet, transport, fromPort, send) => {
    const query = readQuery(packet)
    if (!query) return
    const { name, type, edns } = query
    recordQuery({ name, type, edns, transport, id: query.packet.id ?? 0, port: fromPort })
    const script = scripts.get(name) ?? scripts.get('*') ?? {}
    if (script.drop) return
    const reply = () => {
      const response = script.respond ? script.respond(packet, transport) : 'zone'
      send([response === 'zone' ? compose(query, script, transport) : (response ?? [])].flat())
    }
    if (script.delayMs) runLater(script.delayMs, reply)
    else reply()
  })

  function compose(query: Query, script: Script, transport: Transport): Buffer {
    const payloadLimit = transport === 'tcp' ? 65_535 : script.truncate ? 0 : query.udpPayload
    const { ede, isAuthentic = false } = script
    const common = { authoritative, isAuthentic, payloadLimit, ...(ede && { ede }) }
    if (query.edns && !readsEdns)
      return encodeReply({ ...query, edns: false }, { ...common, result: { rcode: 'FORMERR' } })
    if (script.bogus && !isCheckingDisabled(query)) {
      return encodeReply(query, { ...common, ede: script.bogus, result: { rcode: 'SERVFAIL' } })
    }
    const { rotation } = script
    if (rotation) zone.set(query.name, rotation.type, pickMembers(rotation), 0)
    const rcode = script.rcode ?? brokenTypes.get(query.type)
    if (rcode) return encodeReply(query, { ...common, result: { rcode } })
    // This server has the DS records of a delegated zone. Without any, it answers like a server without DNSSEC.
    const hasDsRecords = query.type === 'DS' && zone.lookUp(query.name, 'DS', false).rcode === 'NOERROR'
    const referral = hasDsRecords ? undefined : delegations.find(query.name)
    if (referral) return encodeReply(query, { ...common, authoritative: false, result: referral })
    if (!zones.some((apex) => isSubdomain(query.name.replace(/\.$/, ''), apex)))
      return encodeReply(query, refused(common))
    return encodeReply(query, { ...common, result: zone.lookUp(query.name, query.type, followsCnames) })
  }

  function runLater(ms: number, action: () => void): void {
    const timer = setTimeout(() => {
      delayed.delete(timer)
      action()
    }, ms)
    delayed.add(timer)
  }

  function updateScript(name: string, script: Script): void {
    scripts.set(name.toLowerCase(), { ...scripts.get(name.toLowerCase()), ...script })
  }

  return {
    address: { ip, port: sockets.port },
    isAuthoritative: authoritative,
    queries,
    set: (name, type, values, { ttl = 300 } = {}) => zone.set(name, type, values, ttl),
    remove: (name, type) => zone.remove(name, type),
    fail: (name, rcode, ede) => updateScript(name, ede ? { rcode, ede } : { rcode }),
    failType: (type, rcode) => void brokenTypes.set(type, rcode),
    rotate: (name, type, members, size, random) => updateScript(name, { rotation: { type, members, size, random } }),
    validate: (name, bogus) => updateScript(name, { bogus }),
    authenticate: (name) => updateScript(name || '.', { isAuthentic: true }),
    drop: (name) => updateScript(name, { drop: true }),
    delay: (name, delayMs) => updateScript(name, { delayMs }),
    truncate: (name) => updateScript(name, { truncate: true }),
    respond: (name, respond) => updateScript(name, { respond }),
    recover: (name) => void scripts.delete(name.toLowerCase()),
    delegate: (...delegation) => delegations.add(...delegation),
    undelegate: (name) => delegations.remove(name),
    reset: () => {
      zone = createZone()
      delegations = createDelegations()
      scripts.clear()
      brokenTypes.clear()
      readsEdns = true
      followsCnames = !authoritative
    },
    refuseEdns: () => {
      readsEdns = false
    },
    stopFollowingCnames: () => {
      followsCnames = false
    },
    followCnames: () => {
      followsCnames = true
    },
    async close() {
      for (const timer of delayed) clearTimeout(timer)
      closing ??= sockets.close()
      await closing
    },
  }
}

function isCheckingDisabled({ packet }: Query): boolean {
  return ((packet.flags ?? 0) & 0x0010) !== 0
}

function pickMembers({ members, size, random }: NonNullable<Script['rotation']>): string[] {
  const remaining = [...members]
  return Array.from({ length: size }, () => remaining.splice(Math.floor(random() * remaining.length), 1)[0]!)
}

function refused(common: Omit<Reply, 'result'>): Reply {
  return { ...common, authoritative: false, result: { rcode: 'REFUSED' } }
}

function createQueryLog(): { queries: DnsServer['queries']; recordQuery(query: ReceivedQuery): void } {
  const counts = new Map<string, number>()
  const queries: DnsServer['queries'] = {
    total: 0,
    udp: 0,
    tcp: 0,
    log: [],
    count: (name, type = undefined) => counts.get(`${name} ${type ?? ''}`) ?? 0,
  }
  return {
    queries,
    recordQuery(query) {
      queries.total++
      queries[query.transport]++
      queries.log.push(query)
      if (queries.log.length > MAX_LOG) queries.log.shift()
      for (const type of ['', query.type])
        counts.set(`${query.name} ${type}`, (counts.get(`${query.name} ${type}`) ?? 0) + 1)
    },
  }
}
