import { PageOf } from '#contract/common.ts'
import {
  Replay,
  Replayed,
  UndeliveredQuery,
  WebhookRequest,
  WebhookRequestDetails,
  WebhookRequestQuery,
} from '#contract/webhooks.ts'
import type { Deps } from '../deps.ts'
import { runIdempotent, runIdempotentSteps } from '../http/idempotency.ts'
import { Params, Responses, type Routes, tagRoutes } from '../http/routes.ts'
import { schemaErrors } from '../http/validation.ts'
import { Problem } from '../problem.ts'
import { parsePeriod, parseTimes } from '../times.ts'
import { createTestRequest, retryRequest } from './manual-attempts.ts'
import { replayBatch, startReplay } from './replay.ts'
import { getRequest, getRequestDetails, listRequests, listUndelivered } from './request-store.ts'

/** Replays of one organization at a time in this process. Each takes the database for up to 100,000 requests, also where WRITE_LIMIT is 0. */
const MAX_REPLAYS = 2

const params = Params('webhook')
const both = Params('webhook', 'request')

/** The requests of webhooks, and the routes that send some again. */
export function webhookRequestRoutes(deps: Deps): Routes {
  const { db, clock, keyring } = deps
  /** By organization. */
  const replays = new Map<string, number>()
  return async (app) => {
    tagRoutes(app, 'Webhooks')
    const list = {
      operationId: 'listWebhookRequests',
      summary: 'List the requests of a webhook',
      params,
      querystring: WebhookRequestQuery,
      response: Responses(200, PageOf(WebhookRequest)),
    }
    app.get('/webhooks/:webhook/requests', { schema: list }, ({ params, query, context }) => {
      const filters = { organizationId: context.organizationId, webhookId: params.webhook, query }
      return deps.readList(context, (db) => listRequests(db, keyring, filters, clock.now()))
    })

    const undelivered = {
      operationId: 'listUndeliveredRequests',
      summary: 'List undelivered requests of all webhooks',
      description:
        'Requests with the status PENDING, RETRYING or FAILED. A delivered request leaves the list. GET /webhooks/{webhook}/requests/{request} has the payload and the attempts.',
      querystring: UndeliveredQuery,
      response: Responses(200, PageOf(WebhookRequest)),
    }
    app.get('/webhook-requests', { attachValidation: true, schema: undelivered }, (request) => {
      const { query, context } = request
      // Reports the errors of the schema together with those below.
      parseTimes(query, ['since'], schemaErrors(request))
      return deps.readList(context, (db) => listUndelivered(db, keyring, context, query, clock.now()))
    })

    const read = {
      operationId: 'getWebhookRequest',
      summary: 'Get a request with its payload and attempts',
      params: both,
      response: Responses(200, WebhookRequestDetails),
    }
    app.get('/webhooks/:webhook/requests/:request', { schema: read }, ({ params, context }, reply) => {
      // Keeps the order of the keys in the sent payload. By the schema, optional keys would come last.
      reply.type('application/json; charset=utf-8').serializer(JSON.stringify)
      return getRequestDetails(db, context, params.webhook, params.request, clock.now())
    })

    const test = {
      operationId: 'testWebhook',
      summary: 'Send a test request',
      description:
        'Sends an example change of an A record from VALID to MISMATCH, once and immediately, also to a paused or disabled webhook. If it succeeds, a paused webhook resumes.',
      params,
      response: Responses(202, WebhookRequest),
    }
    app.post('/webhooks/:webhook/test', { schema: test }, async (request, reply) => {
      const { params, context } = request
      const { now } = context
      return await runIdempotent(request, reply, db, {
        execute: (db) => createTestRequest(db, context, params.webhook),
        respond: (db, id) => {
          reply.code(202)
          return getRequest(db, context, params.webhook, id, now)
        },
      })
    })

    const retry = {
      operationId: 'retryWebhookRequest',
      summary: 'Retry a request now',
      description:
        'Makes one attempt immediately, whatever the status of the request, also to a paused or disabled webhook. If it succeeds, a paused webhook resumes. The retry schedule does not change.',
      params: both,
      response: Responses(200, WebhookRequest),
    }
    app.post('/webhooks/:webhook/requests/:request/retry', { schema: retry }, async (request, reply) => {
      const { params, context } = request
      const { now } = context
      return await runIdempotent(request, reply, db, {
        execute: (db) => retryRequest(db, context, params.webhook, params.request),
        respond: (db) => getRequest(db, context, params.webhook, params.request, now),
      })
    })

    const replay = {
      operationId: 'replayWebhook',
      summary: 'Replay the requests of a period',
      description:
        'Sends the requests again with the same ids and bodies, oldest first, each with a new retry schedule. At most 100,000 requests per call, and two calls at a time: a further one is a 429. Test requests are not replayed.',
      params,
      body: Replay,
      response: Responses(202, Replayed),
    }
    app.post('/webhooks/:webhook/replay', { attachValidation: true, schema: replay }, async (request, reply) => {
      const { params, body, context } = request
      const { since, until } = parsePeriod(body, context.now, schemaErrors(request))
      const period = { since, until, statuses: body.status === undefined ? undefined : [body.status].flat() }
      const { organizationId } = context
      const others = replays.get(organizationId) ?? 0
      if (others >= MAX_REPLAYS) {
        reply.header('retry-after', '5')
        throw new Problem(429, `${others} replays of the organization are running. Try again when one has ended.`)
      }
      replays.set(organizationId, others + 1)
      try {
        return await runIdempotentSteps(request, reply, db, {
          start: () => startReplay(db, context, params.webhook, period),
          step: (db, progress) => replayBatch(db, context, params.webhook, progress),
          respond: (_db, { count }) => {
            reply.code(202)
            return { count }
          },
        })
      } finally {
        const left = replays.get(organizationId)! - 1
        if (left > 0) replays.set(organizationId, left)
        else replays.delete(organizationId)
      }
    })
  }
}
