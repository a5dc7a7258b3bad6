import fastifyStatic from '@fastify/static'
import { PageOf } from '#contract/common.ts'
import { PublicPage, SetupPage, SetupPageQuery } from '#contract/setup-pages.ts'
import type { Deps } from '../../deps.ts'
import { clientNetwork, enforceLimit, refuseUnknownFields } from '../../http/auth-and-rate-limit.ts'
import { BUILT } from '../../http/dashboard-files.ts'
import { runIdempotent } from '../../http/idempotency.ts'
import { Limiter } from '../../http/rate-limiter.ts'
import { budgetOf } from '../../http/rate-limits.ts'
import { NoContent, Params, Responses, type Routes, tagRoutes } from '../../http/routes.ts'
import { Problem } from '../../problem.ts'
import { deleteSetupPage, getSetupPage, listSetupPages, renewSetupPage } from '../setup-pages.ts'
import { readPublicPage } from './public-page.ts'

/** Manages the public links. A page is created together with its monitors. */
export function setupPageRoutes({ db, keyring, config }: Deps): Routes {
  const links = { keyring, baseUrl: config.baseUrl }
  const params = Params('setup_page')
  return async (app) => {
    tagRoutes(app, 'Setup pages')
    const list = {
      operationId: 'listSetupPages',
      summary: 'List setup pages',
      description: 'The public pages of monitors that were created with `until`.',
      querystring: SetupPageQuery,
      response: Responses(200, PageOf(SetupPage)),
    }
    app.get('/setup-pages', { schema: list }, ({ query, context }) => listSetupPages(db, links, context, query))

    const read = {
      operationId: 'getSetupPage',
      summary: 'Get a setup page',
      params,
      response: Responses(200, SetupPage),
    }
    app.get('/setup-pages/:setup_page', { schema: read }, ({ params, context }) =>
      getSetupPage(db, links, context, params.setup_page),
    )

    const renew = {
      operationId: 'renewSetupPage',
      summary: 'Renew the link of a setup page',
      description: 'Returns a new link. The previous link stops working at once.',
      params,
      response: Responses(200, SetupPage),
    }
    app.post('/setup-pages/:setup_page/renew', { schema: renew }, (request, reply) => {
      const { params, context } = request
      return runIdempotent(request, reply, db, {
        execute: async (db) => {
          await renewSetupPage(db, keyring, context, params.setup_page)
          return params.setup_page
        },
        respond: (db, id) => getSetupPage(db, links, context, id),
      })
    })

    const remove = {
      operationId: 'deleteSetupPage',
      summary: 'Revoke a setup page',
      description:
        'The link stops working at once. The monitors stay and continue to wait. For a new page, send `until` to PATCH /monitors/{monitor}.',
      params,
      response: Responses(204, NoContent),
    }
    app.delete(
      '/setup-pages/:setup_page',
      { config: { takesIfMatch: true }, schema: remove },
      async ({ params, context, match }, reply) => {
        await deleteSetupPage(db, context, params.setup_page, match)
        return reply.code(204).send(null)
      },
    )
  }
}

/** Only resources of this server, no frames, no forms. */
const POLICY = [
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'",
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
].join('; ')

/** `GET /connect/{token}`: the public page of a customer, with a rate limit for each client network. */
export function publicPageRoutes({ db, clock, config }: Deps): Routes {
  return async (app) => {
    const limiter = new Limiter({ db, clock })
    refuseUnknownFields(app)
    app.addHook('onRequest', async (request, reply) => {
      // The link is a secret: it must not reach search engines, caches and other sites.
      reply.headers({
        'content-security-policy': POLICY,
        'referrer-policy': 'no-referrer',
        'x-robots-tag': 'noindex, nofollow, noarchive',
        'cache-control': 'private, no-store',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
      })
      const budget = budgetOf('setup_page', config.limits)
      const status = await limiter.take(clientNetwork(request.ip), budget)
      enforceLimit(status, clock.now(), reply, { ...budget, counted: 'address' })
    })
    const params = Params('token')
    const hide = true

    await app.register(fastifyStatic, { root: BUILT, serve: false, preCompressed: true, cacheControl: false })
    app.get('/connect/:token', { schema: { hide, params } }, async ({ params }, reply) => {
      const isKnown = await readPublicPage(db, params.token, clock.now()).then(() => true, isNotFound)
      return reply
        .code(isKnown ? 200 : 404)
        .type('text/html; charset=utf-8')
        .sendFile('connect.html')
    })

    app.get('/connect/:token/state', { schema: { hide, params, response: Responses(200, PublicPage) } }, ({ params }) =>
      readPublicPage(db, params.token, clock.now()),
    )
  }
}

/** The page shows the error. */
function isNotFound(error: unknown): false {
  if (error instanceof Problem && error.status === 404) return false
  throw error
}
