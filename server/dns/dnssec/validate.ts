import { isSubdomain, wireLength } from '../names.ts'
import { matchesDs, usableDs } from './algorithms.ts'
import { type Denial, verifyDenial } from './denial.ts'
import { type Ds, isZoneKey, parseDnskey, parseTarget } from './dnssec-records.ts'
import { bogus, type DnssecVerdict, type NotSecure, unknown, unsigned } from './dnssec-verdict.ts'
import { isBelow, labelsOf } from './name-order.ts'
import { isOfZoneBelow, type SignedRrset, type SigningZone, toRrsets, verifyRrset } from './signatures.ts'
import { RESPONSE_STEPS, ValidationWork } from './validation-work.ts'
import { decodeSignedMessage, FLAG_AA, type SignedMessage, TYPE } from './wire-records.ts'

/** `type`: the code. */
export type SignedQuestion = { name: string; type: number }

/**
 * `ds`: the DS records of the zone at its parent, which are trusted. `keyResponse`, `response`: of one server of the zone, to queries
 * for DNSKEY and for the question, with the DO bit (RFC 4035 section 3.2.1). `now`: UTC epoch milliseconds. `work`: what the validations
 * of the check may still cost; this one is taken from it.
 */
export type ValidationInput = {
  zone: string
  ds: readonly Ds[]
  keyResponse: Buffer
  response: Buffer
  question: SignedQuestion
  now: number
  work?: ValidationWork | undefined
}

const MAX_CHAIN = 16
/** More than any zone uses. A parent or a zone with more could make every comparison of digests slow. */
const MAX_DS = 24
const MAX_KEYS = 64

/** What a validator makes of the response, without asking anybody else. Never throws, whatever the packets contain. RFC 4035 section 5. */
export function validateResponse({ work, ...input }: ValidationInput): DnssecVerdict {
  const shared = work ?? new ValidationWork(RESPONSE_STEPS)
  return shared.within(RESPONSE_STEPS, (part) => validateWithin(input, part))
}

function validateWithin(
  { zone, ds, keyResponse, response, question, now }: Omit<ValidationInput, 'work'>,
  work: ValidationWork,
): DnssecVerdict {
  const trust = validateKeys({ zone, ds, keyResponse, now }, work)
  if (trust.kind !== 'secure') return trust
  const message = decodeSignedMessage(response)
  if (!message) return unknown('malformed')
  const isAnswer = message.rcode === 'NOERROR' || message.rcode === 'NXDOMAIN'
  if (!isAnswer || !(message.flags & FLAG_AA)) return unknown('no_answer')
  const verdict = validateMessage(message, question, trust.signing)
  if (verdict.kind !== 'secure') return verdict
  return { kind: 'secure', expiresAt: Math.min(verdict.expiresAt, trust.expiresAt) }
}

type TrustedKeys = { kind: 'secure'; expiresAt: number; signing: SigningZone }

/** The keys of the zone, if one that a DS record matches signed them all. RFC 4035 section 5.2. */
export function validateKeys(
  { zone, ds, keyResponse, now }: Pick<ValidationInput, 'zone' | 'ds' | 'keyResponse' | 'now'>,
  work = new ValidationWork(RESPONSE_STEPS),
): TrustedKeys | NotSecure {
  if (ds.length === 0) return unsigned('no_ds')
  const usable = usableDs(ds).slice(0, MAX_DS)
  if (usable.length === 0) return unsigned('unsupported_algorithms')
  const message = decodeSignedMessage(keyResponse)
  if (!message) return unknown('malformed')
  if (message.rcode !== 'NOERROR' || !(message.flags & FLAG_AA)) return unknown('no_answer')
  const params = { zone: zone || '.', key_tags: [...new Set(usable.map(({ keyTag }) => keyTag))] }
  const rrset = findRrset(toRrsets(message.answer), zone, TYPE.DNSKEY)
  if (!rrset) return bogus({ code: 'no_keys', params })
  const keys = rrset.rdata
    .slice(0, MAX_KEYS)
    .flatMap((rdata) => parseDnskey(rdata) ?? [])
    .filter(isZoneKey)
  const matching = keys.filter((key) => usable.some((each) => matchesDs(each, zone, key)))
  if (matching.length === 0) return bogus({ code: 'no_key_for_ds', params })
  const result = verifyRrset(rrset, { zone, keys: matching, now, work })
  if (result.kind === 'secure') return { ...result, signing: { zone, keys, now, work } }
  const code = result.kind === 'bogus' && result.cause.code
  const isUnsigned = code === 'missing_signature' || code === 'no_key_for_signature'
  return isUnsigned ? bogus({ code: 'keys_unsigned', params }) : result
}

/** Follows the CNAME chain as far as it is in the zone. */
function validateMessage(
  message: SignedMessage,
  { name: first, type }: SignedQuestion,
  signing: SigningZone,
): DnssecVerdict {
  const { zone } = signing
  const answer = toRrsets(message.answer)
  const authority = toRrsets(message.authority)
  let expiresAt = Number.POSITIVE_INFINITY
  const note = (result: { expiresAt: number }) => {
    expiresAt = Math.min(expiresAt, result.expiresAt)
  }

  function verify(rrset: SignedRrset): NotSecure | undefined {
    if (isOfZoneBelow(rrset, zone)) return unknown('other_zone')
    const result = verifyRrset(rrset, signing)
    if (result.kind !== 'secure') return result
    note(result)
    if (result.closestEncloser === undefined) return undefined
    return deny({ kind: 'wildcard', name: rrset.name, type: rrset.type, encloser: result.closestEncloser })
  }

  function deny(denial: Denial): NotSecure | undefined {
    const result = verifyDenial(denial, authority, signing)
    if (result.kind !== 'secure') return result
    note(result)
    return undefined
  }

  if (message.rcode === 'NXDOMAIN' && findRrset(answer, first, type)) return unknown('malformed')
  let name = first
  let optOut: NotSecure | undefined
  for (let count = 0; count < MAX_CHAIN && isSubdomain(name, zone); count++) {
    const step = nextStep(answer, name, type)
    // A server need not follow the chain.
    if (step.kind === 'denial' && name !== first && isChainCut(message, authority)) break
    const failure = step.kind === 'denial' ? denialOf(step.name) : verify(step.rrset)
    // What follows may still be bogus.
    if (failure && !isUnsignedDenial(failure)) return failure
    optOut ??= failure
    if (step.kind !== 'alias') break
    if (!step.isFollowed) return bogus({ code: 'bad_dname', params: { name } })
    name = step.target
  }
  return optOut ?? { kind: 'secure', expiresAt }

  function denialOf(last: string): NotSecure | undefined {
    if (authority.some((rrset) => isOtherZone(rrset, zone, last))) return unknown('other_zone')
    return deny({ kind: message.rcode === 'NXDOMAIN' ? 'nxdomain' : 'nodata', name: last, type })
  }
}

/** Whether the response ends with a CNAME record instead of saying what its target has. */
function isChainCut({ rcode }: SignedMessage, authority: readonly SignedRrset[]): boolean {
  return rcode === 'NOERROR' && !authority.some(({ type }) => type === TYPE.SOA)
}

const isUnsignedDenial = (failure: NotSecure) => failure.kind === 'unsigned'

/** A SOA record of a zone below denies for that one, and NS records there refer to it. */
function isOtherZone({ name, type }: SignedRrset, zone: string, last: string): boolean {
  return (type === TYPE.SOA || type === TYPE.NS) && isBelow(name, zone) && isSubdomain(last, name)
}

/** `isFollowed`: false if the CNAME record beside a DNAME record has another target. */
type Step =
  | { kind: 'answer'; rrset: SignedRrset }
  | { kind: 'alias'; rrset: SignedRrset; target: string; isFollowed: boolean }
  | { kind: 'denial'; name: string }

function nextStep(answer: readonly SignedRrset[], name: string, type: number): Step {
  const direct = findRrset(answer, name, type)
  const cname = findRrset(answer, name, TYPE.CNAME)
  // The CNAME record that follows from a DNAME record has no signature. RFC 6672 section 5.3.1.
  const dname = cname?.signatures.length ? undefined : findDname(answer, name)
  if (dname && (!direct || type === TYPE.CNAME)) {
    const target = dnameTarget(dname, name)
    const isFollowed = target !== undefined && (!cname || targetOf(cname) === target)
    if (type === TYPE.CNAME && isFollowed) return { kind: 'answer', rrset: dname }
    return { kind: 'alias', rrset: dname, target: target ?? '', isFollowed }
  }
  if (direct) return { kind: 'answer', rrset: direct }
  const target = cname && targetOf(cname)
  return target === undefined ? { kind: 'denial', name } : { kind: 'alias', rrset: cname!, target, isFollowed: true }
}

function findRrset(rrsets: readonly SignedRrset[], name: string, type: number): SignedRrset | undefined {
  return rrsets.find((rrset) => rrset.type === type && rrset.name === name)
}

function findDname(rrsets: readonly SignedRrset[], name: string): SignedRrset | undefined {
  return rrsets.find((rrset) => rrset.type === TYPE.DNAME && isBelow(name, rrset.name))
}

const targetOf = ({ rdata }: SignedRrset): string | undefined => parseTarget(rdata[0]!)

/** Undefined if it would be too long. RFC 6672 section 2.2. */
function dnameTarget(dname: SignedRrset, name: string): string | undefined {
  const target = targetOf(dname)
  if (target === undefined) return undefined
  const prefix = labelsOf(name).slice(0, labelsOf(name).length - labelsOf(dname.name).length)
  const joined = [...prefix, ...labelsOf(target)].join('.')
  return wireLength(joined) <= 255 ? joined : undefined
}
