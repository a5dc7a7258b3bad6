import { hash } from 'node:crypto'
import { randomBase62 } from './account-tokens.ts'

const SHAPE = /^zw_[0-9A-Za-z]{43}$/

/** `zw_` and 43 base62 characters: 256 bits. Shown once; only its hash is kept. */
export const newApiKey = (): string => `zw_${randomBase62(43)}`

export const isApiKey = (text: string): boolean => SHAPE.test(text)

/** SHA-256, hex. A random key needs no slow hash, and looking up by the hash of what was sent leaks nothing by its timing. */
export const hashOfApiKey = (key: string): string => hash('sha256', key, 'hex')
