import { AddressAnswer } from '#contract/alerts.ts'
import { Acknowledgement } from '#contract/incidents.ts'
import type { Deps } from '../deps.ts'
import { enforceLimit, networkOf } from '../http/auth-and-rate-limit.ts'
import { Limiter } from '../http/limiter.ts'
import { budgetOf } from '../http/limits.ts'
import { Answers, Params, type Routes } from '../http/routes.ts'
import { useAcknowledgeLink } from './acknowledge.ts'
import { useLink } from './addresses.ts'

/** What the links of messages lead to: anyone who has the link needs no account. */
export function linkRoutes({ db, clock, seal, config }: Deps): Routes {
  return async (app) => {
    const limiter = new Limiter({ db, clock })
    app.addHook('onRequest', async (request, reply) => {
      const budget = budgetOf('dashboard', config.limits)
      const standing = await limiter.take(networkOf(request.ip), budget)
      enforceLimit(standing, clock.now(), reply, { ...budget, isKnown: false })
    })
    // Mail programs send `List-Unsubscribe=One-Click` as a form, RFC 8058 section 3.1.
    app.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: 1024 },
      (_request, _body, done) => done(null, {}),
    )
    const schema = { params: Params('token'), response: Answers(200, AddressAnswer) }
    for (const purpose of ['confirm', 'unsubscribe'] as const) {
      app.get(`/alert-addresses/${purpose}/:token`, { schema }, ({ params }) =>
        useLink(db, seal, purpose, params.token, null),
      )
      app.post(`/alert-addresses/${purpose}/:token`, { schema }, ({ params }) =>
        useLink(db, seal, purpose, params.token, clock.now()),
      )
    }
    // Only the POST changes anything: mail systems open links to look at them.
    const answers = { params: Params('token'), response: Answers(200, Acknowledgement) }
    app.get('/alert-acknowledgements/:token', { schema: answers }, ({ params }) =>
      useAcknowledgeLink(db, seal, params.token, null),
    )
    app.post('/alert-acknowledgements/:token', { schema: answers }, ({ params }) =>
      useAcknowledgeLink(db, seal, params.token, clock.now()),
    )
  }
}
