import type { FastifyInstance } from 'fastify'
import type { Doors } from '../outside.ts'

/** Scripts and styles from here only, and nobody may frame a page. `style-src-attr`: where a popup stands is a style of its own. */
const POLICY = [
  "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data:",
  "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
].join('; ')

const YEAR_SECONDS = 365 * 24 * 60 * 60

/** What a browser must know of everything below `/dashboard`: pages, answers and errors alike. */
export function protectDashboard(app: FastifyInstance, { baseUrl }: Pick<Doors['config'], 'baseUrl'>): void {
  const isSecure = baseUrl.startsWith('https:')
  app.addHook('onSend', async ({ url }, reply) => {
    if (!/^\/dashboard(?:[/?]|$)/.test(url)) return
    reply.headers({
      'content-security-policy': POLICY,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
    })
    if (isSecure) reply.header('strict-transport-security', `max-age=${YEAR_SECONDS}`)
    // What somebody reads about an account stands in no cache.
    if (/^\/dashboard\/(?:api|auth)\//.test(url) && !reply.hasHeader('cache-control'))
      reply.header('cache-control', 'no-store')
  })
}
