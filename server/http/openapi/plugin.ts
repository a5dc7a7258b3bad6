import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { complete, type Document } from './document.ts'

const DESCRIPTION = `Watches DNS records and reports changes.

Every request carries an API key in the header \`X-Api-Key\`. Lists are read page by page with opaque cursors. Errors have
one shape: \`{code, error}\`, and \`errors\` with the fields at fault where the input is not valid.`

/** `GET /openapi.json`, made from the schemas that validate requests and serialise answers. Before the routes. */
export async function describeApi(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Zonewatch',
        version: '1.0.0',
        description: DESCRIPTION,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: '/' }],
      security: [{ ApiKey: [] }],
      // The library wants to see it here while it collects the routes.
      components: { securitySchemes: { ApiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key' } } },
    },
    stripBasePath: false,
    transform: ({ schema, url, route }) => ({
      url,
      schema: route.config?.needsKey && !url.startsWith('/dashboard/') ? schema : { ...schema, hide: true },
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
