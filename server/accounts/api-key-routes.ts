import {
  ApiKey,
  ApiKeyChange,
  ApiKeyQuery,
  ApiKeyRevocation,
  ApiKeyRotation,
  ApiKeyWithSecret,
  NewApiKey,
  ServerKeyLimits,
} from '#contract/api-keys.ts'
import { Nullable, OrganizationQuery, PageOf } from '#contract/common.ts'
import type { Deps } from '../deps.ts'
import { requireWriteRole } from '../http/authorization.ts'
import { runIdempotent } from '../http/idempotency.ts'
import { NoContent, Params, Responses, type Routes, tagRoutes } from '../http/routes.ts'
import { withinQuota } from '../organization/quota.ts'
import { getApiKey, getApiKeyWithSecret, listApiKeys, toKeyLimits } from './api-key-store.ts'
import { createApiKey, revokeApiKey, rotateApiKey, updateApiKey } from './api-keys.ts'

const key = { params: Params('key') }
const adminsRead = { readRole: 'admin' } as const
const takesIfMatch = { takesIfMatch: true }

export function apiKeyRoutes(deps: Deps): Routes {
  const { db, keyring, config } = deps
  return async (app) => {
    tagRoutes(app, 'API keys')
    requireWriteRole(app, 'admin')

    const list = {
      operationId: 'listApiKeys',
      summary: 'List API keys',
      description: 'Expired and revoked keys are included. The keys themselves are not shown.',
      querystring: ApiKeyQuery,
      response: Responses(200, PageOf(ApiKey)),
    }
    app.get('/api-keys', { config: adminsRead, schema: list }, ({ query, context }) =>
      deps.readList(context, (db) => listApiKeys(db, { keyring, config }, context, query)),
    )

    const create = {
      operationId: 'createApiKey',
      summary: 'Create an API key',
      description:
        'Only this response shows the key. Only owners and keys with the role admin can create keys with the role admin or with limits. A key that another key creates inherits its limits and expiry, unless the request sets lower ones.',
      body: NewApiKey,
      response: Responses(201, ApiKeyWithSecret),
    }
    app.post('/api-keys', { schema: create }, (request, reply) => {
      const { body, context } = request
      return runIdempotent(request, reply, db, {
        execute: (db) =>
          withinQuota({ ...deps, db }, context, 'api_keys', (transaction) =>
            createApiKey(transaction, config, context, body),
          ),
        respond: (db, created) => {
          reply.code(201).header('location', `/api-keys/${created.id}`)
          return getApiKeyWithSecret(db, config, context, created)
        },
      })
    })

    const read = { operationId: 'getApiKey', summary: 'Get an API key', ...key, response: Responses(200, ApiKey) }
    app.get('/api-keys/:key', { config: adminsRead, schema: read }, ({ params, context }) =>
      getApiKey(db, config, context, params.key),
    )

    const change = {
      operationId: 'updateApiKey',
      summary: 'Update an API key',
      description:
        'Fields you leave out keep their values, in `limits` too. Changes apply from the next request with the key. Returns 409 for a revoked key.',
      ...key,
      body: ApiKeyChange,
      response: Responses(200, ApiKey),
    }
    app.patch('/api-keys/:key', { config: takesIfMatch, schema: change }, async ({ params, body, context, match }) => {
      await updateApiKey(db, config, context, params.key, body, match)
      return await getApiKey(db, config, context, params.key)
    })

    const rotate = {
      operationId: 'rotateApiKey',
      summary: 'Rotate an API key',
      description:
        'Only this response shows the new key. The previous key also works for `grace_hours`; the key before that stops working at once. Id, role, limits and expiry stay, and both keys share the rate limits. Returns 409 for an expired or revoked key.',
      ...key,
      body: Nullable(ApiKeyRotation), // Fastify validates a missing body as null.
      response: Responses(200, ApiKeyWithSecret),
    }
    app.post('/api-keys/:key/rotate', { schema: rotate }, (request, reply) => {
      const { params, body, context } = request
      const graceHours = body?.grace_hours ?? 24
      return runIdempotent(request, reply, db, {
        execute: (db) => rotateApiKey(db, config, context, params.key, graceHours),
        respond: (db, newKey) => getApiKeyWithSecret(db, config, context, { id: params.key, key: newKey }),
      })
    })

    const revoke = {
      operationId: 'revokeApiKey',
      summary: 'Revoke an API key',
      description:
        'Takes effect at once and cannot be undone. The key stays in the list as revoked. Keys that it created keep working, unless `created_keys` is `revoke`; the filter `created_by_key` of the list shows them.',
      ...key,
      querystring: ApiKeyRevocation,
      response: Responses(204, NoContent),
    }
    app.delete(
      '/api-keys/:key',
      { config: takesIfMatch, schema: revoke },
      async ({ params, query, context, match }, reply) => {
        await revokeApiKey(db, context, params.key, query, match)
        return reply.code(204).send(null)
      },
    )

    app.get(
      '/dashboard/api/key-limits',
      { config: adminsRead, schema: { querystring: OrganizationQuery, response: Responses(200, ServerKeyLimits) } },
      async () => {
        const { dashboard: _, ...limits } = config.limits
        return { defaults: { ...toKeyLimits(), ...limits }, most: config.keyLimitMax }
      },
    )
  }
}
