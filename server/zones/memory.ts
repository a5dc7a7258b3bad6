import { type AnsweringServer, isAnswering, type ServerFacts, type ZoneFacts } from './facts.ts'
import { nextRegistration, type RegistrationMemory } from './registration-memory.ts'
import { isOlderSerial } from './serial.ts'

/** What later looks must know of earlier ones. Stored as JSON, and written only when it changes. */
export type ZoneMemory = {
  /** A look has seen it delegated. */
  wasDelegated: boolean
  servers: Record<string, SerialMemory>
  registration?: RegistrationMemory
}

/** `highest`: the serial that the server had before it went back; else its last one. `behindSince`: since when it has had this serial while another server has a newer one. */
export type SerialMemory = { serial: number; highest: number; behindSince: number | null }

export const NO_MEMORY: ZoneMemory = { wasDelegated: false, servers: {} }

/** The memory after a look. Pure. Without a change, the result is equal. */
export function nextMemory(before: ZoneMemory, facts: ZoneFacts): ZoneMemory {
  const registration = nextRegistration(before.registration, facts)
  const kept = registration === undefined ? {} : { registration }
  if (!facts.delegation) return { ...before, ...kept }
  const answering = facts.servers.filter(isAnswering)
  const servers: ZoneMemory['servers'] = {}
  // The order of the names is that of the facts, and is no change.
  for (const { name } of [...facts.servers].sort((one, other) => (one.name < other.name ? -1 : 1))) {
    const server = answering.find((each) => each.name === name)
    const known = before.servers[name]
    if (server) servers[name] = nextSerial(known, server, peersOf(server, answering), facts.at)
    else if (known) servers[name] = known
  }
  return { wasDelegated: true, servers, ...kept }
}

function nextSerial(
  before: SerialMemory | undefined,
  { response: { soa } }: AnsweringServer,
  peers: readonly AnsweringServer[],
  at: number,
): SerialMemory {
  const { serial } = soa
  const newest = newestSerial(peers)
  const isBehind = newest !== undefined && isOlderSerial(serial, newest)
  const behindSince = !isBehind ? null : before?.serial === serial ? (before.behindSince ?? at) : at
  // When all servers agree on a lower serial, nothing refers to the previous ones any more.
  const isLower = before !== undefined && isOlderSerial(serial, before.highest) && isBehind
  return { serial, highest: isLower ? before.highest : serial, behindSince }
}

/** The servers whose serials are comparable: those with the same primary. Two providers count their changes separately. */
export function peersOf(
  { response: { soa } }: AnsweringServer,
  servers: readonly AnsweringServer[],
): AnsweringServer[] {
  return servers.filter(({ response: { soa: other } }) => other.mname === soa.mname && other.rname === soa.rname)
}

export function newestSerial(servers: readonly AnsweringServer[]): number | undefined {
  const serials = servers.map(({ response: { soa } }) => soa.serial)
  return serials.reduce<number | undefined>(
    (newest, serial) => (newest === undefined || isOlderSerial(newest, serial) ? serial : newest),
    undefined,
  )
}

type Looked = { facts: Pick<ZoneFacts, 'at'>; servers: readonly ServerFacts[]; memory: ZoneMemory }

/** For how long the server has had its serial while another one with the same primary has a newer one. */
export function lagOf({ facts, servers, memory }: Looked, server: AnsweringServer) {
  const since = memory.servers[server.name]?.behindSince ?? null
  const newest = newestSerial(peersOf(server, servers.filter(isAnswering)))
  return { since, newest, behindForMs: since === null ? 0 : facts.at - since }
}
