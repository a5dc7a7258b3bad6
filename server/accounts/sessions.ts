import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Sessions } from '#contract/account.ts'
import type { Database } from '../database/database.ts'
import type { Deps } from '../deps.ts'
import { clientNetwork, enforceLimit, refuseUnknownFields } from '../http/auth-and-rate-limit.ts'
import { Limiter } from '../http/limiter.ts'
import { budgetOf } from '../http/limits.ts'
import { newId } from '../ids.ts'
import { hashOfToken } from '../mail/links.ts'
import { forbidden, notFound, unauthorized } from '../problem.ts'
import { toIso } from '../times.ts'
import { newToken } from './account-tokens.ts'

/** A signed-in user in one browser. */
export type Session = {
  id: string
  userId: string
  name: string
  email: string
  hasSecondFactor: boolean
}

const DAY_MS = 24 * 60 * 60_000
/** A persistent session ends after this time without use, any other session after a day. */
export const PERSISTENT_MS = 30 * DAY_MS
/** Sessions of one user. Another session ends the oldest. */
const MAX_SESSIONS = 100

type SessionDeps = Pick<Deps, 'db' | 'clock' | 'config'>

const READ_METHODS = new Set(['GET', 'HEAD'])

/**
 * The session of the request's cookie; undefined without one. A request from another site has no session to read with, and
 * throws 403 if it would change something.
 */
export async function readSession(deps: SessionDeps, request: FastifyRequest): Promise<Session | undefined> {
  const token = readCookie(request, deps.config, 'session_token')
  if (token === undefined) return undefined
  const isRead = READ_METHODS.has(request.method)
  const source = requestSource(request, deps.config.baseUrl)
  if (source === 'another site' && isRead) return undefined
  if (source !== 'this server' && !isRead) throw crossSiteProblem()
  const row = await deps.db
    .selectFrom('sessions')
    .innerJoin('people', 'people.id', 'sessions.person_id')
    .select(['sessions.id', 'person_id', 'people.name', 'people.email', 'people.two_factor_enabled'])
    .where('token_hash', '=', hashOfToken(token))
    .where('expires_at', '>', deps.clock.now())
    .executeTakeFirst()
  if (!row) return undefined
  const { id, person_id: userId, name, email } = row
  return { id, userId, name, email, hasSecondFactor: row.two_factor_enabled === 1 }
}

/** Extends a persistent session, at most once a day. */
export async function extendSession(
  { db, clock, config }: SessionDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  { id }: Session,
): Promise<void> {
  const now = clock.now()
  const { numUpdatedRows } = await db
    .updateTable('sessions')
    .set({ expires_at: now + PERSISTENT_MS })
    .where('id', '=', id)
    .where('is_persistent', '=', 1)
    .where('expires_at', '<=', now + PERSISTENT_MS - DAY_MS)
    .executeTakeFirst()
  const token = readCookie(request, config, 'session_token')
  if (numUpdatedRows > 0n && token) setSessionCookie(config, reply, { token, isPersistent: true })
}

export type StartedSession = { token: string; isPersistent: boolean }

/** Call `setSessionCookie` after the transaction is committed. */
export async function insertSession(
  db: Database,
  { ip, headers }: FastifyRequest,
  { userId, isPersistent }: { userId: string; isPersistent: boolean },
  now: number,
): Promise<StartedSession> {
  const token = newToken()
  await db
    .insertInto('sessions')
    .values({
      ...{ id: newId('ses', now), token_hash: hashOfToken(token), person_id: userId, created_at: now },
      ...{ expires_at: now + (isPersistent ? PERSISTENT_MS : DAY_MS), is_persistent: isPersistent ? 1 : 0 },
      ...{ address: ip, user_agent: headers['user-agent']?.slice(0, 500) ?? null },
    })
    .execute()
  await deleteOldestSessions(db, userId)
  return { token, isPersistent }
}

async function deleteOldestSessions(db: Database, userId: string): Promise<void> {
  const oldest = db
    .selectFrom('sessions')
    .select('id')
    .where('person_id', '=', userId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    // SQLite requires a LIMIT for an OFFSET.
    .limit(1_000)
    .offset(MAX_SESSIONS)
  await db.deleteFrom('sessions').where('person_id', '=', userId).where('id', 'in', oldest).execute()
}

/** Newest first. */
export async function listSessions(db: Database, { id, userId }: Session, now: number): Promise<Sessions['data']> {
  const rows = await db
    .selectFrom('sessions')
    .select(['id', 'created_at', 'expires_at', 'address', 'user_agent'])
    .where('person_id', '=', userId)
    .where('expires_at', '>', now)
    .orderBy('created_at', 'desc')
    .limit(MAX_SESSIONS)
    .execute()
  return rows.map((row) => ({
    id: row.id,
    created: toIso(row.created_at),
    expires: toIso(row.expires_at),
    address: row.address,
    user_agent: row.user_agent,
    current: row.id === id,
  }))
}

/** Takes effect at once in every process. Throws `not_found` for a session of another user. */
export async function deleteSession(db: Database, userId: string, id: string): Promise<void> {
  const query = db.deleteFrom('sessions').where('person_id', '=', userId).where('id', '=', id)
  if ((await query.executeTakeFirst()).numDeletedRows === 0n) throw notFound()
}

/** All sessions of a user, except one if given. */
export async function deleteSessions(db: Database, userId: string, exceptId = ''): Promise<void> {
  await db.deleteFrom('sessions').where('person_id', '=', userId).where('id', '!=', exceptId).execute()
}

export const setSessionCookie = (config: CookieConfig, reply: FastifyReply, { token, isPersistent }: StartedSession) =>
  setCookie(reply, config, 'session_token', token, isPersistent ? PERSISTENT_MS : undefined)

type CookieName = 'session_token' | 'two_factor' | 'trust_device' | 'device'
type CookieConfig = Pick<Deps['config'], 'baseUrl'>

/** Browsers accept a `__Host-` cookie only over https, from this host and for all paths: RFC 6265bis section 4.1.3.2. */
const cookieName = ({ baseUrl }: CookieConfig, name: CookieName) =>
  `${baseUrl.startsWith('https:') ? '__Host-' : ''}zonewatch.${name}`

export function readCookie({ headers }: FastifyRequest, config: CookieConfig, name: CookieName): string | undefined {
  const start = `${cookieName(config, name)}=`
  const parts = headers.cookie?.split(';').map((part) => part.trim())
  return parts?.find((part) => part.startsWith(start))?.slice(start.length)
}

/** `lifetimeMs`: undefined until the browser is closed; 0 deletes the cookie. */
export function setCookie(
  reply: FastifyReply,
  config: CookieConfig,
  name: CookieName,
  value: string,
  lifetimeMs?: number,
): void {
  const age = lifetimeMs === undefined ? '' : `; Max-Age=${lifetimeMs / 1_000}`
  const secure = config.baseUrl.startsWith('https:') ? '; Secure' : ''
  reply.header('set-cookie', `${cookieName(config, name)}=${value}; Path=/${age}; HttpOnly; SameSite=Lax${secure}`)
}

/**
 * Where a request comes from, according to the browser. `this server`: one of its pages, or the user directly.
 * `Sec-Fetch-Site` takes precedence over `Origin`. No page can set these headers.
 */
export function requestSource(
  { headers, host }: FastifyRequest,
  baseUrl: string,
): 'this server' | 'another site' | 'unknown' {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || site === 'none' ? 'this server' : 'another site'
  const { origin } = headers
  if (origin === undefined) return 'unknown'
  const isSameOrigin = origin === new URL(baseUrl).origin || (URL.canParse(origin) && new URL(origin).host === host)
  return isSameOrigin ? 'this server' : 'another site'
}

export const crossSiteProblem = () =>
  forbidden('Cross-site request refused (Sec-Fetch-Site or Origin). Use the dashboard of this server.')

export const AUTH_PATH = '/dashboard/auth'
export const DONE = { status: true }

declare module 'fastify' {
  interface FastifyRequest {
    /** Null if nobody is signed in. Only on account routes. */
    session: Session | null
  }
}

/**
 * For account routes: refuses requests from other sites, and limits requests by user, or by network if nobody is signed
 * in.
 */
export function protectAccountRoutes(scope: FastifyInstance, deps: Pick<Deps, 'db' | 'clock' | 'config'>): void {
  const { db, clock, config } = deps
  const limiter = new Limiter({ db, clock })
  refuseUnknownFields(scope)
  scope.decorateRequest('session', null)
  scope.addHook('onRequest', async (request, reply) => {
    if (!READ_METHODS.has(request.method) && requestSource(request, config.baseUrl) === 'another site')
      throw crossSiteProblem()
    request.session = (await readSession(deps, request)) ?? null
    const subject = request.session?.userId ?? clientNetwork(request.ip)
    const budget = budgetOf('dashboard', config.limits)
    enforceLimit(await limiter.take(subject, budget), clock.now(), reply, {
      ...budget,
      isKnown: request.session !== null,
    })
  })
}

/** Requests of this scope need a session: 401. */
export function requireSession(scope: FastifyInstance): void {
  scope.addHook('onRequest', async ({ session }) => {
    if (!session) throw unauthorized()
  })
}

/** Throws 401 without a session. */
export function getSession({ session }: FastifyRequest): Session {
  if (!session) throw unauthorized()
  return session
}
