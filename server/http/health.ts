import type { FastifyPluginAsync } from 'fastify'
import { Type } from 'typebox'
import { ErrorBody, StrictObject } from '#contract/common.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { isMigrated } from '../database/migrate.ts'
import type { Deps } from '../deps.ts'
import type { LoopHealth } from '../loop-health.ts'
import { SEEN_HEADER, seenHeader } from './doctor-probe.ts'
import { plainJsonSerializer } from './routes.ts'

const Healthy = StrictObject(
  { status: Type.Literal('ok') },
  { title: 'Healthy', description: 'The process runs.', examples: [{ status: 'ok' }] },
)
const Ready = StrictObject(
  { status: Type.Literal('ready') },
  { title: 'Ready', description: 'The server can serve requests.', examples: [{ status: 'ready' }] },
)
const NotReady = StrictObject(
  { status: Type.Literal('not ready'), problems: Type.Array(Type.String()) },
  { title: 'NotReady', description: 'The problems.' },
)

/** `security`: these routes need no API key. */
const shared = { tags: ['Health'], security: [] }

/** Shows nothing except whether the server works. */
export function healthRoutes(deps: Deps): FastifyPluginAsync {
  const { keyring, clock } = deps
  return async (app) => {
    app.setSerializerCompiler(plainJsonSerializer)
    const healthz = {
      ...shared,
      operationId: 'getHealth',
      summary: 'Check that the process runs',
      description: 'Returns 200 as soon as the process accepts connections, also while it starts.',
      response: { 200: Healthy },
    }
    app.get('/healthz', { schema: healthz }, async (request, reply) => {
      const seen = seenHeader(request, keyring, clock.now())
      if (seen !== undefined) reply.header(SEEN_HEADER, seen)
      return { status: 'ok' }
    })

    const readyz = {
      ...shared,
      operationId: 'getReadiness',
      summary: 'Check that the server can serve requests',
      description:
        'Returns 200 while the database answers, all migrations have run, a write succeeded within 15 seconds and every background loop completed a pass within 30 seconds. Otherwise returns 503 with the problems.',
      response: {
        200: Ready,
        503: Type.Union([NotReady, ErrorBody], {
          title: 'ReadinessProblem',
          description: 'The problems, or an Error while the server starts or stops.',
          examples: [{ status: 'not ready', problems: ['the database does not answer'] }],
        }),
      },
    }
    app.get('/readyz', { schema: readyz }, async (_request, reply) => {
      const problems = await readinessProblems(deps)
      if (problems.length === 0) return { status: 'ready' }
      reply.code(503).header('retry-after', '5')
      return { status: 'not ready', problems }
    })
  }
}

/** A loop hangs if it completed no pass, or recorded none of its results, for this time. */
const HANG_TIMEOUT_MS = 30_000
/** Seven heartbeats, each of which is a write. A write may wait 5 s for the lock of SQLite. */
const WRITE_TIMEOUT_MS = 15_000

/** Empty if the process is ready. */
export async function readinessProblems({
  db,
  clock,
  loopHealth,
}: {
  db: Database
  clock: Clock
  loopHealth: LoopHealth
}): Promise<string[]> {
  const problems: string[] = []
  const migrated = await isMigrated(db).catch(() => null)
  if (migrated === null) problems.push('the database does not answer')
  if (migrated === false) problems.push('database migrations are pending')
  const elapsed = clock.elapsed()
  if (migrated !== null && !loopHealth.isWriting(elapsed, WRITE_TIMEOUT_MS)) {
    problems.push('the database accepts no writes')
  }
  for (const loop of loopHealth.hangingLoops(elapsed, HANG_TIMEOUT_MS)) problems.push(`the ${loop} completes no work`)
  return problems
}
