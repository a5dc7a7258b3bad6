import { createPublicKey, hash, type KeyObject, verify } from 'node:crypto'
import { nameToWire } from '../names.ts'
import type { Dnskey, Ds } from './dnssec-records.ts'

type Algorithm = {
  /** Throws or returns undefined if the octets are not a public key of the algorithm. */
  key(publicKey: Buffer): KeyObject | undefined
  digest: string | null
  /** What a verification costs: see `ValidationWork`. */
  steps(publicKey: Buffer): number
  /** In octets; undefined if it depends on the key. */
  signatureLength?: number
}

/**
 * The algorithms that validators must or should support: RFC 8624 section 3.1, RFC 9904. Data that is signed only with others counts as
 * unsigned: RFC 4035 section 5.2.
 */
const ALGORITHMS: Readonly<Record<number, Algorithm>> = {
  5: { key: (octets) => rsaKey(octets, 512), digest: 'sha1', steps: rsaSteps }, // RFC 3110
  7: { key: (octets) => rsaKey(octets, 512), digest: 'sha1', steps: rsaSteps }, // RFC 5155 section 2
  8: { key: (octets) => rsaKey(octets, 512), digest: 'sha256', steps: rsaSteps }, // RFC 5702
  10: { key: (octets) => rsaKey(octets, 1024), digest: 'sha512', steps: rsaSteps }, // RFC 5702
  13: { key: (octets) => ecKey(octets, 'P-256', 32), digest: 'sha256', signatureLength: 64, steps: () => 50 }, // RFC 6605
  14: { key: (octets) => ecKey(octets, 'P-384', 48), digest: 'sha384', signatureLength: 96, steps: () => 200 }, // RFC 6605
  15: { key: (octets) => edwardsKey(octets, 'Ed25519', 32), digest: null, signatureLength: 64, steps: () => 35 }, // RFC 8080
  16: { key: (octets) => edwardsKey(octets, 'Ed448', 57), digest: null, signatureLength: 114, steps: () => 65 }, // RFC 8080
}

/** RFC 4034 section 5.1.4, RFC 4509, RFC 6605. */
const DIGESTS: Readonly<Record<number, string>> = { 1: 'sha1', 2: 'sha256', 4: 'sha384' }
const SHA_1 = 1

export const isSupported = (algorithm: number): boolean => ALGORITHMS[algorithm] !== undefined

/** The DS records to use. Those with SHA-1 only if there are no others. RFC 4509 section 3. */
export function usableDs(ds: readonly Ds[]): Ds[] {
  const supported = ds.filter(({ algorithm, digestType }) => isSupported(algorithm) && DIGESTS[digestType])
  const stronger = supported.filter(({ digestType }) => digestType !== SHA_1)
  return stronger.length > 0 ? stronger : supported
}

/** Whether the digest is of the key. RFC 4034 section 5.1.4. */
export function matchesDs({ keyTag, algorithm, digestType, digest }: Ds, zone: string, key: Dnskey): boolean {
  const name = DIGESTS[digestType]
  if (name === undefined || keyTag !== key.keyTag || algorithm !== key.algorithm) return false
  return hash(name, Buffer.concat([nameToWire(zone), key.rdata]), 'buffer').equals(digest)
}

/** Whether the signature is of the data and by the key. False also for keys and signatures that are malformed. */
export function isSignatureValid({ algorithm, publicKey }: Dnskey, data: Buffer, signature: Buffer): boolean {
  const supported = ALGORITHMS[algorithm]
  if (!supported) return false
  const { digest, signatureLength } = supported
  if (signatureLength !== undefined && signature.length !== signatureLength) return false
  try {
    const key = supported.key(publicKey)
    return key !== undefined && verify(digest, data, { key, dsaEncoding: 'ieee-p1363' }, signature)
  } catch {
    return false // OpenSSL refuses the key, such as a point that is not on the curve
  }
}

/** What a verification with the key costs: see `ValidationWork`. As measured, besides hashing the data. */
export const verificationSteps = ({ algorithm, publicKey }: Dnskey): number =>
  ALGORITHMS[algorithm]?.steps(publicKey) ?? 0

/** It grows with the square of the modulus, and with the length of the exponent. */
function rsaSteps(octets: Buffer): number {
  const isUsual = octets[0]! > 0 && octets[0]! <= USUAL_EXPONENT
  return Math.ceil(6 * (octets.length / 128) ** 2 * (isUsual ? 1 : 4))
}

/** In octets: 3 and 65537. */
const USUAL_EXPONENT = 3
const MAX_MODULUS = 4096
/** In octets. Larger exponents make a verification slow: CVE-2023-50387 is not the only way to waste time. */
const MAX_EXPONENT = 8

/** `minBits`: RFC 5702 section 2. The exponent's length in one or three octets, the exponent, the modulus: RFC 3110 section 2. */
function rsaKey(octets: Buffer, minBits: number): KeyObject | undefined {
  if (octets.length < 3) return undefined
  const isLong = octets[0] === 0
  const from = isLong ? 3 : 1
  const length = isLong ? octets.readUInt16BE(1) : octets[0]!
  const exponent = octets.subarray(from, from + length)
  const modulus = octets.subarray(from + length)
  const bits = 8 * modulus.length
  if (length === 0 || length > MAX_EXPONENT || bits < minBits || bits > MAX_MODULUS) return undefined
  const jwk = { kty: 'RSA', n: modulus.toString('base64url'), e: exponent.toString('base64url') }
  return createPublicKey({ key: jwk, format: 'jwk' })
}

function ecKey(octets: Buffer, curve: string, size: number): KeyObject | undefined {
  if (octets.length !== 2 * size) return undefined
  const [x, y] = [octets.subarray(0, size), octets.subarray(size)].map((part) => part.toString('base64url'))
  return createPublicKey({ key: { kty: 'EC', crv: curve, x: x!, y: y! }, format: 'jwk' })
}

function edwardsKey(octets: Buffer, curve: string, size: number): KeyObject | undefined {
  if (octets.length !== size) return undefined
  return createPublicKey({ key: { kty: 'OKP', crv: curve, x: octets.toString('base64url') }, format: 'jwk' })
}
