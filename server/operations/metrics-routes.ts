import { hash, timingSafeEqual } from 'node:crypto'
import type { FastifyPluginAsync } from 'fastify'
import type { Deps } from '../deps.ts'
import { type Exposition, expose } from '../metrics/exposition.ts'
import { Problem } from '../problem.ts'

/** `GET /metrics` for whoever sends METRICS_TOKEN. Without that setting there is no such route. */
export function metricsRoutes({
  config,
  metrics,
  scrape,
}: Pick<Deps, 'config' | 'metrics' | 'scrape'>): FastifyPluginAsync {
  return async (app) => {
    const token = config.metricsToken
    if (token === null) return
    const own = async (accept: string): Promise<Exposition> => expose([{ families: await metrics.collect() }], accept)

    app.get('/metrics', { schema: { hide: true } }, async ({ headers }, reply) => {
      if (!isBearer(headers.authorization, token)) {
        reply.header('www-authenticate', 'Bearer')
        throw new Problem(401, 'Send METRICS_TOKEN as a bearer token: Authorization: Bearer …')
      }
      const { contentType, text } = await (scrape ?? own)(headers.accept ?? '')
      return reply.header('cache-control', 'no-store').type(contentType).send(text)
    })
  }
}

/** The digests are compared, which are of one length, so that the time says nothing about the token. */
function isBearer(authorization: string | undefined, token: string): boolean {
  const [, sent = ''] = /^bearer (.+)$/i.exec(authorization ?? '') ?? []
  return timingSafeEqual(hash('sha256', sent, 'buffer'), hash('sha256', token, 'buffer'))
}
