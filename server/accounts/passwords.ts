import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'

export type Passwords = {
  /** `<salt>:<key>` in hexadecimal digits. */
  hash(password: string): Promise<string>
  verify(input: { hash: string; password: string }): Promise<boolean>
}

/** 32 MiB and about 50 ms for each hash. */
const COST = { N: 16_384, r: 16, p: 1, maxmem: 64 * 1024 * 1024 }
const KEY_BYTES = 64

/** Tests use a cheaper hash. No setting does. */
export const scryptPasswords: Passwords = {
  async hash(password) {
    const salt = randomBytes(16).toString('hex')
    return `${salt}:${(await derive(password, salt)).toString('hex')}`
  },
  async verify({ hash, password }) {
    const [salt = '', key = ''] = hash.split(':')
    const expected = Buffer.from(key, 'hex')
    const derived = await derive(password, salt)
    return expected.length === KEY_BYTES && timingSafeEqual(expected, derived)
  },
}

/** Runs on libuv's thread pool. Two keyboards may produce different code points for one password, so it is normalized. */
function derive(password: string, salt: string): Promise<Buffer> {
  return new Promise((resolve, reject) =>
    scrypt(password.normalize('NFKC'), salt, KEY_BYTES, COST, (error, key) => (error ? reject(error) : resolve(key))),
  )
}
