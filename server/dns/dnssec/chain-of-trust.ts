import type { DnssecCause, UnknownReason, UnsignedReason } from '#contract/dnssec.ts'
import type { Clock } from '../../clock.ts'
import type { ValidationCall } from '../dnssec-validator.ts'
import type { ServerAddress } from '../outcome.ts'
import type { PacketSender } from '../packet-sender.ts'
import type { AuthoritativeClient, AuthoritativeReply } from '../resolver/authoritative-client.ts'
import { parseServerAddress } from '../server-address.ts'
import { createSingleFlight } from '../single-flight.ts'
import { WeightedCache } from '../weighted-cache.ts'
import { type Ds, parseDs, parseDsText } from './dnssec-records.ts'
import type { DnssecVerdict } from './dnssec-verdict.ts'
import { isBelow } from './name-order.ts'
import { QUERY_TIMEOUT_MS, querySigned } from './signed-query.ts'
import { type SignedQuestion, type ValidationInput, validateResponse } from './validate.ts'
import { createValidationTurns } from './validation-turns.ts'
import { decodeSignedMessage, TYPE } from './wire-records.ts'

/**
 * Whether a validator can trust the data of a zone, and by which DS records: RFC 4035 section 5. `bogus`: the DS records, or those of a
 * zone above, fail validation. `nameServer`: the server of the parent zone that gave them. `above`: that parent zone.
 */
export type Trust =
  | { kind: 'secure'; ds: readonly Ds[] }
  | { kind: 'unsigned'; reason: UnsignedReason }
  | { kind: 'unknown'; reason: UnknownReason }
  | { kind: 'bogus'; cause: DnssecCause; nameServer: string; above: string }

/** How a validator comes from its trust anchors to the DS records of a zone. */
export type ChainOfTrust = {
  /** Within the work of the check, in the turn of its organization. */
  validate(input: Omit<ValidationInput, 'work'>, call: ValidationCall): Promise<DnssecVerdict>
  /** Otherwise the DS records of each zone are taken as given. */
  hasTrustAnchors: boolean
  /** `number`: begins with the n-th server of the parent zone. `isFresh`: nothing of the zones above is used from before. */
  find(zone: string, number: number, isFresh: boolean, call: ValidationCall): Promise<Trust>
}

type Given = {
  sender: PacketSender
  authoritativeClient: AuthoritativeClient
  clock: Clock
  timeoutMs?: number
}

/** For how long DS and DNSKEY records of the zones above are used, unless something is bogus. */
const ABOVE_MS = 15 * 60_000
/** Monitors of one zone that change at the same time share its DS records. */
const SHARED_MS = 5_000
const MAX_ZONES = 10_000
/** In octets. A response with DNSKEY records may have 64 KiB. */
const MAX_OCTETS = 16 * 1024 * 1024
/** A name has at most 127 labels, but no chain of delegations is that long. */
const MAX_CUTS = 10

const NO_ANSWER_ABOVE: Trust = { kind: 'unknown', reason: 'no_answer_above' }
const TOO_MANY_CUTS: Trust = { kind: 'unknown', reason: 'too_much_work' }
const UNSIGNED: Trust = { kind: 'unsigned', reason: 'no_ds' }

/**
 * Follows the chain from the trust anchors: the DNSKEY records of each zone above, and the signatures of the DS records below it.
 * `anchors`: DS records of the root zone; without any, the DS records of each zone are taken as given.
 */
export function createChainOfTrust({
  sender,
  authoritativeClient,
  clock,
  timeoutMs = QUERY_TIMEOUT_MS,
  anchors,
}: Given & { anchors: readonly Ds[] }): ChainOfTrust {
  const turns = createValidationTurns(clock)
  const validate: ChainOfTrust['validate'] = (input, call) =>
    turns.run(call, (work) => validateResponse({ ...input, work }))
  if (anchors.length === 0)
    return { validate, hasTrustAnchors: false, find: shared(trustDsAsGiven({ authoritativeClient, clock })) }
  const ask = (zone: string, server: ServerAddress, question: SignedQuestion, call: ValidationCall) => {
    const { signal, group, budget } = call
    return querySigned(sender, server, question, { timeoutMs, signal, group, budget, zone })
  }
  const trusts = createCache<Trust>(clock, weightOf)
  const keys = createCache<Buffer>(clock, ({ length }) => length)

  /** `maxAgeMs`: of what is known of the zone. */
  async function find(
    zone: string,
    number: number,
    maxAgeMs: Ages,
    cuts: number,
    call: ValidationCall,
  ): Promise<Trust> {
    if (zone === '') return { kind: 'secure', ds: anchors }
    if (cuts > MAX_CUTS) return TOO_MANY_CUTS
    const key = `${number} ${zone}`
    const known = trusts.find(key, maxAgeMs.zone)
    if (known) return known
    const trust = await learn(zone, number, maxAgeMs, cuts, call)
    if (trust.kind !== 'unknown') trusts.add(key, trust)
    return trust
  }

  async function learn(zone: string, number: number, { above: aboveMs }: Ages, cuts: number, call: ValidationCall) {
    const reply = await queryDs(authoritativeClient, clock, zone, number, cuts === 0, call)
    const server = reply && serverOf(reply)
    if (!server || !isBelow(zone, reply.zone)) return NO_ANSWER_ABOVE
    const verifyWith = async (ms: number): Promise<Trust> => {
      const above = await find(reply.zone, 0, { zone: ms, above: ms }, cuts + 1, call)
      if (above.kind === 'unsigned') return { kind: 'unsigned', reason: 'no_ds_above' }
      return above.kind === 'secure' ? await verify(zone, reply, server, above.ds, ms, call) : above
    }
    const trust = await verifyWith(aboveMs)
    // What is known of the zones above may be old.
    return trust.kind === 'bogus' && aboveMs > SHARED_MS ? await verifyWith(SHARED_MS) : trust
  }

  async function verify(
    zone: string,
    { zone: parent, nameServer = '' }: AuthoritativeReply,
    server: ServerAddress,
    ds: readonly Ds[],
    maxAgeMs: number,
    call: ValidationCall,
  ): Promise<Trust> {
    const [keyResponse, response] = await Promise.all([
      keysOf(parent, server, maxAgeMs, call),
      ask(parent, server, { name: zone, type: TYPE.DS }, call),
    ])
    if (!keyResponse || !response) return NO_ANSWER_ABOVE
    const question = { name: zone, type: TYPE.DS }
    const input = { zone: parent, ds, keyResponse, response, question, now: clock.now() }
    const verdict = await validate(input, call)
    switch (verdict.kind) {
      case 'secure': {
        const found = dsIn(response, zone)
        return found.length > 0 ? { kind: 'secure', ds: found.map(copyOf) } : UNSIGNED
      }
      case 'bogus':
        return { kind: 'bogus', cause: verdict.cause, nameServer, above: parent }
      case 'unsigned':
      case 'unknown':
        return verdict
    }
  }

  async function keysOf(zone: string, server: ServerAddress, maxAgeMs: number, call: ValidationCall) {
    const known = keys.find(zone, maxAgeMs)
    if (known) return known
    const response = await ask(zone, server, { name: zone, type: TYPE.DNSKEY }, call)
    if (response) keys.add(zone, response)
    return response
  }

  return {
    validate,
    hasTrustAnchors: true,
    find: shared((zone, number, isFresh, call) =>
      find(zone, number, isFresh ? { zone: 0, above: SHARED_MS } : { zone: SHARED_MS, above: ABOVE_MS }, 0, call),
    ),
  }
}

/** The servers of a zone are validated at the same time: they share the queries, and wait for no other organization's. */
function shared(find: ChainOfTrust['find']): ChainOfTrust['find'] {
  const singleFlight = createSingleFlight<Trust>()
  return (zone, number, isFresh, call) => {
    const key = `${number} ${isFresh} ${call.group ?? ''} ${zone}`
    return singleFlight(key, call.signal, () => find(zone, number, isFresh, call))
  }
}

/** In milliseconds: of what is known of the zone, and of the zones above it. */
type Ages = { zone: number; above: number }

/** The DS records as the servers of the parent zone give them. */
function trustDsAsGiven({
  authoritativeClient,
  clock,
}: Pick<Given, 'authoritativeClient' | 'clock'>): ChainOfTrust['find'] {
  return async (zone, number, _, call) => {
    const reply = await queryDs(authoritativeClient, clock, zone, number, true, call)
    if (!reply) return { kind: 'unknown', reason: 'no_answer' }
    const { outcome } = reply
    const ds = outcome.kind === 'answer' ? outcome.rrset.values.flatMap((text) => parseDsText(text) ?? []) : []
    return ds.length > 0 ? { kind: 'secure', ds } : UNSIGNED
  }
}

/** Undefined if no server says whether there are DS records. */
async function queryDs(
  client: AuthoritativeClient,
  clock: Clock,
  zone: string,
  firstServer: number,
  isFresh: boolean,
  call: ValidationCall,
): Promise<AuthoritativeReply | undefined> {
  const since = isFresh ? { since: clock.elapsed() } : {}
  const reply = await client.query(
    { name: zone, type: 'DS' },
    { firstServer, ...since, signal: call.signal, group: call.group, budget: call.budget },
  )
  return reply.outcome.kind === 'answer' || reply.outcome.kind === 'nodata' ? reply : undefined
}

function serverOf({ evidence }: AuthoritativeReply): ServerAddress | undefined {
  const parsed = parseServerAddress(evidence.at(-1)?.server ?? '')
  return parsed.ok ? parsed.server : undefined
}

function dsIn(response: Buffer, zone: string): Ds[] {
  const records = decodeSignedMessage(response)?.answer ?? []
  return records.flatMap(({ name, type, rdata }) => (name === zone && type === TYPE.DS ? (parseDs(rdata) ?? []) : []))
}

/** A copy, so that the cache does not hold the response. */
function copyOf(ds: Ds): Ds {
  return { ...ds, digest: Buffer.from(ds.digest) }
}

function createCache<T>(clock: Clock, weightOf: (value: T) => number) {
  const limit = { entries: MAX_ZONES, weight: MAX_OCTETS }
  const entries = new WeightedCache<{ value: T; at: number }>(limit, ({ value }) => weightOf(value))
  return {
    find(key: string, maxAgeMs: number): T | undefined {
      const entry = entries.get(key)
      return entry && clock.elapsed() - entry.at <= maxAgeMs ? entry.value : undefined
    },
    add: (key: string, value: T) => entries.set(key, { value, at: clock.elapsed() }),
  }
}

const weightOf = (trust: Trust) =>
  trust.kind === 'secure' ? trust.ds.reduce((sum, { digest }) => sum + digest.length, 0) : 0
