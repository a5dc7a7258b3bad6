import { AddressAnswer } from '#contract/alert-addresses.ts'
import { Acknowledgement } from '#contract/incidents.ts'
import type { Deps } from '../deps.ts'
import { clientNetwork, enforceLimit } from '../http/auth-and-rate-limit.ts'
import { Limiter } from '../http/rate-limiter.ts'
import { budgetOf } from '../http/rate-limits.ts'
import { Params, Responses, type Routes } from '../http/routes.ts'
import { applyAddressLink, getLinkedAddress } from '../mail/addresses.ts'
import { acknowledgeByLink, getAcknowledgement } from './acknowledge.ts'

/** The links in messages. They need no account, and only POST changes something, because mail scanners open every link. */
export function messageLinkRoutes({ db, clock, keyring, config }: Deps): Routes {
  return async (app) => {
    const limiter = new Limiter({ db, clock })
    app.addHook('onRequest', async (request, reply) => {
      const budget = budgetOf('dashboard', config.limits)
      const status = await limiter.take(clientNetwork(request.ip), budget)
      enforceLimit(status, clock.now(), reply, { ...budget, counted: 'address' })
    })
    // Mail programs send `List-Unsubscribe=One-Click` as a form, RFC 8058 section 3.1.
    app.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: 1024 },
      (_request, _body, done) => done(null, {}),
    )
    const address = { params: Params('token'), response: Responses(200, AddressAnswer) }
    for (const purpose of ['confirm', 'unsubscribe'] as const) {
      const path = `/alert-addresses/${purpose}/:token`
      app.get(path, { schema: address }, ({ params: { token } }) =>
        getLinkedAddress(db, keyring, { purpose, token }, clock.now()),
      )
      app.post(path, { schema: address }, ({ params: { token } }) =>
        applyAddressLink(db, keyring, { purpose, token }, clock.now()),
      )
    }
    const acknowledgement = { params: Params('token'), response: Responses(200, Acknowledgement) }
    app.get('/alert-acknowledgements/:token', { schema: acknowledgement }, ({ params }) =>
      getAcknowledgement(db, keyring, params.token),
    )
    app.post('/alert-acknowledgements/:token', { schema: acknowledgement }, ({ params }) =>
      acknowledgeByLink(db, keyring, params.token, clock.now()),
    )
  }
}
