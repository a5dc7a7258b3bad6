import { PageOf } from '#contract/common.ts'
import { Replay, Replayed, WebhookRequest, WebhookRequestInFull, WebhookRequestQuery } from '#contract/webhooks.ts'
import { refusedBySchema } from '../http/refused.ts'
import { Answers, Params, type Routes } from '../http/routes.ts'
import { parseTimes } from '../http/times.ts'
import type { Doors } from '../outside.ts'
import { invalid } from '../problem.ts'
import { askForRetry, askForTest } from './by-hand.ts'
import { replay } from './replay.ts'
import { listRequests } from './request-list.ts'
import { getRequest, getRequestInFull } from './request-store.ts'

const tags = ['Webhooks']
const params = Params('webhook')
const both = Params('webhook', 'request')

/** What webhooks were sent, and sending by hand. */
export function webhookRequestRoutes({ db, clock, seal, bell }: Doors): Routes {
  return async (app) => {
    const list = {
      summary: 'List the requests of a webhook',
      tags,
      params,
      querystring: WebhookRequestQuery,
      response: Answers(200, PageOf(WebhookRequest)),
    }
    app.get('/webhooks/:webhook/requests', { schema: list }, ({ params, query, caller }) => {
      const { organizationId } = caller
      return listRequests(db, seal, { organizationId, webhookId: params.webhook, query }, clock.now())
    })

    const read = {
      summary: 'Read a request with its payload and attempts',
      tags,
      params: both,
      response: Answers(200, WebhookRequestInFull),
    }
    app.get('/webhooks/:webhook/requests/:request', { schema: read }, ({ params, caller }) =>
      getRequestInFull(db, caller.organizationId, params.webhook, params.request, clock.now()),
    )

    const test = {
      summary: 'Send a test',
      description:
        'A made-up change of an A record from VALID to MISMATCH, sent once and at once, also to a paused or disabled webhook; its success resumes a paused one.',
      tags,
      params,
      response: Answers(202, WebhookRequest),
    }
    app.post('/webhooks/:webhook/test', { schema: test }, async ({ params, caller }, reply) => {
      const { organizationId } = caller
      const now = clock.now()
      const id = await askForTest(db, organizationId, params.webhook, now)
      bell.ring()
      reply.code(202)
      return await getRequest(db, organizationId, params.webhook, id, now)
    })

    const retry = {
      summary: 'Send a request again now',
      description:
        'One attempt at once, whatever the status of the request, also to a paused or disabled webhook; its success resumes a paused one. The schedule of the request is not touched.',
      tags,
      params: both,
      response: Answers(200, WebhookRequest),
    }
    app.post('/webhooks/:webhook/requests/:request/retry', { schema: retry }, async ({ params, caller }) => {
      const { organizationId } = caller
      const now = clock.now()
      await askForRetry(db, organizationId, params.webhook, params.request, now)
      bell.ring()
      return await getRequest(db, organizationId, params.webhook, params.request, now)
    })

    const again = {
      summary: 'Send the requests of a period again',
      description:
        'The same ids and the same octets, oldest first, each with a new schedule. At most 100,000 in one call; tests are left out.',
      tags,
      params,
      body: Replay,
      response: Answers(202, Replayed),
    }
    app.post('/webhooks/:webhook/replay', { attachValidation: true, schema: again }, async (request, reply) => {
      const { params, body, caller } = request
      const now = clock.now()
      // What the schema refuses and what only we can judge are reported together.
      const refused = refusedBySchema(request)
      const times = parseTimes(body, ['since', 'until'], refused)
      const [since, until] = [times.since!, times.until ?? now]
      if (until <= since) throw invalid({ until: 'must be later than since.' })
      const period = { since, until, status: body.status }
      const count = await replay(db, caller.organizationId, params.webhook, period, now)
      bell.ring()
      reply.code(202)
      return { count }
    })
  }
}
