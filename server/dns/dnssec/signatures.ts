import { hash } from 'node:crypto'
import type { DnssecCause } from '#contract/dnssec.ts'
import { isSubdomain, nameToWire } from '../names.ts'
import { isSignatureValid, isSupported, verificationSteps } from './algorithms.ts'
import { type Dnskey, parseRrsig, type Rrsig } from './dnssec-records.ts'
import { bogus, type NotSecure, type Secure, unknown } from './dnssec-verdict.ts'
import { isBelow, labelCount, lastLabels, wildcardOf } from './name-order.ts'
import type { ValidationWork } from './validation-work.ts'
import { TYPE, typeName, type WireRecord } from './wire-records.ts'

/** `rdata`: in canonical order, without duplicates. RFC 4034 section 6.3. */
export type SignedRrset = { name: string; type: number; rdata: Buffer[]; signatures: Rrsig[] }

/** `now`: UTC epoch milliseconds. */
export type SigningZone = { zone: string; keys: readonly Dnskey[]; now: number; work: ValidationWork }

/** `closestEncloser`: present if the RRset is from the wildcard below it. RFC 4035 section 5.3.4. */
export type Verified = Secure & { closestEncloser?: string }

/** Groups the records of a section, in their order. */
export function toRrsets(records: readonly WireRecord[]): SignedRrset[] {
  const rrsets = new Map<string, SignedRrset>()
  const rrsetOf = (name: string, type: number) => {
    const key = `${type} ${name}`
    const rrset = rrsets.get(key) ?? { name, type, rdata: [], signatures: [] }
    rrsets.set(key, rrset)
    return rrset
  }
  for (const { name, type, rdata } of records) {
    if (type !== TYPE.RRSIG) rrsetOf(name, type).rdata.push(rdata)
    else {
      const signature = parseRrsig(rdata)
      if (signature) rrsetOf(name, signature.typeCovered).signatures.push(signature)
    }
  }
  return [...rrsets.values()].flatMap((rrset) => {
    if (rrset.rdata.length === 0) return []
    const sorted = rrset.rdata.sort(Buffer.compare)
    return { ...rrset, rdata: sorted.filter((rdata, index) => index === 0 || !rdata.equals(sorted[index - 1]!)) }
  })
}

/** One valid signature is enough. RFC 4035 section 5.3.3, RFC 6840 section 5.11. */
export function verifyRrset(rrset: SignedRrset, { zone, keys, now, work }: SigningZone): Verified | NotSecure {
  const failures: DnssecCause[] = []
  const { name, type } = rrset
  // The longest valid one first, so that `expiresAt` is the time from which on none is valid.
  const candidates = rrset.signatures
    .filter((signature) => isApplicable(signature, rrset, zone))
    .sort((one, other) => serialToInstant(other.expiration, now) - serialToInstant(one.expiration, now))
  for (const signature of candidates) {
    const { keyTag } = signature
    const params = { name, type: typeName(type), key_tag: keyTag }
    const signers = keys.filter((key) => key.keyTag === keyTag && key.algorithm === signature.algorithm)
    const validFrom = serialToInstant(signature.inception, now)
    const expiresAt = serialToInstant(signature.expiration, now)
    // Both ends are included, in whole seconds. RFC 4034 section 3.1.5.
    if (signers.length === 0) failures.push({ code: 'no_key_for_signature', params })
    else if (expiresAt + 1000 <= now)
      failures.push({ code: 'signature_expired', params: { ...params, at: toText(expiresAt) } })
    else if (validFrom > now)
      failures.push({ code: 'signature_not_yet_valid', params: { ...params, at: toText(validFrom) } })
    else {
      const data = signedData(rrset, signature)
      for (const key of signers) {
        const isValid = verifyOnce(key, data, signature.signature, work)
        if (isValid === undefined) return unknown('too_much_work')
        if (isValid) return verified(name, signature, expiresAt)
      }
      failures.push({ code: 'invalid_signature', params })
    }
  }
  return bogus(mostSpecific(failures) ?? { code: 'missing_signature', params: { name, type: typeName(type) } })
}

/** Servers of a zone give the same signatures, and each is validated with the DS records of several servers above. */
function verifyOnce(key: Dnskey, data: Buffer, signature: Buffer, work: ValidationWork): boolean | undefined {
  // Hashing the data costs at most as much as one step for each KiB.
  if (!work.spend(Math.ceil(data.length / 1_024))) return undefined
  const id = hash('sha256', Buffer.concat([key.rdata, signature, data]))
  return work.verify(id, verificationSteps(key), () => isSignatureValid(key, data, signature))
}

/** RFC 4035 section 5.3.1. A wildcard above the zone cannot be in it, so `labels` are at least those of the signer. */
function isApplicable({ signer, algorithm, labels }: Rrsig, { name }: SignedRrset, zone: string): boolean {
  const isInZone = signer === zone && isSubdomain(name, zone)
  return isInZone && isSupported(algorithm) && labels <= labelCount(name) && labels >= labelCount(zone)
}

/** Whether the RRset is signed only by a zone below: its server serves both. */
export function isOfZoneBelow({ name, signatures }: SignedRrset, zone: string): boolean {
  const signers = signatures.map(({ signer }) => signer)
  return !signers.includes(zone) && signers.some((signer) => isBelow(signer, zone) && isSubdomain(name, signer))
}

function verified(name: string, { labels }: Rrsig, expiresAt: number): Verified {
  const isExpanded = labels < labelCount(name)
  return { kind: 'secure', expiresAt, ...(isExpanded && { closestEncloser: lastLabels(name, labels) }) }
}

/** RFC 4034 section 3.1.8.1; of a wildcard's RRset: RFC 4035 section 5.3.2. */
function signedData({ name, type, rdata }: SignedRrset, { labels, originalTtl, signedFields }: Rrsig): Buffer {
  const owner = nameToWire(labels < labelCount(name) ? wildcardOf(lastLabels(name, labels)) : name)
  const fixed = Buffer.alloc(8)
  fixed.writeUInt16BE(type, 0)
  fixed.writeUInt16BE(1, 2) // class IN
  fixed.writeUInt32BE(originalTtl, 4)
  const records = rdata.map((each) => {
    const length = Buffer.alloc(2)
    length.writeUInt16BE(each.length)
    return Buffer.concat([owner, fixed, length, each])
  })
  return Buffer.concat([signedFields, ...records])
}

/** The instant nearest to `now` with these seconds modulo 2^32. RFC 4034 section 3.1.5, RFC 1982. */
export function serialToInstant(seconds: number, now: number): number {
  const nowSeconds = Math.floor(now / 1000)
  return 1000 * (nowSeconds + ((seconds - nowSeconds) | 0))
}

const SPECIFIC_FIRST = [
  'invalid_signature',
  'signature_expired',
  'signature_not_yet_valid',
  'no_key_for_signature',
] as const

function mostSpecific(failures: readonly DnssecCause[]): DnssecCause | undefined {
  return SPECIFIC_FIRST.flatMap((code) => failures.find((failure) => failure.code === code) ?? [])[0]
}

const toText = (instant: number) => new Date(instant).toISOString()
