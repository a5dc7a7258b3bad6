import type { FastifyInstance } from 'fastify'
import type { LiveChange } from '#contract/dashboard.ts'
import { WRITE_METHODS } from '../http/methods.ts'
import { recordChange } from './snapshot.ts'
import type { LiveDeps, LiveStreams } from './streams.ts'

type List = LiveChange['lists'][number]

/** Changes of one list are recorded at most this often, so that a bulk of requests is one change. */
const INTERVAL_MS = 500

/** Notifies the open pages of every process of the changes by a request. Call it before the routes are registered. */
export function publishInvalidations(app: FastifyInstance, { db, clock, log }: LiveDeps, live: LiveStreams): void {
  const sent = new Map<string, number>()
  /** Changes that wait for their interval. */
  const waiting = new Set<string>()
  const inProgress = new Set<Promise<void>>()

  const notify = async (key: string, organizationId: string, list: List) => {
    waiting.add(key)
    const since = clock.elapsed() - (sent.get(key) ?? Number.NEGATIVE_INFINITY)
    if (since < INTERVAL_MS) await clock.sleep(INTERVAL_MS - since)
    waiting.delete(key)
    if (sent.size > MAX_REMEMBERED) sent.clear()
    sent.set(key, clock.elapsed())
    await recordChange(db, organizationId, list)
    live.wake(organizationId)
  }

  app.addHook('onResponse', async ({ method, routeOptions, context }, reply) => {
    if (!WRITE_METHODS.has(method) || reply.statusCode >= 300 || !context) return
    for (const list of listsOf(routeOptions.url ?? '')) {
      const key = `${context.organizationId} ${list}`
      if (waiting.has(key)) continue
      const notification = notify(key, context.organizationId, list)
        .catch((err: unknown) =>
          log.debug({ err }, 'Open pages could not be notified of a change. They refresh periodically.'),
        )
        .finally(() => inProgress.delete(notification))
      inProgress.add(notification)
    }
  })
  app.addHook('onClose', async () => void (await Promise.all(inProgress)))
}

const MAX_REMEMBERED = 10_000
const MONITOR_UPDATES = new Set(['/dashboard/api/accept/:monitor', '/dashboard/api/import/updates'])

/** The lists that a route changes. */
function listsOf(url: string): readonly List[] {
  if (url.startsWith('/monitors') || MONITOR_UPDATES.has(url)) return ['monitors', 'groups']
  if (url.startsWith('/groups')) return ['groups', 'monitors', 'webhooks']
  if (url.startsWith('/webhooks')) return ['webhooks', 'requests', 'groups']
  if (url.startsWith('/setup-pages')) return ['monitors']
  // The changes of a job that ends by itself are recorded with them.
  if (url === '/jobs/:job/cancel') return ['monitors', 'groups', 'requests']
  return []
}
