import type { FastifyInstance } from 'fastify'

/** In this scope a 503 says when to come again. Seconds. */
export function retryLater(scope: Pick<FastifyInstance, 'addHook'>, seconds = 60): void {
  scope.addHook('onSend', async (_request, reply) => {
    if (reply.statusCode === 503 && !reply.hasHeader('retry-after')) reply.header('retry-after', String(seconds))
  })
}
