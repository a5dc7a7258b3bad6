import { type AuditedRequest, rememberId, requestTo } from './fixture.ts'

const FUTURE = { from: '2030-01-01T02:00:00Z', to: '2030-01-01T04:00:00Z' }
const NAME = 'www.example.com A'

/** Planned changes, maintenance windows, views and zones. `ids.monitor` is the monitor of `NAME`. */
export const PLAN_REQUESTS: AuditedRequest[] = [
  {
    route: 'POST /planned-changes',
    request: async (fixture) => {
      const body = { monitor_id: fixture.ids.monitor, new_value: ['192.0.2.4'], ...FUTURE }
      return rememberId(fixture, 'planned-change', await fixture.send('POST', '/planned-changes', body))
    },
    entry: { action: 'planned_change.created', label: NAME, before: null },
  },
  {
    route: 'PATCH /planned-changes/:change',
    request: requestTo('planned-change')('PATCH', { new_value: ['192.0.2.5'] }),
    entry: {
      action: 'planned_change.updated',
      before: { new_value: ['192.0.2.4'] },
      after: { new_value: ['192.0.2.5'] },
    },
  },
  {
    route: 'DELETE /planned-changes/:change',
    request: requestTo('planned-change')('DELETE'),
    entry: { action: 'planned_change.deleted', label: NAME, after: null },
  },
  {
    route: 'POST /maintenance-windows',
    request: async (fixture) => {
      const body = { name: 'Updates', ...FUTURE }
      return rememberId(fixture, 'maintenance-window', await fixture.send('POST', '/maintenance-windows', body))
    },
    entry: { action: 'maintenance_window.created', label: 'Updates', before: null },
  },
  {
    route: 'PATCH /maintenance-windows/:window',
    request: requestTo('maintenance-window')('PATCH', { rrule: 'FREQ=DAILY' }),
    entry: { action: 'maintenance_window.updated', before: { rrule: null }, after: { rrule: 'FREQ=DAILY' } },
  },
  {
    route: 'DELETE /maintenance-windows/:window',
    request: requestTo('maintenance-window')('DELETE'),
    entry: { action: 'maintenance_window.deleted', label: 'Updates', after: null },
  },
  {
    route: 'POST /views',
    request: async (fixture) => {
      const body = { name: 'Failing', filter: { state: 'MISMATCH' } }
      return rememberId(fixture, 'view', await fixture.send('POST', '/views', body))
    },
    entry: { action: 'view.created', label: 'Failing', before: null },
  },
  {
    route: 'PATCH /views/:view',
    request: requestTo('view')('PATCH', { filter: {}, columns: ['name'] }),
    entry: {
      action: 'view.updated',
      before: { filter: { state: 'MISMATCH' }, columns: null },
      after: { filter: {}, columns: ['name'] },
    },
  },
  {
    route: 'DELETE /views/:view',
    request: requestTo('view')('DELETE'),
    entry: { action: 'view.deleted', label: 'Failing', after: null },
  },
  {
    route: 'POST /zones',
    request: async (fixture) =>
      rememberId(fixture, 'zone', await fixture.send('POST', '/zones', { name: 'example.com' })),
    entry: { action: 'zone.created', label: 'example.com', before: null },
  },
  {
    route: 'POST /zones/bulk',
    request: ({ send }) => send('POST', '/zones/bulk', { names: ['example.com', 'example.net', 'example.org'] }),
    entry: { action: 'zone.created', label: null, object_count: 2, before: null, after: null },
  },
  {
    route: 'PATCH /zones/:zone',
    request: requestTo('zone')('PATCH', { expected_name_servers: ['ns1.example.com'] }),
    entry: {
      action: 'zone.updated',
      before: { expected_name_servers: null },
      after: { expected_name_servers: ['ns1.example.com'] },
    },
  },
  {
    route: 'DELETE /zones/:zone',
    request: requestTo('zone')('DELETE'),
    entry: { action: 'zone.deleted', label: 'example.com', after: null },
  },
]
