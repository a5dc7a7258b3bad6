import { type DnssecCauseCode, dnssecCauseText, type UnknownReason } from '#contract/dnssec.ts'
import type { Clock } from '../../clock.ts'
import type { DnssecValidator, ValidationCall } from '../dnssec-validator.ts'
import type { ExtendedError, Question, ServerAddress } from '../outcome.ts'
import type { PacketSender } from '../packet-sender.ts'
import type { ZoneView } from '../resolver/zone-view.ts'
import { OverloadError } from '../semaphore.ts'
import type { ChainOfTrust, Trust } from './chain-of-trust.ts'
import { type DnssecVerdict, unknown } from './dnssec-verdict.ts'
import { QUERY_TIMEOUT_MS, querySigned } from './signed-query.ts'
import type { SignedQuestion, ValidationInput } from './validate.ts'
import { decodeSignedMessage, TYPE } from './wire-records.ts'

/**
 * `ede`: the cause as a validating resolver would report it. RFC 8914 section 4. `above`: it is not the answer of the server that is
 * bogus, but the DS records of the zone or of one above it, as this server of that `zone` above gives them.
 */
export type ServerVerdict = DnssecVerdict & { ede: ExtendedError[]; above?: { nameServer: string; zone: string } }

/** Validates what the delegated servers of a zone answer, whatever resolvers have in their caches. */
export type ServerValidator = {
  /** Whether the chain of trust begins at a trust anchor. Otherwise the DS records of each zone are taken as given. */
  hasTrustAnchors: boolean
  /**
   * What a validator makes of the answer of one server. `server`: n for the n-th name server of the view. The DS records are those that
   * the servers of the parent zone give now; with those of any of them an answer may be secure. Rejects only when aborted.
   */
  validate(question: Question, view: ZoneView, server: number, call: ValidationCall): Promise<ServerVerdict>
}

/** Servers of the parent zone whose DS records are compared, and addresses of a name server that are tried. */
const MAX_PARENTS = 4
const MAX_ADDRESSES = 2

/** `port`: of all name servers. */
export function createServerValidator({
  sender,
  chainOfTrust,
  clock,
  port,
  timeoutMs = QUERY_TIMEOUT_MS,
}: {
  sender: PacketSender
  chainOfTrust: ChainOfTrust
  clock: Clock
  port: number
  timeoutMs?: number
}): ServerValidator {
  async function validate(question: Question, view: ZoneView, server: number, call: ValidationCall): Promise<Verdict> {
    const { zone } = view
    if (zone === '' || view.isDenied || view.isUnknown) return unknown('no_answer')
    const askServer = (name: string, type: number) => queryAddresses(view, server, { name, type }, call)
    const signed = { name: question.name, type: TYPE[question.type] }
    let isOther: Promise<boolean> | undefined
    let responses: Promise<[Buffer | undefined, Buffer | undefined]> | undefined
    const validateWith = async (trust: Trust): Promise<Verdict> => {
      if (trust.kind === 'bogus') {
        const { cause, nameServer, above: zone } = trust
        return { kind: 'bogus', cause, above: { nameServer, zone } }
      }
      if (trust.kind !== 'secure') return trust
      responses ??= Promise.all([askServer(zone, TYPE.DNSKEY), askServer(signed.name, signed.type)])
      const [keyResponse, response] = await responses
      if (!keyResponse || !response) return unknown('no_answer')
      const input = { zone, keyResponse, response, question: signed, now: clock.now() }
      const verdict = await chainOfTrust.validate({ ...input, ds: trust.ds }, call)
      if (!mayBeOfOtherZone(verdict)) return verdict
      isOther ??= isOfOtherZone(askServer, input)
      return (await isOther) ? unknown('other_zone') : verdict
    }
    const validateAt = async (parent: number) => {
      const verdict = await validateWith(await chainOfTrust.find(zone, parent, false, call))
      if (verdict.kind !== 'bogus' || verdict.above) return verdict
      // Signatures may be removed on the way to Zonewatch since the zones above were validated.
      return await validateWith(await chainOfTrust.find(zone, parent, true, call))
    }
    const first = await validateAt(0)
    const parents = Math.min(view.parents.length, MAX_PARENTS)
    if (first.kind === 'secure' || first.kind === 'unsigned' || parents < 2) return first
    // The DS records of any server of the parent will do.
    const others = await Promise.all(Array.from({ length: parents - 1 }, (_, index) => validateAt(index + 1)))
    return bestOf([first, ...others])
  }

  async function queryAddresses(
    { zone, nameServers }: ZoneView,
    server: number,
    question: SignedQuestion,
    { signal, group, budget }: ValidationCall,
  ) {
    for (const ip of (nameServers[server]?.ips ?? []).slice(0, MAX_ADDRESSES)) {
      const address: ServerAddress = { ip, port }
      const packet = await querySigned(sender, address, question, { timeoutMs, signal, group, zone, budget })
      if (packet) return packet
    }
    return undefined
  }

  return {
    hasTrustAnchors: chainOfTrust.hasTrustAnchors,
    async validate(question, view, server, call) {
      try {
        const found = await validate(question, view, server, call)
        // What was not asked may have shown that the answer is not bogus.
        const isCutShort = (found.kind === 'unknown' || found.kind === 'bogus') && isExhausted(call, view)
        const verdict = isCutShort ? unknown('too_many_queries') : found
        return { ...verdict, ede: extendedErrorsOf(verdict) }
      } catch (error) {
        if (error instanceof OverloadError) return { ...unknown('no_answer'), ede: [] }
        throw error
      }
    },
  }
}

/** For the rules of a check. Undefined without trust anchors: DS records that are taken as given cannot overrule a resolver. */
export function validatorForRules(validator: ServerValidator): DnssecValidator | undefined {
  if (!validator.hasTrustAnchors) return undefined
  return {
    async validate(...given) {
      const { kind, ede, above, ...verdict } = await validator.validate(...given)
      const isRetried = 'reason' in verdict && RETRIED.includes(verdict.reason)
      // With a clock that is wrong, the signatures of the root zone fail.
      const isProven = above?.zone !== '' && 'cause' in verdict && !REMOVED.includes(verdict.cause.code)
      if (above && isProven) return { kind: 'bogus_above', ede }
      if (above || (kind === 'unknown' && !isRetried)) return { kind: 'indeterminate' }
      return kind === 'bogus' ? { kind, ede } : { kind }
    },
  }
}

/** What is missing may have been removed on the way. */
const REMOVED: readonly string[] = [
  ...(['missing_signature', 'missing_denial', 'keys_unsigned', 'no_keys'] satisfies DnssecCauseCode[]),
]
/** What did not arrive may arrive at the next check. */
const RETRIED: readonly string[] = ['no_answer', 'no_answer_above', 'too_many_queries'] satisfies UnknownReason[]

function isExhausted({ budget }: ValidationCall, { zone }: ZoneView): boolean {
  return budget !== undefined && budget.leftFor(zone) <= 0
}

type Verdict = DnssecVerdict & Pick<ServerVerdict, 'above'>

const BEST_FIRST = ['secure', 'unsigned', 'unknown', 'bogus'] as const

/** Resolvers use the DS records of any server of the parent zone, so what is bogus must be so with all of them. */
function bestOf(verdicts: readonly Verdict[]): Verdict {
  const byKind = BEST_FIRST.flatMap((kind) => verdicts.filter((verdict) => verdict.kind === kind))
  const [best] = byKind
  return byKind.find(({ kind, above }) => kind === best!.kind && !above) ?? best!
}

/** A server that also serves an unsigned zone below answers for that one, without signatures. */
function mayBeOfOtherZone(verdict: DnssecVerdict): boolean {
  if (verdict.kind !== 'bogus') return false
  return verdict.cause.code === 'missing_signature' || verdict.cause.code === 'missing_denial'
}

type AskServer = (name: string, type: number) => Promise<Buffer | undefined>

/** The owner of the SOA record is the zone of the name. */
async function isOfOtherZone(
  ask: AskServer,
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
