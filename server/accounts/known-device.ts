import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Deps } from '../deps.ts'
import { subjectOf } from './account-attempts.ts'
import type { Guarded } from './attempts.ts'
import { cookiePrefixFor } from './auth.ts'

const NAME = 'zonewatch.device'
const YEAR_SECONDS = 365 * 24 * 60 * 60

type DeviceDeps = Pick<Deps, 'seal' | 'config'>

/**
 * What tries at a password are counted for. A browser in which the account signed in before is counted by itself, so that
 * strangers who try the account's password lock strangers out, and not its owner.
 */
export function signInSubject({ seal }: DeviceDeps, request: FastifyRequest, email: string): Guarded {
  const account = subjectOf('account', email)
  const [, nonce = '', signature = ''] = COOKIE.exec(request.headers.cookie ?? '') ?? []
  const isKnown = nonce !== '' && seal.isSigned(`device ${nonce} of ${account}`, Buffer.from(signature, 'base64url'))
  return isKnown ? { subject: `device ${nonce} of ${account}`, free: 10 } : { subject: account, free: 5 }
}

/** Remembers that the account signed in here. The cookie gives no access. */
export function rememberDevice({ seal, config }: DeviceDeps, reply: FastifyReply, email: string): void {
  const nonce = randomBytes(12).toString('base64url')
  const signature = seal.sign(`device ${nonce} of ${subjectOf('account', email)}`).toString('base64url')
  const prefix = cookiePrefixFor(config.baseUrl)
  const attributes = `Path=/; Max-Age=${YEAR_SECONDS}; HttpOnly; SameSite=Lax${prefix === '' ? '' : '; Secure'}`
  reply.header('set-cookie', `${prefix}${NAME}=${nonce}.${signature}; ${attributes}`)
}

const COOKIE = /(?:^|;\s*)(?:__Host-)?zonewatch\.device=([\w-]{16})\.([\w-]{22})(?:;|$)/
