import type { FastifyPluginAsync } from 'fastify'
import type { Doors } from '../outside.ts'
import type { Payments } from './payments.ts'
import { dealWithReport } from './report.ts'
import { retryLater } from './retry-later.ts'

/** Where Stripe reports to. Its signature stands for the API key, and covers the octets of the body as they came. */
export function stripeRoutes(doors: Doors, payments: Payments): FastifyPluginAsync {
  return async (app) => {
    retryLater(app)
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

    app.post<{ Body: Buffer | undefined }>('/stripe/webhook', async ({ body, headers }) => {
      const signature = headers['stripe-signature']
      const report = payments.readReport(body ?? Buffer.alloc(0), String(signature ?? ''), doors.clock.now())
      await dealWithReport(doors, payments, report)
      return { received: true }
    })
  }
}
