import { Type } from 'typebox'
import { PageOf } from '#contract/common.ts'
import { LoggedRequest, MAX_COUNTED_REQUESTS, ReplayCounts, ReplaySelection, SentBody } from '#contract/dashboard.ts'
import { QueuedRequests, Replayed, WebhookRequestQuery } from '#contract/webhooks.ts'
import type { Deps } from '../deps.ts'
import { runIdempotentSteps } from '../http/idempotency.ts'
import { Params, Responses, type Routes } from '../http/routes.ts'
import { parsePeriod } from '../times.ts'
import { countByStatus, replayBatch, startReplay } from './replay.ts'
import { countAttempts, getRequestBody, listRequests } from './request-store.ts'
import { countQueued } from './webhook-store.ts'

const params = Params('webhook')
const { since, until } = ReplaySelection.properties
const PeriodQuery = Type.Object({ since, until }, { additionalProperties: false })

/** The requests of a webhook, with fields that the API does not have. */
export function webhookLogRoutes(deps: Deps): Routes {
  const { db, clock, keyring } = deps
  return async (app) => {
    const path = '/dashboard/api/webhooks/:webhook'

    const list = { params, querystring: WebhookRequestQuery, response: Responses(200, PageOf(LoggedRequest)) }
    app.get(`${path}/requests`, { schema: list }, ({ params: { webhook }, query, context }) =>
      deps.readList(context, async (db) => {
        const filters = { organizationId: context.organizationId, webhookId: webhook, query }
        const page = await listRequests(db, keyring, filters, clock.now())
        const ids = page.data.map(({ id }) => id)
        const attempts = await countAttempts(db, context, webhook, ids)
        return { ...page, data: page.data.map((request) => ({ ...request, attempts: attempts.get(request.id) ?? 0 })) }
      }),
    )

    const body = { params: Params('webhook', 'request'), response: Responses(200, SentBody) }
    app.get(`${path}/requests/:request/body`, { schema: body }, async ({ params: { webhook, request }, context }) => ({
      body: await getRequestBody(db, context, webhook, request),
    }))

    const counts = { params, querystring: PeriodQuery, response: Responses(200, ReplayCounts) }
    app.get(`${path}/replay`, { schema: counts }, ({ params: { webhook }, query, context }) =>
      countByStatus(db, context, webhook, parsePeriod(query, clock.now()), MAX_COUNTED_REQUESTS),
    )

    app.get(`${path}/kept`, { schema: { params, response: Responses(200, QueuedRequests) } }, ({ params, context }) =>
      countQueued(db, context, params.webhook),
    )

    const replay = { params, body: ReplaySelection, response: Responses(202, Replayed) }
    app.post(`${path}/replay`, { schema: replay }, async (request, reply) => {
      const { params, body, context } = request
      const { statuses, ...times } = body
      const period = { ...parsePeriod(times, context.now), statuses }
      return await runIdempotentSteps(request, reply, db, {
        start: () => startReplay(db, context, params.webhook, period),
        step: (db, progress) => replayBatch(db, context, params.webhook, progress),
        respond: (_db, { count }) => {
          reply.code(202)
          return { count }
        },
      })
    })
  }
}
