import type { FastifyRequest } from 'fastify'
import { Nullable, PageOf } from '#contract/common.ts'
import { NewWebhook, SecretRotation, Webhook, WebhookChange, WebhookQuery } from '#contract/webhooks.ts'
import { refusedBySchema } from '../http/refused.ts'
import { Answers, NoContent, Params, type Routes } from '../http/routes.ts'
import { withRoom } from '../organization/room.ts'
import type { Doors } from '../outside.ts'
import { refuse } from '../problem.ts'
import { changeWebhook, rotateSecret, setActive } from './changes.ts'
import { refuseUnknownGroups } from './links.ts'
import { deleteWebhook, getWebhook, insertWebhook, listWebhooks } from './store.ts'
import { refusalsOf } from './webhook.ts'

const tags = ['Webhooks']
const params = Params('webhook')

/** Webhooks themselves; what they were sent is in `request-routes.ts`. */
export function webhookRoutes(doors: Doors): Routes {
  const { db, clock, seal, safeFetch, bell } = doors
  // What the schema refuses and what only we can judge are reported together.
  const attachValidation = true
  const refuseWrong = async (request: FastifyRequest) => {
    const refused = refusedBySchema(request)
    const given = request.body as WebhookChange
    const unknown = await refuseUnknownGroups(db, request.caller.organizationId, given.groups)
    refuse({ ...(await refusalsOf(given, safeFetch)), ...unknown, ...refused })
  }

  return async (app) => {
    const list = {
      summary: 'List webhooks',
      tags,
      querystring: WebhookQuery,
      response: Answers(200, PageOf(Webhook)),
    }
    app.get('/webhooks', { schema: list }, ({ query, caller }) => listWebhooks(db, seal, caller.organizationId, query))

    const create = {
      summary: 'Make a webhook',
      description:
        'The answer holds the secret in full, this once. The address is checked, and looked up where it is a name.',
      tags,
      body: NewWebhook,
      response: Answers(201, Webhook),
    }
    app.post('/webhooks', { attachValidation, schema: create }, async (request, reply) => {
      await refuseWrong(request)
      const { body, caller } = request
      const { organizationId } = caller
      const webhook = await withRoom(doors, organizationId, 'webhooks', (transaction) =>
        insertWebhook(transaction, seal, organizationId, body, clock.now()),
      )
      reply.code(201).header('location', `/webhooks/${webhook.id}`)
      return webhook
    })

    const read = { summary: 'Read a webhook', tags, params, response: Answers(200, Webhook) }
    app.get('/webhooks/:webhook', { schema: read }, ({ params, caller }) =>
      getWebhook(db, seal, caller.organizationId, params.webhook),
    )

    const change = {
      summary: 'Change a webhook',
      description:
        'Absent fields stay; headers and groups are replaced whole. A paused webhook whose url or headers change is tried at once.',
      tags,
      params,
      body: WebhookChange,
      response: Answers(200, Webhook),
    }
    app.patch('/webhooks/:webhook', { attachValidation, schema: change }, async (request) => {
      await refuseWrong(request)
      const { params, body, caller } = request
      const { organizationId } = caller
      await changeWebhook(db, seal, organizationId, params.webhook, body, clock.now())
      bell.ring()
      return await getWebhook(db, seal, organizationId, params.webhook)
    })

    const remove = {
      summary: 'Delete a webhook',
      description: 'What it was not sent yet is not sent; the log of its requests goes with it.',
      tags,
      params,
      response: Answers(204, NoContent),
    }
    app.delete('/webhooks/:webhook', { schema: remove }, async ({ params, caller }, reply) => {
      await deleteWebhook(db, caller.organizationId, params.webhook, clock.now())
      return reply.code(204).send(null)
    })

    for (const [path, isActive, summary, description] of [
      ['enable', true, 'Enable a webhook', 'Requests that waited are sent. A paused webhook is tried at once.'],
      ['disable', false, 'Disable a webhook', 'No new requests are made; those that wait are kept and not attempted.'],
    ] as const) {
      const schema = { summary, description, tags, params, response: Answers(200, Webhook) }
      app.post(`/webhooks/:webhook/${path}`, { schema }, async ({ params, caller }) => {
        await setActive(db, caller.organizationId, params.webhook, isActive, clock.now())
        bell.ring()
        return await getWebhook(db, seal, caller.organizationId, params.webhook)
      })
    }

    const rotate = {
      summary: 'Rotate the secret',
      description:
        'The answer holds the new secret in full, this once. X-Service-Signature is by it from now on; during the grace webhook-signature carries the signatures of both.',
      tags,
      params,
      body: Nullable(SecretRotation), // a body that is not sent is null
      response: Answers(200, Webhook),
    }
    app.post('/webhooks/:webhook/rotate-secret', { schema: rotate }, async ({ params, body, caller }) => {
      const { organizationId } = caller
      const given = { secret: body?.secret, graceHours: body?.grace_hours ?? 24 }
      const secret = await rotateSecret(db, seal, organizationId, params.webhook, given, clock.now())
      return await getWebhook(db, seal, organizationId, params.webhook, { secret })
    })
  }
}
