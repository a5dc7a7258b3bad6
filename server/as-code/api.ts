import { type ClientOf, clientOf } from '#client/client.ts'
import { ZonewatchError } from '#client/error.ts'
import type { AlertRule, Channel } from '#contract/alerts.ts'
import type { GroupResponse } from '#contract/groups.ts'
import type { Job, NewJob } from '#contract/jobs.ts'
import type { MaintenanceWindow } from '#contract/maintenance.ts'
import type { MonitorResponse, NewMonitors } from '#contract/monitors.ts'
import type { Webhook } from '#contract/webhooks.ts'
import type { Zone } from '#contract/zones.ts'
import { CliError } from '../cli-error.ts'
import type { Environment } from './secrets.ts'

type List<Item> = { input: { query?: object }; output: { data: Item[]; after: string | null; has_more: boolean } }
type Create<Resource> = { input: { body: object }; output: Resource }
type Change<Path, Resource> = { input: { path: Path; body: object }; output: Resource }
type One<Path, Resource> = { input: { path: Path; query?: object }; output: Resource }
type G = { group: string }
type C = { channel: string }
type W = { webhook: string }
type R = { rule: string }
type M = { window: string }
type Z = { zone: string }

type Operations = {
  listGroups: List<GroupResponse>
  getGroup: One<G, GroupResponse>
  createGroup: Create<GroupResponse>
  updateGroup: Change<G, GroupResponse>
  deleteGroup: One<G, undefined>
  listChannels: List<Channel>
  getChannel: One<C, Channel>
  createChannel: Create<Channel>
  updateChannel: Change<C, Channel>
  deleteChannel: One<C, undefined>
  listWebhooks: List<Webhook>
  getWebhook: One<W, Webhook>
  createWebhook: Create<Webhook>
  updateWebhook: Change<W, Webhook>
  rotateSecretOfWebhook: Change<W, Webhook>
  deleteWebhook: One<W, undefined>
  listAlertRules: List<AlertRule>
  getAlertRule: One<R, AlertRule>
  createAlertRule: Create<AlertRule>
  updateAlertRule: Change<R, AlertRule>
  deleteAlertRule: One<R, undefined>
  listMaintenanceWindows: List<MaintenanceWindow>
  getMaintenanceWindow: One<M, MaintenanceWindow>
  createMaintenanceWindow: Create<MaintenanceWindow>
  updateMaintenanceWindow: Change<M, MaintenanceWindow>
  deleteMaintenanceWindow: One<M, undefined>
  listZones: List<Zone>
  getZone: One<Z, Zone>
  createZone: Create<Zone>
  updateZone: Change<Z, Zone>
  exportMonitors: { input: { query?: object }; output: MonitorResponse[] }
  getMonitor: One<{ monitor: string }, MonitorResponse>
  updateMonitor: Change<{ monitor: string }, MonitorResponse>
  createMonitorsInBulk: { input: { body: NewMonitors }; output: MonitorResponse[] }
  createJob: { input: { body: NewJob }; output: Job }
  getJob: One<{ job: string }, Job>
}

const ROUTES: Record<keyof Operations, string> = {
  listGroups: '/groups',
  getGroup: '/groups/{group}',
  createGroup: '/groups POST',
  updateGroup: '/groups/{group} PATCH',
  deleteGroup: '/groups/{group} DELETE',
  listChannels: '/channels',
  getChannel: '/channels/{channel}',
  createChannel: '/channels POST',
  updateChannel: '/channels/{channel} PATCH',
  deleteChannel: '/channels/{channel} DELETE',
  listWebhooks: '/webhooks',
  getWebhook: '/webhooks/{webhook}',
  createWebhook: '/webhooks POST',
  updateWebhook: '/webhooks/{webhook} PATCH',
  rotateSecretOfWebhook: '/webhooks/{webhook}/rotate-secret POST',
  deleteWebhook: '/webhooks/{webhook} DELETE',
  listAlertRules: '/alert-rules',
  getAlertRule: '/alert-rules/{rule}',
  createAlertRule: '/alert-rules POST',
  updateAlertRule: '/alert-rules/{rule} PATCH',
  deleteAlertRule: '/alert-rules/{rule} DELETE',
  listMaintenanceWindows: '/maintenance-windows',
  getMaintenanceWindow: '/maintenance-windows/{window}',
  createMaintenanceWindow: '/maintenance-windows POST',
  updateMaintenanceWindow: '/maintenance-windows/{window} PATCH',
  deleteMaintenanceWindow: '/maintenance-windows/{window} DELETE',
  listZones: '/zones',
  getZone: '/zones/{zone}',
  createZone: '/zones POST',
  updateZone: '/zones/{zone} PATCH',
  exportMonitors: '/monitors/export',
  getMonitor: '/monitors/{monitor}',
  updateMonitor: '/monitors/{monitor} PATCH',
  createMonitorsInBulk: '/monitors/bulk POST',
  createJob: '/jobs POST',
  getJob: '/jobs/{job}',
}

export type Api = ClientOf<Operations>

const RETRIES = 10
const MAX_WAIT_SECONDS = 300
/** An export of many monitors. */
const TIMEOUT_SECONDS = 600

/** `onWait`: the server asks to wait so many seconds, because of a rate limit. Throws a `CliError` without address or key. */
export function connect(environment: Environment, onWait: (seconds: number) => void, send = globalThis.fetch): Api {
  const { ZONEWATCH_URL: url, ZONEWATCH_KEY: key } = environment
  if (!url || !URL.canParse(url))
    throw new CliError('Set ZONEWATCH_URL to the address of the server, such as https://zonewatch.example.com.')
  if (!key) throw new CliError('Set ZONEWATCH_KEY to an API key. Channels need one with the role admin.')
  const observed: typeof fetch = async (input, init) => {
    const response = await send(input, init)
    const seconds = Number(response.headers.get('retry-after') ?? 0)
    if (response.status === 429 && seconds <= MAX_WAIT_SECONDS) onWait(seconds)
    return response
  }
  const limits = { retries: RETRIES, maxWaitSeconds: MAX_WAIT_SECONDS, timeoutSeconds: TIMEOUT_SECONDS }
  return clientOf<Operations>(ROUTES, { url, key, ...limits, fetch: observed })
}

/** What a person can do about an error of a request, as a `CliError`. Anything else is thrown as it is. */
export function asCliError(error: unknown): unknown {
  if (error instanceof ZonewatchError) {
    const hint = error.code === 401 ? ' Set ZONEWATCH_KEY to a valid key.' : ''
    return new CliError(`${error.message}${hint}`)
  }
  if (error instanceof TypeError && error.cause instanceof Error)
    return new CliError(
      `The server does not respond: ${error.cause.message || (error.cause as { code?: string }).code}.`,
    )
  return error
}
