import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'

const HEADER = 'x-zonewatch-look'

/**
 * The server reads a resource of its own API as a caller would, to see what that caller sees now. Such a request carries
 * a token that is made for it, known to this process only, and good once; it needs no key and is not counted.
 */
export class Looks {
  readonly #open = new Map<string, FastifyRequest['caller']>()

  async look(app: FastifyInstance, caller: FastifyRequest['caller'], url: string) {
    const token = randomUUID()
    this.#open.set(token, caller)
    try {
      return await app.inject({ method: 'GET', url, headers: { [HEADER]: token } })
    } finally {
      this.#open.delete(token)
    }
  }

  /** On whose behalf the server looks; undefined for every request from outside. */
  callerOf(request: FastifyRequest): FastifyRequest['caller'] | undefined {
    const token = request.headers[HEADER]
    if (typeof token !== 'string') return undefined
    const caller = this.#open.get(token)
    this.#open.delete(token)
    return caller
  }
}
