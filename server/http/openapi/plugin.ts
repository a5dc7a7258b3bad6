import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { completeDocument, type Document } from './document.ts'
import { readGuide } from './guide.ts'

/** `GET /openapi.json`, generated from the schemas that validate requests and serialize responses. Call it before the routes. */
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
      // The library requires it while it collects the routes. `completeDocument` replaces it.
      components: { securitySchemes: { ApiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key' } } },
    },
    stripBasePath: false,
    transform: ({ schema, url, route }) => ({
      url,
      schema: {
        ...schema,
        ...(isDescribed(url, route.config?.requiresAuth, schema) ? {} : { hide: true }),
        // `completeDocument` removes these.
        'x-takes-if-match': route.config?.takesIfMatch,
        'x-writes-nothing': route.config?.writesNothing,
        'x-takes-idempotency-key': route.config?.takesIdempotencyKey,
        'x-takes-metadata':
          (schema?.querystring as { patternProperties?: object } | undefined)?.patternProperties !== undefined,
      },
    }),
    transformObject: (document) =>
      ('openapiObject' in document ? completeDocument(document.openapiObject as Document) : {}) as never,
  })
  let text: string | undefined
  app.get('/openapi.json', async (_request, reply) => {
    text ??= JSON.stringify(app.swagger())
    return reply.type('application/json; charset=utf-8').send(text)
  })
}

/** The routes of the API, and those whose schema says that they need no key. */
const isDescribed = (url: string, requiresAuth = false, schema: { security?: unknown } = {}) =>
  (requiresAuth && !url.startsWith('/dashboard/')) || schema?.security !== undefined
