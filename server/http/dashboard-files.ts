import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { notFound } from '../problem.ts'
import { PROJECT_FOLDER } from '../project-folder.ts'

/** npm builds it (`scripts/build-dashboard.ts`). */
export const BUILT = fileURLToPath(new URL('dashboard/dist/', PROJECT_FOLDER))

const NOT_BUILT = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Zonewatch</title></head>
<body><p>The dashboard is not built. Run <code>npm ci</code> in the folder of Zonewatch, then load this page again.</p></body></html>
`

/** The files of a build, except index.html and the compressed copies. */
const FILE = /^(assets\/)?[\w.-]+\.(js|css|svg|png|woff2)$/

/** `GET /dashboard`: the built files. Every page is index.html, whose script shows the page of the URL. */
export async function dashboardFiles(app: FastifyInstance, { folder = BUILT }: { folder?: string }): Promise<void> {
  await app.register(fastifyStatic, { root: folder, serve: false, preCompressed: true, cacheControl: false })

  const page = (reply: FastifyReply) => {
    reply.header('cache-control', 'no-cache').type('text/html; charset=utf-8')
    if (!existsSync(join(folder, 'index.html'))) return reply.code(503).send(NOT_BUILT)
    return reply.sendFile('index.html')
  }
  const hidden = { schema: { hide: true } }
  app.get('/', hidden, async (_request, reply) => reply.redirect('/dashboard'))
  app.get('/dashboard', hidden, (_request, reply) => page(reply))
  app.get<{ Params: { '*': string } }>('/dashboard/*', hidden, (request, reply) => {
    const path = request.params['*']
    if (!FILE.test(path)) {
      // These paths are not pages.
      if (/^(api|auth|assets)\//.test(path)) throw notFound()
      return page(reply)
    }
    // Before `cache-control`: a 404 must not be cached, because another server behind the same address may have the file.
    if (!existsSync(join(folder, path))) throw notFound()
    reply.header('cache-control', path.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache')
    return reply.sendFile(path)
  })
}
