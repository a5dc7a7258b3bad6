import { type DnssecCauseCode, dnssecCauseText } from '#contract/dnssec.ts'
import type { Clock } from '../../clock.ts'
import type { ExtendedError, Question, ServerAddress } from '../outcome.ts'
import type { PacketSender } from '../packet-sender.ts'
import type { AuthoritativeClient } from '../resolver/authoritative-client.ts'
import type { ZoneView } from '../resolver/zone-view.ts'
import { OverloadError } from '../semaphore.ts'
import { type Ds, parseDsText } from './dnssec-records.ts'
import { type DnssecVerdict, unknown } from './dnssec-verdict.ts'
import { querySigned } from './signed-query.ts'
import { type ValidationInput, validateResponse } from './validate.ts'
import { decodeSignedMessage, TYPE } from './wire-records.ts'

/** `ede`: the cause as a validating resolver would report it. RFC 8914 section 4. */
export type ServerVerdict = DnssecVerdict & { ede: ExtendedError[] }

/** Validates what the delegated servers of a zone answer, whatever resolvers have in their caches. */
export type ServerValidator = {
  /**
   * What a validator makes of the answer of one server. `server`: n for the n-th name server of the view. The DS records are those that
   * the servers of the parent zone give now; with those of any of them an answer may be secure. Rejects only when aborted.
   */
  validate(question: Question, view: ZoneView, server: number, signal: AbortSignal): Promise<ServerVerdict>
}

const QUERY_TIMEOUT_MS = 1_000
/** Servers of the parent zone whose DS records are compared, and addresses of a name server that are tried. */
const MAX_PARENTS = 4
const MAX_ADDRESSES = 2

/** `port`: of all name servers. */
export function createServerValidator({
  sender,
  authoritativeClient,
  clock,
  port,
  timeoutMs = QUERY_TIMEOUT_MS,
}: {
  sender: PacketSender
  authoritativeClient: AuthoritativeClient
  clock: Clock
  port: number
  timeoutMs?: number
}): ServerValidator {
  async function validate(question: Question, view: ZoneView, server: number, signal: AbortSignal) {
    const { zone } = view
    if (zone === '' || view.isDenied || view.isUnknown) return unknown('no_answer')
    const dsSets = await findDsSets(view, signal)
    if (dsSets.length === 0) return unknown('no_answer')
    const ask = (name: string, type: number) => queryAddresses(view.nameServers[server]?.ips ?? [], name, type, signal)
    const signed = { name: question.name, type: TYPE[question.type] }
    const [keyResponse, response] = await Promise.all([ask(zone, TYPE.DNSKEY), ask(signed.name, signed.type)])
    if (!keyResponse || !response) return unknown('no_answer')
    const input = { zone, keyResponse, response, question: signed, now: clock.now() }
    const verdict = bestOf(dsSets.map((ds) => validateResponse({ ...input, ds })))
    return mayBeOfOtherZone(verdict) && (await isOfOtherZone(ask, input)) ? unknown('other_zone') : verdict
  }

  /** The different sets of DS records that the servers of the parent zone give. */
  async function findDsSets(view: ZoneView, signal: AbortSignal): Promise<Ds[][]> {
    const since = clock.elapsed()
    const numbers = Array.from(
      { length: Math.min(Math.max(1, view.parents.length), MAX_PARENTS) },
      (_, number) => number,
    )
    const replies = await Promise.all(
      numbers.map((firstServer) =>
        authoritativeClient.query({ name: view.zone, type: 'DS' }, { firstServer, since, signal }),
      ),
    )
    const sets = replies.flatMap(({ outcome }) => {
      if (outcome.kind === 'nodata') return [[]]
      return outcome.kind === 'answer' ? [outcome.rrset.values] : []
    })
    const different = new Map(sets.map((values) => [[...values].sort().join('\n'), values]))
    return [...different.values()].map((values) => values.flatMap((text) => parseDsText(text) ?? []))
  }

  async function queryAddresses(ips: readonly string[], name: string, type: number, signal: AbortSignal) {
    for (const ip of ips.slice(0, MAX_ADDRESSES)) {
      const address: ServerAddress = { ip, port }
      const packet = await querySigned(sender, address, { name, type }, { timeoutMs, signal })
      if (packet) return packet
    }
    return undefined
  }

  return {
    async validate(question, view, server, signal) {
      try {
        const verdict = await validate(question, view, server, signal)
        return { ...verdict, ede: extendedErrorsOf(verdict) }
      } catch (error) {
        if (error instanceof OverloadError) return { ...unknown('no_answer'), ede: [] }
        throw error
      }
    },
  }
}

const BEST_FIRST = ['secure', 'unsigned', 'unknown', 'bogus'] as const

/** Resolvers use the DS records of any server of the parent zone, so what is bogus must be so with all of them. */
function bestOf(verdicts: readonly DnssecVerdict[]): DnssecVerdict {
  return BEST_FIRST.flatMap((kind) => verdicts.find((verdict) => verdict.kind === kind) ?? [])[0]!
}

/** A server that also serves an unsigned zone below answers for that one, without signatures. */
function mayBeOfOtherZone(verdict: DnssecVerdict): boolean {
  if (verdict.kind !== 'bogus') return false
  return verdict.cause.code === 'missing_signature' || verdict.cause.code === 'missing_denial'
}

type Ask = (name: string, type: number) => Promise<Buffer | undefined>

/** The owner of the SOA record is the zone of the name. */
async function isOfOtherZone(
  ask: Ask,
  { zone, question }: Pick<ValidationInput, 'zone' | 'question'>,
): Promise<boolean> {
  const packet = await ask(question.name, TYPE.SOA)
  const message = packet && decodeSignedMessage(packet)
  const soa = message && [...message.answer, ...message.authority].find(({ type }) => type === TYPE.SOA)
  return soa !== undefined && soa.name !== zone
}

/** RFC 8914 section 4. */
const EXTENDED_ERRORS: Readonly<Record<DnssecCauseCode, number>> = {
  no_keys: 9,
  no_key_for_ds: 9,
  keys_unsigned: 9,
  missing_signature: 10,
  no_key_for_signature: 6,
  signature_expired: 7,
  signature_not_yet_valid: 8,
  invalid_signature: 6,
  missing_denial: 12,
  bad_denial: 12,
  bad_wildcard: 12,
  bad_dname: 6,
}

function extendedErrorsOf(verdict: DnssecVerdict): ExtendedError[] {
  if (verdict.kind !== 'bogus') return []
  return [{ code: EXTENDED_ERRORS[verdict.cause.code], text: dnssecCauseText(verdict.cause) }]
}
