import type { AuditedRequest, AuditWorld } from './audited-world.ts'

const FUTURE = { from: '2030-01-01T02:00:00Z', to: '2030-01-01T04:00:00Z' }
const NAME = 'www.example.com A'

async function made(given: AuditWorld, kind: string, body: unknown) {
  const answer = await given.send('POST', `/${kind}s`, body)
  given.ids[kind] = answer.body?.id
  return answer
}

const on = (kind: string, method: string, body?: unknown) => (given: AuditWorld) =>
  given.send(method, `/${kind}s/${given.ids[kind]}`, body)

/** Planned changes, maintenance windows and views. `ids` has a monitor of `NAME`. */
export const WITH_PLANS: AuditedRequest[] = [
  {
    route: 'POST /planned-changes',
    request: async (given) => {
      const body = { monitor_id: given.ids.monitor, new_value: ['192.0.2.4'], ...FUTURE }
      return await made(given, 'planned-change', body)
    },
    entry: { action: 'planned_change.created', label: NAME, before: null },
  },
  {
    route: 'PATCH /planned-changes/:change',
    request: on('planned-change', 'PATCH', { new_value: ['192.0.2.5'] }),
    entry: {
      action: 'planned_change.updated',
      before: { new_value: ['192.0.2.4'] },
      after: { new_value: ['192.0.2.5'] },
    },
  },
  {
    route: 'DELETE /planned-changes/:change',
    request: on('planned-change', 'DELETE'),
    entry: { action: 'planned_change.deleted', label: NAME, after: null },
  },
  {
    route: 'POST /maintenance-windows',
    request: async (given) => {
      const body = { name: 'Updates', ...FUTURE }
      return await made(given, 'maintenance-window', body)
    },
    entry: { action: 'maintenance_window.created', label: 'Updates', before: null },
  },
  {
    route: 'PATCH /maintenance-windows/:window',
    request: on('maintenance-window', 'PATCH', { rrule: 'FREQ=DAILY' }),
    entry: { action: 'maintenance_window.updated', before: { rrule: null }, after: { rrule: 'FREQ=DAILY' } },
  },
  {
    route: 'DELETE /maintenance-windows/:window',
    request: on('maintenance-window', 'DELETE'),
    entry: { action: 'maintenance_window.deleted', label: 'Updates', after: null },
  },
  {
    route: 'POST /views',
    request: async (given) => await made(given, 'view', { name: 'Failing', filter: { state: 'MISMATCH' } }),
    entry: { action: 'view.created', label: 'Failing', before: null },
  },
  {
    route: 'PATCH /views/:view',
    request: on('view', 'PATCH', { filter: {}, columns: ['name'] }),
    entry: {
      action: 'view.updated',
      before: { filter: { state: 'MISMATCH' }, columns: null },
      after: { filter: {}, columns: ['name'] },
    },
  },
  {
    route: 'DELETE /views/:view',
    request: on('view', 'DELETE'),
    entry: { action: 'view.deleted', label: 'Failing', after: null },
  },
]
