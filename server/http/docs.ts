import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'
import { PROJECT_FOLDER } from '../project-folder.ts'

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Zonewatch API</title>
</head>
<body>
<div id="app"></div>
<noscript>The document itself: <a href="/openapi.json">/openapi.json</a></noscript>
<script src="/docs/api/reference.js"></script>
<script src="/docs/api/start.js"></script>
</body>
</html>
`

/** Requests nothing from other servers: no fonts, no telemetry, no proxy for test requests. */
const START = `Scalar.createApiReference('#app', {
  url: '/openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
})
`

/** The script inserts styles. Requests go to this server only. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Built from docs/ by npm (`scripts/docs-site/build.ts`), never by the server. */
const PAGES = fileURLToPath(new URL('dashboard/dist/docs/', PROJECT_FOLDER))

/** `GET /docs`: the documentation. The dashboard serves its scripts and styles. */
export async function documentation(app: FastifyInstance): Promise<void> {
  await app.register(fastifyStatic, { root: PAGES, serve: false, preCompressed: true, cacheControl: false })
  app.addHook('onSend', async (_request, reply) => {
    reply.header('cache-control', 'no-cache')
  })
  const hidden = { schema: { hide: true } }
  app.get('/docs', hidden, (_request, reply) => reply.type('text/html; charset=utf-8').sendFile('index.html'))
  app.get<{ Params: { '*': string } }>('/docs/*', hidden, (request, reply) => {
    const page = `${request.params['*']}.html`
    const exists = /^[a-z0-9/-]+\.html$/.test(page) && !/^(404|index)\./.test(page) && existsSync(join(PAGES, page))
    return reply
      .code(exists ? 200 : 404)
      .type('text/html; charset=utf-8')
      .sendFile(exists ? page : '404.html')
  })
  await app.register(apiReference)
}

/** `GET /docs/api`: the API reference with its scripts. */
async function apiReference(app: FastifyInstance): Promise<void> {
  app.addHook('onSend', async (_request, reply) => {
    reply.headers({
      'content-security-policy': POLICY,
      'referrer-policy': 'no-referrer',
      'cache-control': 'public, max-age=3600',
    })
  })
  app.get('/docs/api', async (_request, reply) => reply.type('text/html; charset=utf-8').send(PAGE))
  app.get('/docs/api/start.js', async (_request, reply) => reply.type('text/javascript; charset=utf-8').send(START))
  app.get('/docs/api/reference.js', (_request, reply) =>
    reply.type('text/javascript; charset=utf-8').sendFile('api/reference.js'),
  )
}
