import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { fieldError } from '#contract/field-errors.ts'
import { type Database, inTransaction } from '../database/database.ts'
import type { Deps } from '../deps.ts'
import { conflict, invalid, Problem } from '../problem.ts'
import { yieldToEventLoop } from '../yield.ts'
import { tagWritten } from './conditional.ts'
import {
  findAnswer,
  type KeptAnswer,
  keepAnswer,
  lockRequest,
  MOST_KEPT,
  octetsLeft,
  type RequestName,
} from './idempotency-store.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A POST that makes and changes nothing here: it has no answer worth keeping. */
    writesNothing?: boolean
    /** A PUT that keeps its answer as a POST does. */
    takesIdempotencyKey?: boolean
  }
  interface FastifyRequest {
    /** Of a POST with an `Idempotency-Key`. */
    idempotent: Idempotent | null
  }
}

type IdempotencyDeps = Pick<Deps, 'db' | 'seal' | 'clock'> & { config: Pick<Deps['config'], 'idempotencyOctets'> }

type Idempotent = {
  deps: IdempotencyDeps
  name: RequestName
  /** Its answer is kept, or is one that was. */
  isDone: boolean
  /** Some of its steps were carried out before. */
  hasBegun?: boolean
  /** What an earlier request made, whose answer was too large to keep. */
  earlier?: { made: unknown }
}

const SHAPE = /^[\x21-\x7e]{1,255}$/
const KEPT_HEADERS = ['content-type', 'location', 'etag', 'x-error-code', 'x-error-fields']

/**
 * `Idempotency-Key` on every POST that changes something: its answer is kept for 24 hours, in the transaction of the change
 * (`once`), and given again. While a request runs, the same one is refused.
 */
export function repeatAnswers(app: FastifyInstance, deps: IdempotencyDeps): void {
  const { db, seal, clock, config } = deps
  /** Fingerprints of the requests that this process carries out now. */
  const running = new Map<string, string>()
  const placeOf = ({ organizationId, owner, name }: RequestName) => `${organizationId} ${owner} ${name}`
  app.decorateRequest('idempotent', null)

  app.addHook('preValidation', async (request, reply) => {
    const given = request.headers['idempotency-key']
    const { needsKey, writesNothing, takesIdempotencyKey } = request.routeOptions.config
    const isKept = takesIdempotencyKey || (request.method === 'POST' && !writesNothing)
    if (given === undefined || !isKept || !needsKey) return
    if (typeof given !== 'string' || !SHAPE.test(given)) {
      throw invalid({ 'Idempotency-Key': fieldError('invalid_idempotency_key') })
    }
    const name = nameOf(request, given)
    const other = running.get(placeOf(name))
    if (other !== undefined) throw other === name.fingerprint ? stillRunning(reply) : otherRequest()
    running.set(placeOf(name), name.fingerprint)
    request.idempotent = { deps, name, isDone: false }

    const found = await findAnswer(db, seal, name, clock.now())
    if (found.kind === 'none' || found.kind === 'begun') {
      request.idempotent.hasBegun = found.kind === 'begun'
      if ((await octetsLeft(db, name, config.idempotencyOctets)) > 0) return
      request.idempotent.isDone = true
      throw full(reply, config.idempotencyOctets)
    }
    if (found.kind === 'made') {
      request.idempotent.earlier = { made: found.made }
      return
    }
    request.idempotent.isDone = true
    if (found.kind === 'answered') return repeat(found.answer, reply)
    throw found.kind === 'running' ? stillRunning(reply) : otherRequest()
  })

  app.addHook('onSend', async (request, reply, payload) => {
    const { idempotent } = request
    if (!idempotent) return payload
    try {
      if (!idempotent.isDone && isKept(reply)) {
        await keepRefusal(idempotent, answerOf(reply, payload))
      }
    } catch (err) {
      request.log.error({ err }, 'The response to a request with an Idempotency-Key could not be stored.')
    } finally {
      running.delete(placeOf(idempotent.name))
    }
    return payload
  })
}

/** Refused because of who asks, or only for now: the same request can be sent again. */
const isKept = (reply: FastifyReply) =>
  reply.statusCode < 500 && reply.statusCode !== 403 && !reply.hasHeader('retry-after')

/**
 * Answers can hold what only some may see: another role has its own fingerprint, and is refused. What only admins change, such as an
 * API key, is answered to nobody else.
 */
function nameOf(request: FastifyRequest, given: string): RequestName {
  const { organizationId, actor, role, personId } = request.context
  const name = hash('sha256', given)
  const content = `${request.url}\n${request.bodyHash}`
  const ofContent = hash('sha256', content)
  const isOwn = personId !== undefined || (request.routeOptions.config.changedBy ?? 'member') !== 'member'
  if (isOwn) return { organizationId, owner: actor.id, name, fingerprint: ofContent }
  const fingerprint = hash('sha256', `${content}\n${role}`)
  return {
    organizationId,
    owner: organizationId,
    name,
    fingerprint,
    before: { keyId: actor.id, fingerprint: ofContent },
  }
}

/** How a POST does what it does. `M`: JSON, the little by which its answer is made again. */
export type Work<P, M, T> = {
  /** What takes long or asks the network; it writes nothing. */
  prepare?: () => Promise<P>
  /** What the request changes, all of it in this database. */
  effect: (db: Database, prepared: P) => Promise<M>
  /** Reads and describes what was made, and sets status and headers. */
  answer: (db: Database, made: M) => T | Promise<T>
}

/**
 * Carries a POST out. With an `Idempotency-Key` its effect and its answer are written in one transaction: anyone who asks
 * again after a crash gets the answer, or has the work done where there was no effect.
 */
export async function once<P, M, T>(
  request: FastifyRequest,
  reply: FastifyReply,
  db: Database,
  { prepare, effect, answer }: Work<P, M, T>,
): Promise<T> {
  const { idempotent } = request
  if (idempotent?.earlier) return await answerAgain(idempotent.earlier.made as M, idempotent, reply, answer)
  const prepared = (await prepare?.()) as P
  if (!idempotent) return await answer(db, await effect(db, prepared))
  const step = async (transaction: Database) => ({ made: await effect(transaction, prepared), isDone: true })
  return await carryOut(idempotent, reply, step, answer)
}

/** Work in short transactions, each of which goes on where the one before it ended. `start`, `M`: JSON. */
export type Steps<M, T> = {
  /** Writes nothing. */
  start: () => Promise<M>
  step: (db: Database, made: M) => Promise<{ made: M; isDone: boolean }>
  answer: (db: Database, made: M) => T | Promise<T>
}

/** As `once`. How far the work came is written with each step, and a request that is sent again goes on from there. */
export async function inSteps<M, T>(
  request: FastifyRequest,
  reply: FastifyReply,
  db: Database,
  { start, step, answer }: Steps<M, T>,
): Promise<T> {
  const { idempotent } = request
  if (idempotent?.earlier) return await answerAgain(idempotent.earlier.made as M, idempotent, reply, answer)
  const first = idempotent?.hasBegun ? undefined : await start()
  if (idempotent) {
    return await carryOut(idempotent, reply, async (db, made) => step(db, made ?? first ?? (await start())), answer)
  }
  for (let made = first as M; ; ) {
    const done = await inTransaction(db, (transaction) => step(transaction, made))
    if (done.isDone) return await answer(db, done.made)
    made = done.made
    await yieldToEventLoop()
  }
}

async function carryOut<M, T>(
  idempotent: Idempotent,
  reply: FastifyReply,
  step: (db: Database, made: M | undefined) => Promise<{ made: M; isDone: boolean }>,
  answer: Work<unknown, M, T>['answer'],
): Promise<T> {
  const { deps, name } = idempotent
  const { db, seal, clock, config } = deps
  const most = config.idempotencyOctets
  for (let isFirst = true; ; isFirst = false) {
    const done = await inTransaction(db, async (transaction) => {
      if (!(await lockRequest(transaction, name, !isFirst))) return { kind: 'running' } as const
      // Another process may have been first.
      const found = await findAnswer(transaction, seal, name, clock.now())
      if (found.kind !== 'none' && found.kind !== 'begun') return found
      const { made, isDone } = await step(transaction, found.kind === 'begun' ? (found.made as M) : undefined)
      if (!isDone) {
        await keepAnswer(transaction, seal, name, { made, most }, clock.now())
        return { kind: 'begun' } as const
      }
      const representation = await answer(transaction, made)
      const body = reply.serialize(representation) as string
      tagWritten(reply, representation, body)
      const kept = answerOf(reply.type(JSON_TYPE), body)
      await keepAnswer(transaction, seal, name, { made, answer: kept, most }, clock.now())
      return { kind: 'done', body } as const
    })
    if (done.kind === 'begun') {
      await yieldToEventLoop()
      continue
    }
    idempotent.isDone = true
    switch (done.kind) {
      case 'done':
        return sentAs<T>(done.body, reply)
      case 'answered':
        return sentAs<T>(done.answer.body ?? '', withHeadersOf(done.answer, reply))
      case 'made':
        return await answerAgain(done.made as M, idempotent, reply, answer)
      case 'running':
        throw stillRunning(reply)
      case 'otherRequest':
        throw otherRequest()
    }
  }
}

async function answerAgain<M, T>(
  made: M,
  idempotent: Idempotent,
  reply: FastifyReply,
  answer: Work<unknown, M, T>['answer'],
): Promise<T> {
  idempotent.isDone = true
  reply.header('idempotent-replayed', 'true')
  return await answer(idempotent.deps.db, made)
}

/** A refusal has no effect to be written with. One that is not kept is judged again. */
async function keepRefusal({ deps, name }: Idempotent, answer: KeptAnswer): Promise<void> {
  const { db, seal, clock, config } = deps
  if ((answer.body?.length ?? 0) > MOST_KEPT) return
  await inTransaction(db, async (transaction) => {
    if (!(await lockRequest(transaction, name, false))) return
    if ((await findAnswer(transaction, seal, name, clock.now())).kind !== 'none') return
    await keepAnswer(transaction, seal, name, { made: undefined, answer, most: config.idempotencyOctets }, clock.now())
  })
}

function repeat(answer: KeptAnswer, reply: FastifyReply) {
  return withHeadersOf(answer, reply)
    .serializer((text: string) => text)
    .send(answer.body ?? undefined)
}

const withHeadersOf = ({ status, headers }: KeptAnswer, reply: FastifyReply) =>
  reply.code(status).headers(headers).header('idempotent-replayed', 'true')

/** What a handler returns for a body that is written already; it reads as the type that it was written from. */
function sentAs<T>(body: string, reply: FastifyReply): T {
  reply.serializer((text: string) => text)
  return body as T
}

const JSON_TYPE = 'application/json; charset=utf-8'

function answerOf(reply: FastifyReply, payload: unknown): KeptAnswer {
  const headers = KEPT_HEADERS.flatMap((name) => {
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

function otherRequest(): Problem {
  return new Problem(422, 'This Idempotency-Key was used for another request. Use a new key.', {
    'Idempotency-Key': fieldError('used_for_another_request'),
  })
}

function full(reply: FastifyReply, most: number): Problem {
  reply.header('retry-after', '600')
  return new Problem(
    429,
    `The stored responses to your requests with an Idempotency-Key take ${most} bytes, which is the limit (IDEMPOTENCY_BYTES). They expire after 24 hours. Try again later, or send the request without the header.`,
  )
}
