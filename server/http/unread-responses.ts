import type { ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { clientNetwork } from './auth-and-rate-limit.ts'

/** Of all responses of a process. A page has at most 4 MiB, and a download waits until the client has read what was sent. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024

type UnreadResponse = { response: Pick<ServerResponse, 'writableLength' | 'destroy'>; client: string }

/** Bounds the memory of responses whose clients do not read them. */
export function limitUnreadResponses(app: FastifyInstance, max = MAX_UNREAD_BYTES): void {
  const pending = new Set<UnreadResponse>()
  app.addHook('onSend', async (request, reply, payload) => {
    const { organizationId } = request.context ?? {}
    const sent = { response: reply.raw, client: organizationId ?? clientNetwork(request.ip) }
    const bytes = typeof payload === 'string' ? payload.length : 0
    for (const { response, client } of responsesToClose(pending, max - bytes)) {
      request.log.warn(
        { client, bytes: response.writableLength },
        'A response that its client does not read was closed.',
      )
      response.destroy()
    }
    pending.add(sent)
    reply.raw.once('close', () => pending.delete(sent))
  })
}

/** The oldest ones of the client that has the most unread bytes, so that nobody loses responses for the sake of another. Pure. */
export function responsesToClose(responses: Iterable<UnreadResponse>, max: number): UnreadResponse[] {
  const unread = [...responses].filter(({ response }) => response.writableLength > 0)
  const byClient = new Map<string, number>()
  let total = 0
  for (const { response, client } of unread) {
    byClient.set(client, (byClient.get(client) ?? 0) + response.writableLength)
    total += response.writableLength
  }
  if (total <= max) return []
  const [greatest] = [...byClient].reduce((most, next) => (next[1] > most[1] ? next : most))
  const closed: UnreadResponse[] = []
  for (const each of unread) {
    if (total <= max) break
    if (each.client !== greatest) continue
    closed.push(each)
    total -= each.response.writableLength
  }
  return closed
}
