import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'

/** Makes tokens that cannot be altered. */
export type Signer = {
  /** `SIGNATURE_BYTES` that only this server can compute. `keyId`: under that key where it is known, else under the one in use. */
  sign(text: string, keyId?: string): Buffer
  /** Under any known key, so that what was signed before a rotation stays good. */
  isSigned(text: string, signature: Uint8Array): boolean
}

/**
 * What the server's `SECRET` is used for: keeping secrets in the database, and making tokens. During a rotation several
 * SECRETs are known: all open and verify, one seals and signs.
 */
export type Seal = Signer & {
  /** AES-256-GCM: version, key id, nonce, tag, ciphertext. `context` must be the same at opening. */
  close(text: string, context: string): Buffer
  /** Throws when the bytes were altered, belong to another context or were sealed under a SECRET that is not known. */
  open(sealed: Uint8Array, context: string): string
  /** Whether the bytes were sealed under the key in use. */
  isCurrent(sealed: Uint8Array): boolean
  /** A key of 256 bits for one further use, base64: of the key in use, or of another one that is known. */
  keyFor(use: string, keyId?: string): string
  /** The key in use, 8 hexadecimal digits. */
  readonly keyId: string
  /** Every key that is known. */
  keyIds(): string[]
  /** Adds what is not known yet; forgets nothing. */
  learn(secrets: readonly string[]): void
  /** Seals and signs with this key from now on. Throws for one that is not known. */
  use(keyId: string): void
}

/** Of 32: enough, and what is shown stays short. */
export const SIGNATURE_BYTES = 16

const VERSION = 1
const NONCE_OCTETS = 12
const TAG_OCTETS = 16
const HEAD_OCTETS = 1 + 4

type Key = { id: string; encryption: Buffer; signing: Buffer; derive(use: string): Buffer }

function keyOf(secret: string): Key {
  const derive = (use: string) => Buffer.from(hkdfSync('sha256', secret, 'zonewatch', use, 32))
  // The id precedes the sealed data and tells which SECRET opens it.
  const id = derive('key id').subarray(0, 4).toString('hex')
  return { id, encryption: derive('encryption'), signing: derive('signing'), derive }
}

/** The first of them is in use. */
export function createSeal(...secrets: [string, ...string[]]): Seal {
  const keys = new Map<string, Key>()
  const learn = (more: readonly string[]) => {
    for (const key of more.map(keyOf)) if (!keys.has(key.id)) keys.set(key.id, key)
  }
  learn(secrets)
  let current = keys.values().next().value!

  const signWith = ({ signing }: Key, text: string) =>
    createHmac('sha256', signing).update(text).digest().subarray(0, SIGNATURE_BYTES)
  const idIn = (sealed: Uint8Array) =>
    sealed[0] === VERSION ? Buffer.from(sealed.subarray(1, HEAD_OCTETS)).toString('hex') : undefined

  return {
    sign: (text, keyId) => signWith((keyId !== undefined && keys.get(keyId)) || current, text),
    isSigned: (text, signature) =>
      signature.length === SIGNATURE_BYTES &&
      [...keys.values()].some((key) => timingSafeEqual(signWith(key, text), signature)),
    isCurrent: (sealed) => idIn(sealed) === current.id,
    close(text, context) {
      const nonce = randomBytes(NONCE_OCTETS)
      const cipher = createCipheriv('aes-256-gcm', current.encryption, nonce).setAAD(Buffer.from(context))
      const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      const head = Buffer.concat([Buffer.of(VERSION), Buffer.from(current.id, 'hex')])
      return Buffer.concat([head, nonce, cipher.getAuthTag(), ciphertext])
    },
    open(sealed, context) {
      const octets = Buffer.from(sealed)
      const key = keys.get(idIn(octets) ?? '')
      if (!key) {
        throw new Error('This was sealed under another SECRET. Add that one to SECRET_PREVIOUS.')
      }
      const tagAt = HEAD_OCTETS + NONCE_OCTETS
      const decipher = createDecipheriv('aes-256-gcm', key.encryption, octets.subarray(HEAD_OCTETS, tagAt))
      decipher.setAAD(Buffer.from(context)).setAuthTag(octets.subarray(tagAt, tagAt + TAG_OCTETS))
      return decipher.update(octets.subarray(tagAt + TAG_OCTETS), undefined, 'utf8') + decipher.final('utf8')
    },
    keyFor: (use, keyId) => ((keyId !== undefined && keys.get(keyId)) || current).derive(use).toString('base64'),
    get keyId() {
      return current.id
    },
    keyIds: () => [...keys.keys()],
    learn,
    use(keyId) {
      const key = keys.get(keyId)
      if (!key) throw new Error(`The key ${keyId} is not known.`)
      current = key
    },
  }
}
