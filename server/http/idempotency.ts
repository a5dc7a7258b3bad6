import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { fieldError } from '#contract/field-errors.ts'
import { type Database, inTransaction } from '../database/database.ts'
import type { Deps } from '../deps.ts'
import { conflict, invalid, Problem } from '../problem.ts'
import { yieldToEventLoop } from '../yield.ts'
import { setETag } from './conditional.ts'
import {
  findStoredRequest,
  lockRequest,
  MAX_BODY_BYTES,
  type RequestKey,
  remainingBytes,
  type StoredResponse,
  storeRequest,
} from './idempotency-store.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A POST that changes nothing here, so its response is not stored. */
    writesNothing?: boolean
    /** A PUT whose response is stored like that of a POST. */
    takesIdempotencyKey?: boolean
  }
  interface FastifyRequest {
    /** Set for a request with an `Idempotency-Key`. */
    idempotent: IdempotentRequest | null
  }
}

type IdempotencyDeps = Pick<Deps, 'db' | 'keyring' | 'clock'> & { config: Pick<Deps['config'], 'idempotencyBytes'> }

type IdempotentRequest = {
  deps: IdempotencyDeps
  key: RequestKey
  /** The response is stored, or comes from the store. */
  isDone: boolean
  /** An earlier request did some of the steps. */
  isResumed?: boolean
  /** The result of an earlier request whose response was too large to store. */
  earlier?: { result: unknown }
}

const KEY_PATTERN = /^[\x21-\x7e]{1,255}$/
const STORED_HEADERS = ['content-type', 'location', 'etag', 'x-error-code', 'x-error-fields']

/**
 * `Idempotency-Key` on every POST that changes something: `runIdempotent` stores the response for 24 hours, in the
 * transaction of the change. A repeated request gets the stored response. It is refused while the first one still runs.
 */
export function handleIdempotencyKeys(app: FastifyInstance, deps: IdempotencyDeps): void {
  const { db, keyring, clock, config } = deps
  /** Fingerprints of the requests that this process runs at the moment. */
  const running = new Map<string, string>()
  const idOf = ({ organizationId, owner, name }: RequestKey) => `${organizationId} ${owner} ${name}`
  app.decorateRequest('idempotent', null)

  app.addHook('preValidation', async (request, reply) => {
    const header = request.headers['idempotency-key']
    const { requiresAuth, writesNothing, takesIdempotencyKey } = request.routeOptions.config
    const isSupported = takesIdempotencyKey || (request.method === 'POST' && !writesNothing)
    if (header === undefined || !isSupported || !requiresAuth) return
    if (typeof header !== 'string' || !KEY_PATTERN.test(header)) {
      throw invalid({ 'Idempotency-Key': fieldError('invalid_idempotency_key') })
    }
    const key = requestKey(request, header)
    const runningFingerprint = running.get(idOf(key))
    if (runningFingerprint !== undefined) {
      throw runningFingerprint === key.fingerprint ? stillRunning(reply) : keyReused()
    }
    running.set(idOf(key), key.fingerprint)
    request.idempotent = { deps, key, isDone: false }

    const stored = await findStoredRequest(db, keyring, key, clock.now())
    if (stored.kind === 'none' || stored.kind === 'started') {
      request.idempotent.isResumed = stored.kind === 'started'
      if ((await remainingBytes(db, key, config.idempotencyBytes)) > 0) return
      request.idempotent.isDone = true
      throw storeFull(reply, config.idempotencyBytes)
    }
    if (stored.kind === 'completed') {
      request.idempotent.earlier = { result: stored.result }
      return
    }
    request.idempotent.isDone = true
    if (stored.kind === 'responded') return sendStored(stored.response, reply)
    throw keyReused()
  })

  app.addHook('onSend', async (request, reply, payload) => {
    const { idempotent } = request
    if (!idempotent) return payload
    try {
      if (!idempotent.isDone && isFinal(reply)) await storeRefusal(idempotent, toStoredResponse(reply, payload))
    } catch (err) {
      request.log.error({ err }, 'The response to a request with an Idempotency-Key could not be stored.')
    } finally {
      running.delete(idOf(idempotent.key))
    }
    return payload
  })
}

/** False for a refusal that depends on the caller or on the moment, such as a limit: the client can repeat the same request. */
const isFinal = (reply: FastifyReply) =>
  reply.statusCode < 500 &&
  ![402, 403].includes(reply.statusCode) &&
  reply.getHeader('x-error-code') !== 'limit_reached' &&
  !reply.hasHeader('retry-after')

/**
 * A response can contain what only some roles may see, so the fingerprint includes the role: a caller with another role is
 * refused. The response of a route that only admins may use, such as an API key, goes only to the caller who sent the request.
 */
function requestKey(request: FastifyRequest, header: string): RequestKey {
  const { organizationId, actor, role, userId } = request.context
  const name = hash('sha256', header)
  const content = `${request.url}\n${request.bodyHash}`
  const isPrivate = userId !== undefined || (request.routeOptions.config.writeRole ?? 'member') !== 'member'
  if (isPrivate) return { organizationId, owner: actor.id, name, fingerprint: hash('sha256', content) }
  return { organizationId, owner: organizationId, name, fingerprint: hash('sha256', `${content}\n${role}`) }
}

/** What a POST does. `R`: JSON, from which `respond` can build the response again. */
export type IdempotentOperation<P, R, T> = {
  /** Slow work and network requests. It writes nothing. */
  prepare?: () => Promise<P>
  /** Writes everything that the request changes, in this database. */
  execute: (db: Database, prepared: P) => Promise<R>
  /** Reads what was written, and sets status and headers. */
  respond: (db: Database, result: R) => T | Promise<T>
}

/**
 * Runs a POST. With an `Idempotency-Key`, its changes and its response are written in one transaction: a request that is
 * repeated after a crash gets the response, or runs if nothing was written.
 */
export async function runIdempotent<P, R, T>(
  request: FastifyRequest,
  reply: FastifyReply,
  db: Database,
  { prepare, execute, respond }: IdempotentOperation<P, R, T>,
): Promise<T> {
  const { idempotent } = request
  if (idempotent?.earlier) return await respondAgain(idempotent.earlier.result as R, idempotent, reply, respond)
  const prepared = (await prepare?.()) as P
  if (!idempotent) return await respond(db, await execute(db, prepared))
  const step = async (transaction: Database) => ({ result: await execute(transaction, prepared), isDone: true })
  return await runSteps(idempotent, reply, step, respond)
}

/** Work in several short transactions. Each continues from the result of the one before. `R`: JSON. */
export type IdempotentSteps<R, T> = {
  /** Writes nothing. */
  start: () => Promise<R>
  step: (db: Database, result: R) => Promise<{ result: R; isDone: boolean }>
  respond: (db: Database, result: R) => T | Promise<T>
}

/** Like `runIdempotent`. Each step stores its progress, and a repeated request continues from there. */
export async function runIdempotentSteps<R, T>(
  request: FastifyRequest,
  reply: FastifyReply,
  db: Database,
  { start, step, respond }: IdempotentSteps<R, T>,
): Promise<T> {
  const { idempotent } = request
  if (idempotent?.earlier) return await respondAgain(idempotent.earlier.result as R, idempotent, reply, respond)
  const initial = idempotent?.isResumed ? undefined : await start()
  if (idempotent) {
    const resume = async (db: Database, stored: R | undefined) => step(db, stored ?? initial ?? (await start()))
    return await runSteps(idempotent, reply, resume, respond)
  }
  for (let result = initial as R; ; ) {
    const progress = await inTransaction(db, (transaction) => step(transaction, result))
    if (progress.isDone) return await respond(db, progress.result)
    result = progress.result
    await yieldToEventLoop()
  }
}

async function runSteps<R, T>(
  idempotent: IdempotentRequest,
  reply: FastifyReply,
  step: (db: Database, stored: R | undefined) => Promise<{ result: R; isDone: boolean }>,
  respond: (db: Database, result: R) => T | Promise<T>,
): Promise<T> {
  const { deps, key } = idempotent
  const { db, keyring, clock, config } = deps
  const maxBytes = config.idempotencyBytes
  for (let isFirst = true; ; isFirst = false) {
    const outcome = await inTransaction(db, async (transaction) => {
      if (!(await lockRequest(transaction, key, !isFirst))) return { kind: 'running' } as const
      // Another process may have run the request meanwhile.
      const stored = await findStoredRequest(transaction, keyring, key, clock.now())
      if (stored.kind !== 'none' && stored.kind !== 'started') return stored
      const { result, isDone } = await step(transaction, stored.kind === 'started' ? (stored.result as R) : undefined)
      if (!isDone) {
        await storeRequest(transaction, keyring, key, { result, maxBytes }, clock.now())
        return { kind: 'started' } as const
      }
      const representation = await respond(transaction, result)
      const body = reply.serialize(representation) as string
      setETag(reply, representation, body)
      const response = toStoredResponse(reply.type(JSON_TYPE), body)
      await storeRequest(transaction, keyring, key, { result, response, maxBytes }, clock.now())
      return { kind: 'done', body } as const
    })
    if (outcome.kind === 'started') {
      await yieldToEventLoop()
      continue
    }
    idempotent.isDone = true
    switch (outcome.kind) {
      case 'done':
        return serialized<T>(outcome.body, reply)
      case 'responded':
        return serialized<T>(outcome.response.body ?? '', withStoredHeaders(outcome.response, reply))
      case 'completed':
        return await respondAgain(outcome.result as R, idempotent, reply, respond)
      case 'running':
        throw stillRunning(reply)
      case 'other_request':
        throw keyReused()
    }
  }
}

async function respondAgain<R, T>(
  result: R,
  idempotent: IdempotentRequest,
  reply: FastifyReply,
  respond: (db: Database, result: R) => T | Promise<T>,
): Promise<T> {
  idempotent.isDone = true
  reply.header('idempotent-replayed', 'true')
  return await respond(idempotent.deps.db, result)
}

/** A refusal changed nothing, so it needs no transaction with a change. If it cannot be stored, a repeated request runs again. */
async function storeRefusal({ deps, key }: IdempotentRequest, response: StoredResponse): Promise<void> {
  const { db, keyring, clock, config } = deps
  if ((response.body?.length ?? 0) > MAX_BODY_BYTES) return
  const maxBytes = config.idempotencyBytes
  await inTransaction(db, async (transaction) => {
    if (!(await lockRequest(transaction, key, false))) return
    if ((await findStoredRequest(transaction, keyring, key, clock.now())).kind !== 'none') return
    await storeRequest(transaction, keyring, key, { result: undefined, response, maxBytes }, clock.now())
  })
}

const sendStored = (response: StoredResponse, reply: FastifyReply) =>
  withStoredHeaders(response, reply)
    .serializer((text: string) => text)
    .send(response.body ?? undefined)

const withStoredHeaders = ({ status, headers }: StoredResponse, reply: FastifyReply) =>
  reply.code(status).headers(headers).header('idempotent-replayed', 'true')

/** A body that is JSON already, typed as the value that it represents. */
function serialized<T>(body: string, reply: FastifyReply): T {
  reply.serializer((text: string) => text)
  return body as T
}

const JSON_TYPE = 'application/json; charset=utf-8'

function toStoredResponse(reply: FastifyReply, payload: unknown): StoredResponse {
  const headers = STORED_HEADERS.flatMap((name) => {
    const value = reply.getHeader(name)
    return value === undefined ? [] : [[name, String(value)]]
  })
  return {
    status: reply.statusCode,
    headers: Object.fromEntries(headers),
    body: payload === null || payload === undefined ? null : String(payload),
  }
}

function stillRunning(reply: FastifyReply): Problem {
  reply.header('retry-after', '1')
  return conflict(
    'The first request with this Idempotency-Key is still running. Try again in a second.',
    undefined,
    'idempotency_key_in_use',
  )
}

const keyReused = () =>
  new Problem(422, 'This Idempotency-Key was used for another request. Use a new key.', {
    'Idempotency-Key': fieldError('used_for_another_request'),
  })

function storeFull(reply: FastifyReply, maxBytes: number): Problem {
  reply.header('retry-after', '600')
  return new Problem(
    429,
    `The stored responses to your requests with an Idempotency-Key take ${maxBytes} bytes, which is the limit (IDEMPOTENCY_BYTES). They expire after 24 hours. Try again later, or send the request without the header.`,
  )
}
