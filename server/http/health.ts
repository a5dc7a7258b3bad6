import type { FastifyPluginAsync } from 'fastify'
import { isMigrated } from '../database/migrate.ts'
import type { Doors } from '../outside.ts'

/** A loop that made no turn for this long hangs. */
const SILENT_MS = 30_000

/** For whoever runs the server: no key is needed and nothing is told but whether it works. */
export function healthRoutes({ db, clock, heart }: Doors): FastifyPluginAsync {
  return async (app) => {
    app.get('/healthz', async () => ({ status: 'ok' }))

    app.get('/readyz', async (_request, reply) => {
      const problems: string[] = []
      const migrated = await isMigrated(db).catch(() => null)
      if (migrated === null) problems.push('the database does not answer')
      if (migrated === false) problems.push('the database is not migrated')
      for (const loop of heart.silent(clock.elapsed(), SILENT_MS)) problems.push(`the ${loop} hangs`)
      if (problems.length === 0) return { status: 'ready' }
      reply.code(503).header('retry-after', '5')
      return { status: 'not ready', problems }
    })
  }
}
