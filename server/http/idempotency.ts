import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { conflict, invalid, Problem } from '../problem.ts'
import type { Seal } from '../seal.ts'
import { giveBack, type KeptAnswer, keepAnswer, type RequestName, reserve } from './idempotency-store.ts'

declare module 'fastify' {
  interface FastifyRequest {
    reservation: (RequestName & { leasedUntil: number }) | null
  }
}

const SHAPE = /^[\x20-\x7e]{1,255}$/
const KEPT_HEADERS = ['content-type', 'location', 'etag']

/**
 * `Idempotency-Key` on every POST of the API: the first answer is kept for 24 hours and given again. The name is reserved
 * before the body is judged and before anything is done. After a crash in the middle the reservation runs out after a
 * minute, and the request can be sent again.
 */
export function repeatAnswers(
  app: FastifyInstance,
  { db, seal, clock }: { db: Database; seal: Seal; clock: Clock },
): void {
  app.decorateRequest('reservation', null)

  app.addHook('preValidation', async (request, reply) => {
    const given = request.headers['idempotency-key']
    if (given === undefined || request.method !== 'POST' || !request.routeOptions.config.needsKey) return
    if (typeof given !== 'string' || !SHAPE.test(given)) {
      throw invalid({ 'Idempotency-Key': 'must have 1 to 255 visible ASCII characters.' })
    }
    const { organizationId, actor: keyId } = request.caller
    const named = { organizationId, keyId, name: hash('sha256', given) }
    const fingerprint = hash('sha256', `${request.url}\n${request.bodyHash}`)
    const found = await reserve(db, seal, named, fingerprint, clock.now())
    switch (found.kind) {
      case 'reserved':
        request.reservation = { ...named, leasedUntil: found.leasedUntil }
        return
      case 'running':
        reply.header('retry-after', '1')
        throw conflict('The first request with this Idempotency-Key is still running; ask again in a second.')
      case 'otherRequest':
        throw otherRequest()
      case 'answerNotKept':
        throw conflict('The first request with this Idempotency-Key was carried out; its answer was too large to keep.')
      case 'answered':
        return repeat(found.answer, reply)
    }
  })

  app.addHook('onSend', async (request, reply, payload) => {
    const { reservation } = request
    if (!reservation) return payload
    request.reservation = null
    try {
      if (reply.statusCode >= 500 || reply.statusCode === 429) {
        await giveBack(db, reservation, reservation.leasedUntil)
      } else {
        await keepAnswer(db, seal, reservation, reservation.leasedUntil, answerOf(reply, payload))
      }
    } catch (err) {
      request.log.error({ err }, 'The answer to a request with an Idempotency-Key could not be kept.')
    }
    return payload
  })
}

function repeat({ status, headers, body }: KeptAnswer, reply: FastifyReply) {
  reply.code(status).headers(headers).header('idempotent-replayed', 'true')
  return reply.serializer((text: string) => text).send(body ?? undefined)
}

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

function otherRequest(): Problem {
  return new Problem(422, 'This Idempotency-Key belongs to another request; use a new one.', {
    'Idempotency-Key': 'was used with another path or another body within the last 24 hours.',
  })
}
