import { hash, randomInt } from 'node:crypto'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SHAPE = /^zw_[0-9A-Za-z]{43}$/

/** `zw_` and 43 base62 characters: 256 bits. Shown once; only its hash is kept. */
export function newApiKey(): string {
  return `zw_${Array.from({ length: 43 }, () => BASE62[randomInt(62)]).join('')}`
}

export const isApiKey = (text: string): boolean => SHAPE.test(text)

/** SHA-256, hex. A random key needs no slow hash, and looking up by the hash of what was sent leaks nothing by its timing. */
export const hashOfApiKey = (key: string): string => hash('sha256', key, 'hex')
