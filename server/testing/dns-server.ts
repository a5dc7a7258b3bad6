import { isSubdomain } from '../dns/names.ts'
import type { ExtendedError, QuestionType, ServerAddress } from '../dns/outcome.ts'
import { createDelegations } from './dns-server-delegations.ts'
import { encodeReply, type Query, type Reply, readQuery } from './dns-server-reply.ts'
import { listenForQueries, type Transport } from './dns-server-sockets.ts'
import { createZone } from './dns-server-zone.ts'

/** One query as it came. */
export type Asked = { name: string; type: string; transport: Transport; edns: boolean; id: number; port: number }

/** Raw octets for a query: one packet, several, or none. Over TCP each is sent behind its length. */
export type Respond = (query: Buffer, transport: Transport) => Buffer | Buffer[] | null

/** A scriptable server. Where a script takes a name, `*` stands for every name that has no script of its own. */
export type DnsServer = {
  address: ServerAddress
  isAuthoritative: boolean
  /** `log` holds the last 1,000 queries; `of` counts all that came for a name. */
  asked: { total: number; udp: number; tcp: number; log: Asked[]; of(name: string, type?: QuestionType): number }
  /** `values` in canonical text, of further types as octets (`\\# 4 c0000201`): `10 mail.example.com`, `v=spf1 -all`, `0 issue "ca.example"`. `ttl` in seconds, else 300. */
  set(name: string, type: QuestionType, values: string[], options?: { ttl?: number }): void
  remove(name: string, type: QuestionType): void
  fail(name: string, rcode: string, ede?: ExtendedError): void
  /** Every question of the type is answered with the code, whatever the name. */
  failType(type: QuestionType, rcode: string): void
  drop(name: string): void
  delay(name: string, ms: number): void
  /** Sets TC over UDP and leaves the records out. */
  truncate(name: string): void
  respond(name: string, respond: Respond): void
  /** Takes back what `fail`, `drop`, `delay`, `truncate` and `respond` said. */
  recover(name: string): void
  /** Refers to these name servers for the zone and all below it: their names, each with the addresses given along. */
  delegate(zone: string, nameServers: Record<string, string[]>, options?: { ttl?: number }): void
  undelegate(zone: string): void
  /** Gives this many of the members with each answer, at random. */
  rotate(name: string, type: QuestionType, members: string[], size: number, random: () => number): void
  /** Fails the name as a validating server does: SERVFAIL unless the question says CD. */
  validate(name: string, ede: ExtendedError): void
  /** Forgets every record, script and delegation. */
  reset(): void
  /** From now on a query with an OPT record is answered FORMERR. */
  refuseEdns(): void
  /** From now on an alias is answered without its target. */
  leaveAliases(): void
  /** From now on an alias is answered with its target, as far as it is known here. */
  chaseAliases(): void
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
  rotation?: { type: QuestionType; members: string[]; size: number; random: () => number }
}

const MAX_LOG = 1_000

/**
 * A name server on UDP and TCP of one port, a free one unless given. `authoritative`: AA in place of RA, no chasing; with
 * `zones` it refuses what is in none of them.
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
  const { asked, note } = createRecord()
  let closing: Promise<void> | undefined
  let readsEdns = true
  let chases = !authoritative

  const sockets = await listenForQueries(ip, port, (octets, transport, fromPort, send) => {
    const query = readQuery(octets)
    if (!query) return
    const { name, type, edns } = query
    note({ name, type, edns, transport, id: query.packet.id ?? 0, port: fromPort })
    const script = scripts.get(name) ?? scripts.get('*') ?? {}
    if (script.drop) return
    const reply = () =>
      send([script.respond ? (script.respond(octets, transport) ?? []) : compose(query, script, transport)].flat())
    if (script.delayMs) later(script.delayMs, reply)
    else reply()
  })

  function compose(query: Query, script: Script, transport: Transport): Buffer {
    const payloadLimit = transport === 'tcp' ? 65_535 : script.truncate ? 0 : query.udpPayload
    const common = { authoritative, payloadLimit, ...(script.ede && { ede: script.ede }) }
    if (query.edns && !readsEdns)
      return encodeReply({ ...query, edns: false }, { ...common, found: { rcode: 'FORMERR' } })
    if (script.bogus && !isCheckingDisabled(query)) {
      return encodeReply(query, { ...common, ede: script.bogus, found: { rcode: 'SERVFAIL' } })
    }
    const { rotation } = script
    if (rotation) zone.set(query.name, rotation.type, pick(rotation), 0)
    const rcode = script.rcode ?? brokenTypes.get(query.type)
    if (rcode) return encodeReply(query, { ...common, found: { rcode } })
    // The DS records of a delegated zone are here. Without any, it answers like a server that knows no DNSSEC.
    const isDelegationSigner = query.type === 'DS' && zone.lookUp(query.name, 'DS', false).rcode === 'NOERROR'
    const referral = isDelegationSigner ? undefined : delegations.find(query.name)
    if (referral) return encodeReply(query, { ...common, authoritative: false, found: referral })
    if (!zones.some((each) => isSubdomain(query.name.replace(/\.$/, ''), each)))
      return encodeReply(query, refused(common))
    return encodeReply(query, { ...common, found: zone.lookUp(query.name, query.type, chases) })
  }

  function later(ms: number, act: () => void): void {
    const timer = setTimeout(() => {
      delayed.delete(timer)
      act()
    }, ms)
    delayed.add(timer)
  }

  function change(name: string, script: Script): void {
    scripts.set(name.toLowerCase(), { ...scripts.get(name.toLowerCase()), ...script })
  }

  return {
    address: { ip, port: sockets.port },
    isAuthoritative: authoritative,
    asked,
    set: (name, type, values, { ttl = 300 } = {}) => zone.set(name, type, values, ttl),
    remove: (name, type) => zone.remove(name, type),
    fail: (name, rcode, ede) => change(name, ede ? { rcode, ede } : { rcode }),
    failType: (type, rcode) => void brokenTypes.set(type, rcode),
    rotate: (name, type, members, size, random) => change(name, { rotation: { type, members, size, random } }),
    validate: (name, bogus) => change(name, { bogus }),
    drop: (name) => change(name, { drop: true }),
    delay: (name, delayMs) => change(name, { delayMs }),
    truncate: (name) => change(name, { truncate: true }),
    respond: (name, respond) => change(name, { respond }),
    recover: (name) => void scripts.delete(name.toLowerCase()),
    delegate: (...delegation) => delegations.add(...delegation),
    undelegate: (name) => delegations.remove(name),
    reset: () => {
      zone = createZone()
      delegations = createDelegations()
      scripts.clear()
      brokenTypes.clear()
      readsEdns = true
      chases = !authoritative
    },
    refuseEdns: () => {
      readsEdns = false
    },
    leaveAliases: () => {
      chases = false
    },
    chaseAliases: () => {
      chases = true
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

function pick({ members, size, random }: NonNullable<Script['rotation']>): string[] {
  const left = [...members]
  return Array.from({ length: size }, () => left.splice(Math.floor(random() * left.length), 1)[0]!)
}

function refused(common: Omit<Reply, 'found'>): Reply {
  return { ...common, authoritative: false, found: { rcode: 'REFUSED' } }
}

function createRecord(): { asked: DnsServer['asked']; note(query: Asked): void } {
  const counts = new Map<string, number>()
  const asked: DnsServer['asked'] = {
    total: 0,
    udp: 0,
    tcp: 0,
    log: [],
    of: (name, type = undefined) => counts.get(`${name} ${type ?? ''}`) ?? 0,
  }
  return {
    asked,
    note(query) {
      asked.total++
      asked[query.transport]++
      asked.log.push(query)
      if (asked.log.length > MAX_LOG) asked.log.shift()
      for (const type of ['', query.type])
        counts.set(`${query.name} ${type}`, (counts.get(`${query.name} ${type}`) ?? 0) + 1)
    },
  }
}
