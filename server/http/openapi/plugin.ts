import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { complete, type Document } from './document.ts'
import { readGuide } from './guide.ts'

/** `GET /openapi.json`, generated from the schemas that validate requests and serialise answers. Before the routes. */
export async function describeApi(app: FastifyInstance): Promise<void> {
  const { description, tags } = await readGuide()
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Zonewatch',
        version: '1.0.0',
        description,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: '/' }],
      tags,
      security: [{ ApiKey: [] }],
      // The library wants to see it here while it collects the routes.
      components: { securitySchemes: { ApiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key' } } },
    },
    stripBasePath: false,
    transform: ({ schema, url, route }) => ({
      url,
      schema: {
        ...schema,
        ...(isDescribed(url, route.config?.requiresAuth, schema) ? {} : { hide: true }),
        // Only on their way to the document.
        'x-takes-if-match': route.config?.takesIfMatch,
        'x-writes-nothing': route.config?.writesNothing,
        'x-takes-idempotency-key': route.config?.takesIdempotencyKey,
      },
    }),
    transformObject: (document) =>
      ('openapiObject' in document ? complete(document.openapiObject as Document) : {}) as never,
  })
  let text: string | undefined
  app.get('/openapi.json', async (_request, reply) => {
    text ??= JSON.stringify(app.swagger())
    return reply.type('application/json; charset=utf-8').send(text)
  })
}

/** The API, and the routes whose schema says that they need no key. */
const isDescribed = (url: string, requiresAuth = false, schema: { security?: unknown } = {}) =>
  (requiresAuth && !url.startsWith('/dashboard/')) || schema?.security !== undefined
