import { PageOf } from '#contract/common.ts'
import {
  NewWebhook,
  Webhook,
  WebhookQuery,
  WebhookRequest,
  WebhookRequestInFull,
  WebhookRequestQuery,
} from '#contract/webhooks.ts'
import { Answers, NoContent, Params, type Routes } from '../http/routes.ts'
import type { Doors } from '../outside.ts'
import { invalid } from '../problem.ts'
import { getRequest, listRequests } from './request-store.ts'
import { deleteWebhook, getWebhook, insertWebhook, listWebhooks } from './store.ts'
import { refusalsOf } from './webhook.ts'

export function webhookRoutes({ db, clock, seal, config }: Doors): Routes {
  return async (app) => {
    const params = Params('webhook')

    app.get(
      '/webhooks',
      { schema: { querystring: WebhookQuery, response: Answers(200, PageOf(Webhook)) } },
      ({ query, caller }) => listWebhooks(db, seal, caller.organizationId, query),
    )

    app.post(
      '/webhooks',
      { schema: { body: NewWebhook, response: Answers(201, Webhook) } },
      async ({ body, caller }, reply) => {
        const errors = refusalsOf(body, config.webhookAllowedNetworks)
        if (Object.keys(errors).length > 0) throw invalid(errors)
        const webhook = await insertWebhook(db, seal, caller.organizationId, body, clock.now())
        reply.code(201).header('location', `/webhooks/${webhook.id}`)
        return webhook
      },
    )

    app.get('/webhooks/:webhook', { schema: { params, response: Answers(200, Webhook) } }, ({ params, caller }) =>
      getWebhook(db, seal, caller.organizationId, params.webhook),
    )

    app.delete(
      '/webhooks/:webhook',
      { schema: { params, response: Answers(204, NoContent) } },
      async ({ params, caller }, reply) => {
        await deleteWebhook(db, caller.organizationId, params.webhook)
        return reply.code(204).send(null)
      },
    )

    app.get(
      '/webhooks/:webhook/requests',
      { schema: { params, querystring: WebhookRequestQuery, response: Answers(200, PageOf(WebhookRequest)) } },
      ({ params, query, caller }) => listRequests(db, seal, caller.organizationId, params.webhook, query),
    )

    app.get(
      '/webhooks/:webhook/requests/:request',
      { schema: { params: Params('webhook', 'request'), response: Answers(200, WebhookRequestInFull) } },
      ({ params, caller }) => getRequest(db, caller.organizationId, params.webhook, params.request),
    )
  }
}
