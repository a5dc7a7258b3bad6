import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { fieldError } from '#contract/field-errors.ts'
import type { OidcSettings } from '../config/oidc.ts'
import { forbidden, invalid } from '../problem.ts'

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

/** The beginnings of the passwords that attackers try first, in lower case, without the digits and signs that people add at the end. */
const COMMON = new Set(
  (
    'password passw0rd p@ssword p@ssw0rd pa$$word pa$$w0rd passwort motdepasse contraseña wachtwoord letmein welcome willkommen changeme ' +
    'administrator admin adminadmin rootroot toor qwerty qwertz azerty qwertyui qwertyuiop qwertzui qwertzuiop asdfghjk asdfghjkl zxcvbnm ' +
    'qazwsx qazwsxedc 1qaz2wsx 1q2w3e4r 1q2w3e4r5t zaq12wsx q1w2e3r4 abcdefgh abcdefghi abcd1234 abc123abc iloveyou ilovey0u trustno sunshine ' +
    'princess football baseball basketball superman batman starwars pokemon dragon monkey shadow master michael jennifer jessica jordan ' +
    'charlie ashley computer internet whatever secret topsecret default guest testtest test tester zonewatch hello helloworld access ' +
    'liverpool chelsea arsenal killer hunter ranger mustang corvette maverick midnight samantha alexander elizabeth christopher'
  ).split(' '),
)

/** Throws 400 for a password that attackers try first. `field`: of the password in the body. */
export function refuseCommonPassword(password: string, field = 'password'): void {
  const text = password.normalize('NFKC').toLowerCase()
  const isSequence = [...text].every(
    (sign, index) => index < 1 || isNext(text.charCodeAt(index - 1), sign.charCodeAt(0)),
  )
  // One or two signs again and again.
  const isRepeated = new Set(text).size <= 2
  const letters = [...text]
  const stem = letters.slice(0, letters.findLastIndex((sign) => /\p{L}/u.test(sign)) + 1).join('')
  if (isSequence || isRepeated || COMMON.has(text) || COMMON.has(stem))
    throw invalid({ [field]: fieldError('common_password') })
}

/** 12345678, 87654321, 1234567890, abcdefgh. */
const isNext = (before: number, code: number): boolean =>
  Math.abs(code - before) <= 1 || (before === 0x39 && code === 0x30) || (before === 0x30 && code === 0x39)

/** Throws 403 with OIDC_ONLY. */
export function refusePasswordsIfOff({ oidc }: { oidc: OidcSettings }): void {
  if (!oidc.isOnly) return
  const names = oidc.providers.map(({ name }) => name).join(' or ')
  throw forbidden(`Passwords do not work on this server. Sign in with ${names}.`)
}
