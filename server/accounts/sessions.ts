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

/** The person who is signed in where a request comes from. */
export type Session = {
  id: string
  userId: string
  name: string
  email: string
  hasSecondFactor: boolean
}

const DAY_MS = 24 * 60 * 60_000
/** How long the session of a browser that is remembered lasts since it was last used; another one lasts a day at most. */
export const PERSISTENT_MS = 30 * DAY_MS
/** So many sessions of one person there can be; a further one ends the oldest. */
const MAX_SESSIONS = 100

type SessionDeps = Pick<Deps, 'db' | 'clock' | 'config'>

const READING = new Set(['GET', 'HEAD'])

/**
 * The session that a request's cookie names; undefined without one. A page of another site reads nothing by it, and changes
 * nothing: that throws 403.
 */
export async function readSession(deps: SessionDeps, request: FastifyRequest): Promise<Session | undefined> {
  const token = readCookie(request, deps.config, 'session_token')
  if (token === undefined) return undefined
  const isReading = READING.has(request.method)
  const source = requestSource(request, deps.config.baseUrl)
  if (source === 'another site' && isReading) return undefined
  if (source !== 'this server' && !isReading) throw crossSiteProblem()
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

/** Once a day, where the browser is remembered. */
export async function prolongSession(
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

/** The browser gets it by `setSessionCookie`, once the transaction is committed. */
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
    // SQLite knows no OFFSET without a LIMIT.
    .limit(1_000)
    .offset(MAX_SESSIONS)
  await db.deleteFrom('sessions').where('person_id', '=', userId).where('id', 'in', oldest).execute()
}

/** Where the person is signed in, newest first. */
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

/** Holds in every process at once. Throws `not_found` for one that is not the person's. */
export async function deleteSession(db: Database, userId: string, id: string): Promise<void> {
  const query = db.deleteFrom('sessions').where('person_id', '=', userId).where('id', '=', id)
  if ((await query.executeTakeFirst()).numDeletedRows === 0n) throw notFound()
}

/** All of a person, or all but one. */
export async function deleteSessions(db: Database, userId: string, exceptId = ''): Promise<void> {
  await db.deleteFrom('sessions').where('person_id', '=', userId).where('id', '!=', exceptId).execute()
}

export const setSessionCookie = (config: SetsCookies, reply: FastifyReply, { token, isPersistent }: StartedSession) =>
  setCookie(reply, config, 'session_token', token, isPersistent ? PERSISTENT_MS : undefined)

type CookieName = 'session_token' | 'two_factor' | 'trust_device' | 'device'
type SetsCookies = Pick<Deps['config'], 'baseUrl'>

/** A browser takes a `__Host-` cookie from this host over https alone, for all its paths: RFC 6265bis section 4.1.3.2. */
const cookieName = ({ baseUrl }: SetsCookies, name: CookieName) =>
  `${baseUrl.startsWith('https:') ? '__Host-' : ''}zonewatch.${name}`

export function readCookie({ headers }: FastifyRequest, config: SetsCookies, name: CookieName): string | undefined {
  const start = `${cookieName(config, name)}=`
  const parts = headers.cookie?.split(';').map((part) => part.trim())
  return parts?.find((part) => part.startsWith(start))?.slice(start.length)
}

/** `lifetimeMs`: undefined for as long as the browser is open; 0 removes it. */
export function setCookie(
  reply: FastifyReply,
  config: SetsCookies,
  name: CookieName,
  value: string,
  lifetimeMs?: number,
): void {
  const age = lifetimeMs === undefined ? '' : `; Max-Age=${lifetimeMs / 1_000}`
  const secure = config.baseUrl.startsWith('https:') ? '; Secure' : ''
  reply.header('set-cookie', `${cookieName(config, name)}=${value}; Path=/${age}; HttpOnly; SameSite=Lax${secure}`)
}

/**
 * Where a browser says that a request comes from: `this server`, which is one of its pages or the person, or `another site`.
 * `Sec-Fetch-Site` counts before `Origin`; no page can set either.
 */
export function requestSource(
  { headers, host }: FastifyRequest,
  baseUrl: string,
): 'this server' | 'another site' | 'unknown' {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || site === 'none' ? 'this server' : 'another site'
  const { origin } = headers
  if (origin === undefined) return 'unknown'
  const isOurs = origin === new URL(baseUrl).origin || (URL.canParse(origin) && new URL(origin).host === host)
  return isOurs ? 'this server' : 'another site'
}

export const crossSiteProblem = () =>
  forbidden('Cross-site request refused (Sec-Fetch-Site or Origin). Use the dashboard of this server.')

export const AUTH_PATH = '/dashboard/auth'
export const DONE = { status: true }

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is signed in; null for nobody. Only on routes about accounts. */
    session: Session | null
  }
}

/**
 * What every request about accounts passes: no page of another site sends it, and it is counted by person, or by address
 * where nobody is signed in.
 */
export function guardAccounts(scope: FastifyInstance, deps: Pick<Deps, 'db' | 'clock' | 'config'>): void {
  const { db, clock, config } = deps
  const limiter = new Limiter({ db, clock })
  refuseUnknownFields(scope)
  scope.decorateRequest('session', null)
  scope.addHook('onRequest', async (request, reply) => {
    const isReading = request.method === 'GET' || request.method === 'HEAD'
    if (!isReading && requestSource(request, config.baseUrl) === 'another site') throw crossSiteProblem()
    request.session = (await readSession(deps, request)) ?? null
    const who = request.session?.userId ?? clientNetwork(request.ip)
    const budget = budgetOf('dashboard', config.limits)
    enforceLimit(await limiter.take(who, budget), clock.now(), reply, { ...budget, isKnown: request.session !== null })
  })
}

/** In this scope somebody must be signed in: 401. */
export function requireSession(scope: FastifyInstance): void {
  scope.addHook('onRequest', async ({ session }) => {
    if (!session) throw unauthorized()
  })
}

/** Who is signed in, on a route that only such people reach. */
export function getSession({ session }: FastifyRequest): Session {
  if (!session) throw unauthorized()
  return session
}
