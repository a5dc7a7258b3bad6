import type { MonitorResponse } from '#contract/monitors.ts'
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import type { Links } from '../waits/setup-pages.ts'
import { withWaits } from '../waits/waits.ts'
import { type Inclusion, type MonitorResponseRow, toMonitor } from './monitor.ts'

/** `hasWait`: the request has `until`, so the response has the wait. */
export async function monitorResponse(
  db: Database,
  links: Links,
  tenant: Tenant,
  row: MonitorResponseRow,
  included: Inclusion,
  hasWait = false,
): Promise<MonitorResponse> {
  if (!included.wait && !hasWait) return toMonitor(row, included)
  const [rowWithWait] = await withWaits(db, links, tenant, [row])
  return toMonitor(rowWithWait!, included)
}
