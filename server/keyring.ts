import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'

/** Signs tokens. */
export type Signer = {
  /** An HMAC of `SIGNATURE_BYTES`. `keyId`: by default, and for an unknown key, the current key. */
  sign(text: string, keyId?: string): Buffer
  /** Accepts every known key, so that signatures from before a rotation stay valid. */
  verify(text: string, signature: Uint8Array): boolean
}

/**
 * Encrypts secrets in the database and signs tokens with keys derived from `SECRET`. During a rotation there are several
 * SECRETs: the current key encrypts and signs, every known key decrypts and verifies.
 */
export type Keyring = Signer & {
  /** AES-256-GCM: version, key id, nonce, tag, ciphertext. `decrypt` needs the same `context`. */
  encrypt(text: string, context: string): Buffer
  /** Throws if the bytes were changed, or if the context or SECRET is another one. */
  decrypt(encrypted: Uint8Array, context: string): string
  /** Whether the current key encrypted the bytes. */
  isCurrent(encrypted: Uint8Array): boolean
  /** A key of 256 bits for another purpose, base64. `keyId`: by default, and for an unknown key, the current key. */
  deriveKey(purpose: string, keyId?: string): string
  /** The id of the current key, 8 hexadecimal digits. */
  readonly keyId: string
  /** The ids of all known keys. */
  keyIds(): string[]
  addSecrets(secrets: readonly string[]): void
  /** Makes a known key the current one. Throws for an unknown key. */
  useKey(keyId: string): void
}

/** Half of an HMAC-SHA256: enough, and tokens stay short. */
export const SIGNATURE_BYTES = 16

const VERSION = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Version and key id. */
const HEADER_BYTES = 1 + 4

type Key = { id: string; encryption: Buffer; signing: Buffer; derive(purpose: string): Buffer }

function newKey(secret: string): Key {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', secret, 'zonewatch', purpose, 32))
  const id = derive('key id').subarray(0, 4).toString('hex')
  return { id, encryption: derive('encryption'), signing: derive('signing'), derive }
}

/** The first secret is the current one. */
export function createKeyring(...secrets: [string, ...string[]]): Keyring {
  const keys = new Map<string, Key>()
  const addSecrets = (added: readonly string[]) => {
    for (const key of added.map(newKey)) if (!keys.has(key.id)) keys.set(key.id, key)
  }
  addSecrets(secrets)
  let current = keys.values().next().value!
  const findKey = (keyId = '') => keys.get(keyId) ?? current

  const signWith = ({ signing }: Key, text: string) =>
    createHmac('sha256', signing).update(text).digest().subarray(0, SIGNATURE_BYTES)
  const keyIdOf = (encrypted: Uint8Array) =>
    encrypted[0] === VERSION ? Buffer.from(encrypted.subarray(1, HEADER_BYTES)).toString('hex') : undefined

  return {
    sign: (text, keyId) => signWith(findKey(keyId), text),
    verify: (text, signature) =>
      signature.length === SIGNATURE_BYTES &&
      [...keys.values()].some((key) => timingSafeEqual(signWith(key, text), signature)),
    isCurrent: (encrypted) => keyIdOf(encrypted) === current.id,
    encrypt(text, context) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', current.encryption, nonce).setAAD(Buffer.from(context))
      const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([Buffer.of(VERSION), Buffer.from(current.id, 'hex'), nonce, cipher.getAuthTag(), ciphertext])
    },
    decrypt(encrypted, context) {
      const bytes = Buffer.from(encrypted)
      const key = keys.get(keyIdOf(bytes) ?? '')
      if (!key) throw new Error('This was encrypted with another SECRET. Add that SECRET to SECRET_PREVIOUS.')
      const tagStart = HEADER_BYTES + NONCE_BYTES
      const tagEnd = tagStart + TAG_BYTES
      const decipher = createDecipheriv('aes-256-gcm', key.encryption, bytes.subarray(HEADER_BYTES, tagStart))
      decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(tagStart, tagEnd))
      return decipher.update(bytes.subarray(tagEnd), undefined, 'utf8') + decipher.final('utf8')
    },
    deriveKey: (purpose, keyId) => findKey(keyId).derive(purpose).toString('base64'),
    get keyId() {
      return current.id
    },
    keyIds: () => [...keys.keys()],
    addSecrets,
    useKey(keyId) {
      const key = keys.get(keyId)
      if (!key) throw new Error(`The key ${keyId} is unknown.`)
      current = key
    },
  }
}
