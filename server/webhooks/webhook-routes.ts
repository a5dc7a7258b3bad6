import type { FastifyRequest } from 'fastify'
import { Nullable, PageOf } from '#contract/common.ts'
import { NewWebhook, SecretRotation, Webhook, WebhookChange, WebhookQuery } from '#contract/webhooks.ts'
import type { Deps } from '../deps.ts'
import { runIdempotent } from '../http/idempotency.ts'
import { NoContent, Params, Responses, type Routes, tagRoutes } from '../http/routes.ts'
import { schemaErrors } from '../http/validation.ts'
import { withinQuota } from '../organization/quota.ts'
import { invalid, throwIfInvalid } from '../problem.ts'
import { secretError } from './signature.ts'
import { validateWebhook } from './webhook.ts'
import { findUnknownGroups, setLink } from './webhook-groups.ts'
import {
  deleteWebhook,
  getWebhook,
  getWebhookHeaders,
  insertWebhook,
  listWebhooks,
  rotateSecret,
  setActive,
  updateWebhook,
} from './webhook-store.ts'

const params = Params('webhook')
const takesIfMatch = { takesIfMatch: true }

/** Webhooks themselves; what they were sent is in `request-routes.ts`. */
export function webhookRoutes(deps: Deps): Routes {
  const { db, keyring, safeFetch, config } = deps
  // Errors of the schema are reported together with those that the schema cannot check.
  const attachValidation = true
  const refuseInvalid = async (request: FastifyRequest, id?: string) => {
    const input = request.body as Partial<NewWebhook>
    const { context } = request
    const groupErrors = await findUnknownGroups(db, context, input.groups)
    const storedHeaders = id === undefined ? {} : await getWebhookHeaders(db, keyring, context, id)
    const errors = await validateWebhook(input, storedHeaders, safeFetch)
    throwIfInvalid({ ...errors, ...groupErrors, ...schemaErrors(request) })
  }

  return async (app) => {
    tagRoutes(app, 'Webhooks')
    const list = {
      operationId: 'listWebhooks',
      summary: 'List webhooks',
      querystring: WebhookQuery,
      response: Responses(200, PageOf(Webhook)),
    }
    app.get('/webhooks', { schema: list }, ({ query, context }) =>
      deps.readList(context, (db) => listWebhooks(db, keyring, context, query)),
    )

    const create = {
      operationId: 'createWebhook',
      summary: 'Create a webhook',
      description: 'Only this response has the full secret. Zonewatch checks the URL and resolves its host name.',
      body: NewWebhook,
      response: Responses(201, Webhook),
    }
    app.post('/webhooks', { attachValidation, schema: create }, (request, reply) => {
      const { body, context } = request
      return runIdempotent(request, reply, db, {
        prepare: () => refuseInvalid(request),
        execute: async (db) => {
          const { id, secret } = await withinQuota({ ...deps, db }, context, 'webhooks', (transaction) =>
            insertWebhook(transaction, keyring, context, body, config),
          )
          return { id, secret }
        },
        respond: (db, { id, secret }) => {
          reply.code(201).header('location', `/webhooks/${id}`)
          return getWebhook(db, keyring, context, id, { secret })
        },
      })
    })

    const read = { operationId: 'getWebhook', summary: 'Get a webhook', params, response: Responses(200, Webhook) }
    app.get('/webhooks/:webhook', { schema: read }, ({ params, context }) =>
      getWebhook(db, keyring, context, params.webhook),
    )

    const change = {
      operationId: 'updateWebhook',
      summary: 'Update a webhook',
      description:
        'Fields you leave out keep their values. `headers` and `groups` are replaced as a whole. A header with its masked value keeps its value. A change of `url` needs the values of the headers again, or `headers` without them. If the url or headers of a paused webhook change, Zonewatch attempts a request immediately.',
      params,
      body: WebhookChange,
      response: Responses(200, Webhook),
    }
    app.patch('/webhooks/:webhook', { attachValidation, config: takesIfMatch, schema: change }, async (request) => {
      await refuseInvalid(request, request.params.webhook)
      const { params, body, context } = request
      await updateWebhook(db, keyring, context, params.webhook, body, config, request.match)
      return await getWebhook(db, keyring, context, params.webhook)
    })

    const remove = {
      operationId: 'deleteWebhook',
      summary: 'Delete a webhook',
      description: 'Deletes the webhook and the log of its requests. Undelivered requests are discarded.',
      params,
      response: Responses(204, NoContent),
    }
    app.delete(
      '/webhooks/:webhook',
      { config: takesIfMatch, schema: remove },
      async ({ params, context, match }, reply) => {
        await deleteWebhook(db, context, params.webhook, match)
        return reply.code(204).send(null)
      },
    )

    for (const [verb, isActive, summary, description] of [
      [
        'enable',
        true,
        'Enable a webhook',
        'Sends pending requests. If the webhook is paused, Zonewatch attempts a request immediately.',
      ],
      [
        'disable',
        false,
        'Disable a webhook',
        'Stops the creation of requests. Pending requests are kept and not attempted.',
      ],
    ] as const) {
      const schema = { operationId: `${verb}Webhook`, summary, description, params, response: Responses(200, Webhook) }
      app.post(`/webhooks/:webhook/${verb}`, { schema }, async (request, reply) => {
        const { params, context } = request
        return await runIdempotent(request, reply, db, {
          execute: (db) => setActive(db, context, params.webhook, isActive),
          respond: (db) => getWebhook(db, keyring, context, params.webhook),
        })
      })
    }

    const link = {
      operationId: 'linkWebhookToGroup',
      summary: 'Link a webhook to a group',
      description: 'The webhook receives the changes of the group from now on. Linking it again changes nothing.',
      params: Params('webhook', 'group'),
      response: Responses(204, NoContent),
    }
    app.post('/webhooks/:webhook/groups/:group', { schema: link }, (request, reply) => {
      const { params, context } = request
      const wanted = { webhookId: params.webhook, group: params.group, isLinked: true }
      return runIdempotent(request, reply, db, {
        execute: async (db) => {
          await setLink(db, context, wanted, config)
          return null
        },
        respond: () => {
          reply.code(204)
          return null
        },
      })
    })

    const unlink = {
      operationId: 'unlinkWebhookFromGroup',
      summary: 'Unlink a webhook from a group',
      description: 'The webhook receives no further changes of the group. Unlinking it again changes nothing.',
      params: Params('webhook', 'group'),
      response: Responses(204, NoContent),
    }
    app.delete('/webhooks/:webhook/groups/:group', { schema: unlink }, async ({ params, context }, reply) => {
      await setLink(db, context, { webhookId: params.webhook, group: params.group, isLinked: false }, config)
      return reply.code(204).send(null)
    })

    const rotate = {
      operationId: 'rotateSecretOfWebhook',
      summary: 'Rotate the secret of a webhook',
      description:
        'Only this response has the full new secret. X-Service-Signature uses the new secret from now on. During the grace period, webhook-signature has the signatures of both secrets.',
      params,
      body: Nullable(SecretRotation), // a body that is not sent is null
      response: Responses(200, Webhook),
    }
    app.post('/webhooks/:webhook/rotate-secret', { schema: rotate }, (request, reply) => {
      const { params, body, context } = request
      const refusal = secretError(body?.secret ?? '')
      if (refusal !== null) throw invalid({ secret: refusal })
      const given = { secret: body?.secret, graceHours: body?.grace_hours ?? 24 }
      return runIdempotent(request, reply, db, {
        execute: (db) => rotateSecret(db, keyring, context, params.webhook, given),
        respond: (db, secret) => getWebhook(db, keyring, context, params.webhook, { secret }),
      })
    })
  }
}
