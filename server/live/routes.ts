import { OrganizationQuery } from '#contract/common.ts'
import type { AccessDeps } from '../http/auth-and-rate-limit.ts'
import { type Routes, withoutHead } from '../http/routes.ts'
import { Problem } from '../problem.ts'
import type { LiveStreams } from './streams.ts'

/** The stream of what changed, for the pages of the dashboard. */
export function liveRoutes(live: LiveStreams, identify: AccessDeps['identify']): Routes {
  return async (app) => {
    app.get(
      '/dashboard/api/live',
      { ...withoutHead, schema: { querystring: OrganizationQuery } },
      async (request, reply) => {
        const { organizationId, userId } = request.context
        const isAllowed = async () => (await identify(request))?.organizationId === organizationId
        const stream = live.open({
          organizationId,
          who: userId ?? `keys of ${organizationId}`,
          isAllowed: () => unlessUnavailable(isAllowed),
        })
        // A proxy that buffers responses would delay the events.
        reply
          .headers({ 'cache-control': 'no-store', 'x-accel-buffering': 'no' })
          .type('text/event-stream; charset=utf-8')
        return reply.send(stream)
      },
    )
  }
}

/** A refusal ends a stream. An unavailable database does not. */
async function unlessUnavailable(isAllowed: () => Promise<boolean>): Promise<boolean> {
  try {
    return await isAllowed()
  } catch (error) {
    return !(error instanceof Problem)
  }
}
