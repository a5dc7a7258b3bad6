import { accountRoutes } from './accounts/account-routes.ts'
import { agentRoutes } from './accounts/agent-routes.ts'
import { apiKeyRoutes } from './accounts/api-key-routes.ts'
import { attemptLimiter } from './accounts/attempt-limits.ts'
import { authenticator } from './accounts/authenticate.ts'
import { organizationMailRoutes } from './accounts/organization-mail-routes.ts'
import { type Passwords, scryptPasswords } from './accounts/passwords.ts'
import { pruneAccess } from './accounts/prune.ts'
import { channelRoutes } from './alerts/channel-routes.ts'
import { maintenanceRoutes } from './alerts/maintenance-routes.ts'
import { ruleRoutes } from './alerts/rule-routes.ts'
import { deletionRoutes } from './deletion/routes.ts'
import type { Deps } from './deps.ts'
import { eventDashboardRoutes } from './events/dashboard-routes.ts'
import { eventRoutes } from './events/routes.ts'
import { groupRoutes } from './groups/routes.ts'
import { requireAuthentication } from './http/auth-and-rate-limit.ts'
import { authorize } from './http/authorization.ts'
import { dashboardFiles } from './http/dashboard-files.ts'
import { documentation } from './http/docs.ts'
import { healthRoutes } from './http/health.ts'
import { describeApi } from './http/openapi/plugin.ts'
import { runPeriodicCleanup } from './http/periodic-cleanup.ts'
import { hideRoutes } from './http/routes.ts'
import { createHttpServer } from './http/server.ts'
import { messageLinkRoutes } from './incidents/message-link-routes.ts'
import { incidentRoutes } from './incidents/routes.ts'
import { jobRoutes } from './jobs/routes.ts'
import { publishInvalidations } from './live/invalidation.ts'
import { liveRoutes } from './live/routes.ts'
import { LiveStreams } from './live/streams.ts'
import { checkHistoryRoutes } from './monitors/check-history-routes.ts'
import { monitorDashboardRoutes } from './monitors/dashboard-routes.ts'
import { externalIdRoutes } from './monitors/external-id-routes.ts'
import { groupDeletionRoute } from './monitors/group-deletion.ts'
import { importRoutes } from './monitors/import/routes.ts'
import { exportRoutes } from './monitors/list/export-routes.ts'
import { monitorRoutes } from './monitors/routes.ts'
import { uptimeRoutes } from './monitors/uptime-routes.ts'
import { metricsRoutes } from './operations/metrics-routes.ts'
import { serverStatusRoutes } from './operations/server-status-routes.ts'
import { organizationRoutes } from './organization/routes.ts'
import { stripeRoutes, subscriptionRoutes } from './organization/subscription-routes.ts'
import { overviewRoutes } from './overview/routes.ts'
import { plannedChangeRoutes } from './planned-changes/routes.ts'
import type { WakeUps } from './queue/wake-up.ts'
import { viewRoutes } from './views/routes.ts'
import { publicPageRoutes, setupPageRoutes } from './waits/pages/routes.ts'
import { webhookLogRoutes } from './webhooks/log-routes.ts'
import { webhookRequestRoutes } from './webhooks/request-routes.ts'
import { webhookRoutes } from './webhooks/webhook-routes.ts'
import { zoneRoutes } from './zones/routes.ts'

/** The HTTP server with all routes: first those without an API key, then the API. */
export async function createApp(deps: Deps, passwords: Passwords = scryptPasswords) {
  const identify = authenticator(deps)
  const app = createHttpServer(deps, { identify, authorize })
  const live = new LiveStreams(deps)
  publishInvalidations(app, deps, live)
  app.addHook('preClose', () => live.close())
  app.addHook('onResponse', async ({ method }, { statusCode }) => {
    if (method !== 'GET' && statusCode < 300) wakeAll(deps.wakeUps)
  })
  // Stripe's library takes a tenth of the start time, and few servers use it.
  const { stripe } = deps.config
  const payments = stripe ? (await import('./organization/payments.ts')).createPayments(stripe) : null
  await describeApi(app)
  await app.register(documentation)
  await app.register(healthRoutes(deps))
  await app.register(metricsRoutes(deps))
  await app.register(dashboardFiles)
  if (payments) await app.register(stripeRoutes(deps, payments))
  await app.register(accountRoutes(deps, passwords))
  await app.register(publicPageRoutes(deps))
  await app.register(messageLinkRoutes(deps))
  runPeriodicCleanup(app, deps, [pruneAccess])
  await app.register(async (api) => {
    requireAuthentication(api)
    await api.register(monitorRoutes(deps))
    await api.register(exportRoutes(deps))
    await api.register(checkHistoryRoutes(deps))
    await api.register(uptimeRoutes(deps))
    await api.register(externalIdRoutes(deps))
    await api.register(eventRoutes(deps))
    await api.register(groupRoutes(deps))
    await api.register(groupDeletionRoute(deps))
    await api.register(jobRoutes(deps))
    await api.register(viewRoutes(deps))
    await api.register(webhookRoutes(deps))
    await api.register(webhookRequestRoutes(deps))
    await api.register(channelRoutes(deps))
    await api.register(ruleRoutes(deps))
    await api.register(incidentRoutes(deps))
    await api.register(maintenanceRoutes(deps))
    await api.register(setupPageRoutes(deps))
    await api.register(plannedChangeRoutes(deps))
    await api.register(zoneRoutes(deps))
    await api.register(agentRoutes(deps))
    await api.register(apiKeyRoutes(deps))
    await api.register(organizationMailRoutes(deps))
    await api.register(organizationRoutes(deps, payments, attemptLimiter(deps)))
    await api.register(deletionRoutes(deps))
    await api.register(subscriptionRoutes(deps, payments))
    await api.register(serverStatusRoutes(deps))
    await api.register(async (dashboard) => {
      hideRoutes(dashboard)
      await dashboard.register(overviewRoutes(deps))
      await dashboard.register(liveRoutes(live, identify))
      await dashboard.register(importRoutes(deps))
      await dashboard.register(monitorDashboardRoutes(deps))
      await dashboard.register(eventDashboardRoutes(deps))
      await dashboard.register(webhookLogRoutes(deps))
    })
  })
  return app
}

/** A write may have added work to any queue. */
function wakeAll(wakeUps: WakeUps): void {
  for (const wakeUp of Object.values(wakeUps)) wakeUp.send()
}
