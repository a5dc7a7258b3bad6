import type { Deps } from '../deps.ts'
import type { Routes } from '../http/routes.ts'
import { channelRoutes } from './channel-routes.ts'
import { incidentRoutes } from './incident-routes.ts'
import { maintenanceRoutes } from './maintenance-routes.ts'
import { ruleRoutes } from './rule-routes.ts'

/** Channels, alert rules, incidents, maintenance windows, and the log of what was sent. */
export function alertRoutes(deps: Deps): Routes {
  return async (app) => {
    await app.register(channelRoutes(deps))
    await app.register(ruleRoutes(deps))
    await app.register(incidentRoutes(deps))
    await app.register(maintenanceRoutes(deps))
  }
}
