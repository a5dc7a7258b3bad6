import type { FastifyPluginAsync } from 'fastify'
import type { Deps } from '../deps.ts'
import type { Payments } from './payments.ts'
import { retryLater } from './retry-later.ts'
import { dealWithReport } from './stripe-events.ts'

/** Where Stripe reports to. Its signature stands for the API key, and covers the octets of the body as they came. */
export function stripeRoutes(deps: Deps, payments: Payments): FastifyPluginAsync {
  return async (app) => {
    retryLater(app)
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

    app.post<{ Body: Buffer | undefined }>('/stripe/webhook', async ({ body, headers }) => {
      const signature = headers['stripe-signature']
      const report = payments.readReport(body ?? Buffer.alloc(0), String(signature ?? ''), deps.clock.now())
      await dealWithReport(deps, payments, report)
      return { received: true }
    })
  }
}
