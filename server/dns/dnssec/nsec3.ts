import { hash } from 'node:crypto'
import { isSubdomain, nameToWire } from '../names.ts'
import type { Nsec3 } from './dnssec-records.ts'
import { labelsOf, lastLabels, wildcardOf } from './name-order.ts'
import type { ValidationWork } from './validation-work.ts'
import { isCut, lacksType, TYPE } from './wire-records.ts'

/** `opt_out`: an unsigned delegation may exist, so validators take the answer for unsigned. RFC 5155 section 9.2. */
export type Nsec3Proof = 'proven' | 'opt_out' | 'not_proven' | 'too_much_work'

/**
 * As many iterations as BIND and Unbound of 2024 accept; with more, the answer counts as unsigned. RFC 9276 section 3.2 allows that
 * for any number above 0.
 */
export const MAX_ITERATIONS = 150

const SHA_1 = 1 // RFC 5155 section 11
const OPT_OUT = 1

type Hashed = Nsec3 & { ownerHash: Buffer }

/** NSEC3 records with valid signatures of the zone. Others than those with the parameters of the first are ignored: RFC 5155 section 8.2. */
export class Nsec3Chain {
  readonly #records: Hashed[]
  readonly #zone: string
  readonly #work: ValidationWork

  constructor(records: readonly Nsec3[], zone: string, work: ValidationWork) {
    this.#zone = zone
    this.#work = work
    const known = records.filter(({ algorithm, flags }) => algorithm === SHA_1 && (flags & ~OPT_OUT) === 0)
    const first = known[0]
    this.#records = known.flatMap((record) => {
      const ownerHash = hashInOwner(record.owner, zone)
      const isSame = record.iterations === first?.iterations && record.salt.equals(first.salt)
      return isSame && ownerHash && record.nextHash.length === ownerHash.length ? { ...record, ownerHash } : []
    })
  }

  get hasTooManyIterations(): boolean {
    return this.#records.some(({ iterations }) => iterations > MAX_ITERATIONS)
  }

  /** RFC 5155 section 8.4. */
  proveNxdomain(name: string): Nsec3Proof {
    return this.#withinWork(() => {
      const proof = this.#closestEncloser(name)
      const wildcard = proof && this.#covering(wildcardOf(proof.encloser))
      return !wildcard ? 'not_proven' : provenBy(proof.cover)
    })
  }

  /** RFC 5155 sections 8.5 to 8.7. */
  proveNodata(name: string, type: number): Nsec3Proof {
    return this.#withinWork(() => {
      const own = this.#matching(name)
      if (own) return lacksType(own.types, type) ? 'proven' : 'not_proven'
      const proof = this.#closestEncloser(name)
      if (!proof) return 'not_proven'
      const wildcard = this.#matching(wildcardOf(proof.encloser))
      if (wildcard) return lacksType(wildcard.types, type) ? provenBy(proof.cover) : 'not_proven'
      // An unsigned delegation, or a name above unsigned delegations only.
      return isOptOut(proof.cover) ? 'opt_out' : 'not_proven'
    })
  }

  /** RFC 5155 section 8.8. */
  proveWildcard(name: string, encloser: string): Nsec3Proof {
    return this.#withinWork(() => {
      const cover = this.#covering(lastLabels(name, labelsOf(encloser).length + 1))
      return cover ? provenBy(cover) : 'not_proven'
    })
  }

  #withinWork(prove: () => Nsec3Proof): Nsec3Proof {
    const proof = prove()
    return this.#work.isExhausted ? 'too_much_work' : proof
  }

  /** The closest ancestor that exists, and the record that covers the name one label longer. RFC 5155 section 8.3. */
  #closestEncloser(name: string): { encloser: string; cover: Hashed } | undefined {
    for (let labels = labelsOf(name).length - 1; labels >= labelsOf(this.#zone).length; labels--) {
      const encloser = lastLabels(name, labels)
      const match = this.#matching(encloser)
      if (!match) continue
      // Names below a cut or a DNAME record are not in the zone.
      if (isCut(match.types) || match.types.has(TYPE.DNAME)) return undefined
      const cover = this.#covering(lastLabels(name, labels + 1))
      return cover && { encloser, cover }
    }
    return undefined
  }

  #matching(name: string): Hashed | undefined {
    const hashed = this.#hash(name)
    return hashed && this.#records.find(({ ownerHash }) => ownerHash.equals(hashed))
  }

  #covering(name: string): Hashed | undefined {
    const hashed = this.#hash(name)
    return hashed && this.#records.find((record) => covers(record, hashed))
  }

  /** Undefined when too much work was done. */
  #hash(name: string): Buffer | undefined {
    const first = this.#records[0]
    if (!first) return undefined
    const { iterations, salt } = first
    const key = `${iterations} ${salt.toString('base64')} ${name}`
    return this.#work.hash(key, iterations + 1, () => nsec3Hash(name, salt, iterations))
  }
}

/** RFC 5155 section 5. */
export function nsec3Hash(name: string, salt: Buffer, iterations: number): Buffer {
  let digest = hash('sha1', Buffer.concat([nameToWire(name), salt]), 'buffer')
  for (let count = 0; count < iterations; count++) digest = hash('sha1', Buffer.concat([digest, salt]), 'buffer')
  return digest
}

/** The last record of the chain leads back to the first. */
function covers({ ownerHash, nextHash }: Hashed, hashed: Buffer): boolean {
  const isAfter = Buffer.compare(ownerHash, hashed) < 0
  const isBefore = Buffer.compare(hashed, nextHash) < 0
  return Buffer.compare(ownerHash, nextHash) < 0 ? isAfter && isBefore : isAfter || isBefore
}

const isOptOut = ({ flags }: Nsec3) => (flags & OPT_OUT) !== 0
const provenBy = (cover: Nsec3): Nsec3Proof => (isOptOut(cover) ? 'opt_out' : 'proven')

const BASE32_HEX = '0123456789abcdefghijklmnopqrstuv' // RFC 4648 section 7
const HASH_CHARACTERS = 32

/** The hash is the first label; the rest is the zone. RFC 5155 section 3. */
function hashInOwner(owner: string, zone: string): Buffer | undefined {
  const label = labelsOf(owner)[0] ?? ''
  if (label.length !== HASH_CHARACTERS || !isSubdomain(owner, zone)) return undefined
  if (labelsOf(owner).length !== labelsOf(zone).length + 1) return undefined
  let bits = 0n
  for (const character of label) {
    const value = BASE32_HEX.indexOf(character)
    if (value < 0) return undefined
    bits = (bits << 5n) | BigInt(value)
  }
  return Buffer.from(bits.toString(16).padStart(40, '0'), 'hex')
}
