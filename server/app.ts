import { createAuth } from './access/auth.ts'
import { authenticator } from './access/authenticate.ts'
import { type Passwords, scryptPasswords } from './access/passwords.ts'
import { permit } from './access/permit.ts'
import { pruneAccess } from './access/prune.ts'
import { sessionReader } from './access/sessions.ts'
import { agentRoutes } from './agents/routes.ts'
import { accountKeyRoutes } from './dashboard/account-keys.ts'
import { accountRoutes } from './dashboard/account-routes.ts'
import { dashboardFiles } from './dashboard/files.ts'
import { announceChanges } from './dashboard/live/announce.ts'
import { LiveStreams } from './dashboard/live/streams.ts'
import { dashboardRoutes } from './dashboard/routes.ts'
import { eventRoutes } from './events/routes.ts'
import { groupRoutes } from './groups/routes.ts'
import { documentationPage } from './http/docs.ts'
import { needKey } from './http/gate.ts'
import { healthRoutes } from './http/health.ts'
import { keepHouse } from './http/housekeeping.ts'
import { describeApi } from './http/openapi/plugin.ts'
import { createHttpServer } from './http/server.ts'
import { monitorRoutes } from './monitors/routes.ts'
import { organizationRoutes } from './organization/routes.ts'
import { stripeRoutes } from './organization/stripe-routes.ts'
import { subscriptionRoutes } from './organization/subscription-routes.ts'
import type { Doors } from './outside.ts'
import { webhookRequestRoutes } from './webhooks/request-routes.ts'
import { webhookRoutes } from './webhooks/routes.ts'

/** The HTTP side, put together: what needs no key, and the API behind its keys. */
export async function createApp(doors: Doors, passwords: Passwords = scryptPasswords) {
  const auth = createAuth(doors, passwords)
  const sessionOf = sessionReader(auth, doors)
  const identify = authenticator({ ...doors, sessionOf })
  const app = createHttpServer(doors, { identify, permit })
  const live = new LiveStreams(doors)
  announceChanges(app, doors, live)
  app.addHook('preClose', () => live.close())
  // Stripe's library takes a tenth of a start, and few servers sell anything.
  const { stripe } = doors.config
  const payments = stripe ? (await import('./organization/payments.ts')).openPayments(stripe) : null
  await describeApi(app)
  await app.register(documentationPage)
  await app.register(healthRoutes(doors))
  await app.register(dashboardFiles)
  if (payments) await app.register(stripeRoutes(doors, payments))
  await app.register(accountRoutes(doors, auth))
  keepHouse(app, doors, [pruneAccess])
  await app.register(async (api) => {
    needKey(api)
    await api.register(monitorRoutes(doors))
    await api.register(eventRoutes(doors))
    await api.register(groupRoutes(doors))
    await api.register(webhookRoutes(doors))
    await api.register(webhookRequestRoutes(doors))
    await api.register(agentRoutes(doors))
    await api.register(accountKeyRoutes(doors))
    await api.register(organizationRoutes(doors, payments))
    await api.register(subscriptionRoutes(doors, payments))
    await api.register(dashboardRoutes(doors, { live, identify }))
  })
  return app
}
