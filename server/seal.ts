import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'

/** Makes tokens that cannot be altered. */
export type Signer = {
  /** `SIGNATURE_OCTETS` that only this server can compute. */
  sign(text: string): Buffer
  isSigned(text: string, signature: Uint8Array): boolean
}

/** What the server's `SECRET` is used for: keeping secrets in the database, and making tokens. */
export type Seal = Signer & {
  /** AES-256-GCM: version, key id, nonce, tag, ciphertext. `context` must be the same at opening. */
  close(text: string, context: string): Buffer
  /** Throws when the bytes were altered, belong to another context or were sealed under another SECRET. */
  open(sealed: Uint8Array, context: string): string
  /** Whether the bytes were sealed under this SECRET. */
  isOwn(sealed: Uint8Array): boolean
  /** A key of 256 bits for one further use, base64. */
  keyFor(use: string): string
}

/** Of 32: enough, and what is shown stays short. */
export const SIGNATURE_OCTETS = 16

const VERSION = 1
const NONCE_OCTETS = 12
const TAG_OCTETS = 16
const HEAD_OCTETS = 1 + 4

function createSigner(key: Uint8Array): Signer {
  const sign = (text: string) => createHmac('sha256', key).update(text).digest().subarray(0, SIGNATURE_OCTETS)
  return {
    sign,
    isSigned: (text, signature) => signature.length === SIGNATURE_OCTETS && timingSafeEqual(sign(text), signature),
  }
}

export function createSeal(secret: string): Seal {
  const derive = (use: string) => Buffer.from(hkdfSync('sha256', secret, 'zonewatch', use, 32))
  const encryption = derive('encryption')
  const signing = derive('signing')
  // The id of the key stands in front of what it sealed, so that a later server can tell which SECRET opens it.
  const keyId = derive('key id').subarray(0, 4)

  const isOwn = (sealed: Uint8Array) => sealed[0] === VERSION && keyId.equals(sealed.subarray(1, HEAD_OCTETS))

  return {
    ...createSigner(signing),
    isOwn,
    close(text, context) {
      const nonce = randomBytes(NONCE_OCTETS)
      const cipher = createCipheriv('aes-256-gcm', encryption, nonce).setAAD(Buffer.from(context))
      const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([Buffer.of(VERSION), keyId, nonce, cipher.getAuthTag(), ciphertext])
    },
    open(sealed, context) {
      const octets = Buffer.from(sealed)
      if (!isOwn(octets)) {
        throw new Error('This was sealed under another SECRET. Start with the SECRET that the database was made with.')
      }
      const tagAt = HEAD_OCTETS + NONCE_OCTETS
      const decipher = createDecipheriv('aes-256-gcm', encryption, octets.subarray(HEAD_OCTETS, tagAt))
      decipher.setAAD(Buffer.from(context)).setAuthTag(octets.subarray(tagAt, tagAt + TAG_OCTETS))
      return decipher.update(octets.subarray(tagAt + TAG_OCTETS), undefined, 'utf8') + decipher.final('utf8')
    },
    keyFor: (use) => derive(use).toString('base64'),
  }
}
