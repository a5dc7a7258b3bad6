import type { FastifyInstance } from 'fastify'
import type { LiveChange } from '#contract/dashboard.ts'
import { countChange } from './snapshot.ts'
import type { LiveDeps, LiveStreams } from './streams.ts'

type List = LiveChange['lists'][number]

/** One change of a list is sent to the other processes at most this often: a bulk of requests is one change to who watches. */
const PAUSE_MS = 500

/** Tells the open pages of every process what a request has changed. Before the routes. */
export function publishInvalidations(app: FastifyInstance, { db, clock, log }: LiveDeps, live: LiveStreams): void {
  const sent = new Map<string, number>()
  /** Keys that are sent when their pause is over. */
  const waiting = new Set<string>()
  const inProgress = new Set<Promise<void>>()

  const tell = async (key: string, organizationId: string, list: List) => {
    waiting.add(key)
    const since = clock.elapsed() - (sent.get(key) ?? Number.NEGATIVE_INFINITY)
    if (since < PAUSE_MS) await clock.sleep(PAUSE_MS - since)
    waiting.delete(key)
    if (sent.size > MOST_REMEMBERED) sent.clear()
    sent.set(key, clock.elapsed())
    await countChange(db, organizationId, list)
    live.wake(organizationId)
  }

  app.addHook('onResponse', async ({ method, routeOptions, context }, reply) => {
    if (!CHANGING.has(method) || reply.statusCode >= 300 || !context) return
    for (const list of listsOf(routeOptions.url ?? '')) {
      const key = `${context.organizationId} ${list}`
      if (waiting.has(key)) continue
      const telling = tell(key, context.organizationId, list)
        .catch((err: unknown) =>
          log.debug({ err }, 'Open pages could not be notified of a change. They refresh periodically.'),
        )
        .finally(() => inProgress.delete(telling))
      inProgress.add(telling)
    }
  })
  app.addHook('onClose', async () => void (await Promise.all(inProgress)))
}

const MOST_REMEMBERED = 10_000
const ACCEPTING = new Set(['/dashboard/api/accept/:monitor', '/dashboard/api/import/updates'])
const CHANGING = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/** What the pages show that a route changes. */
function listsOf(url: string): readonly List[] {
  if (url.startsWith('/monitors') || ACCEPTING.has(url)) return ['monitors', 'groups']
  if (url.startsWith('/groups')) return ['groups', 'monitors', 'webhooks']
  if (url.startsWith('/webhooks')) return ['webhooks', 'requests', 'groups']
  if (url.startsWith('/setup-pages')) return ['monitors']
  return []
}
