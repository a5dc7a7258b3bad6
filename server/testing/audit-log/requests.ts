import { expect } from 'vitest'
import { newId } from '../../ids.ts'
import { givenAgent } from '../accounts.ts'
import { type AuditedRequest, rememberId, requestTo } from './fixture.ts'
import { JOB_REQUESTS } from './job-requests.ts'
import { KEY_REQUESTS } from './key-requests.ts'
import { PLAN_REQUESTS } from './plan-requests.ts'
import { SETUP_PAGE_REQUESTS } from './setup-page-requests.ts'

const MONITOR = { full_domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1' }
const SECRET = 'first-secret-of-the-test'
const HEADER = 'Bearer header-of-the-test'
const NEW_SECRET = 'another-secret-of-the-test'
const NEW_HEADER = 'Bearer second-header-of-the-test'
const PERIOD = { since: '2026-01-01T00:00:00Z', until: '2100-01-01T00:00:00Z' }
const NAME = 'www.example.com A'
const URL = 'http://127.0.0.1:9999/hook'
const HEADERS = { headers: ['Authorization'] }

const monitor = requestTo('monitor')
const webhook = requestTo('webhook')
const channel = requestTo('channel')
const rule = requestTo('alert-rule')
const ALERTS = { endpoint: 'http://127.0.0.1:9998/alerts', authorization: 'Bearer channel-secret-of-the-test' }

/** The test sends these in this order, with an API key unless `entry.by` says otherwise. */
export const API_REQUESTS: AuditedRequest[] = [
  {
    route: 'POST /monitors',
    request: async (fixture) => rememberId(fixture, 'monitor', await fixture.send('POST', '/monitors', MONITOR)),
    entry: {
      action: 'monitor.created',
      label: NAME,
      before: null,
      after: {
        ...{ domain: 'example.com', subdomain: 'www', record_type: 'A', expected_value: ['192.0.2.1'] },
        ...{ is_exact_match: true, is_active: true, notify: 'immediately', frequency: 5, group: 'default' },
        ...{ external_id: null, tags: [], metadata: {} },
      },
    },
  },
  {
    route: 'POST /monitors/bulk',
    request: ({ send }) => send('POST', '/monitors/bulk', { monitors: [MONITOR, MONITOR] }),
    entry: { action: 'monitor.created', label: null, object_count: 2, before: null, after: null },
  },
  {
    route: 'PATCH /monitors/:monitor',
    request: monitor('PATCH', { frequency: 60 }),
    entry: { action: 'monitor.updated', label: NAME, before: { frequency: 5 }, after: { frequency: 60 } },
  },
  {
    route: 'PUT /monitors/external/:external_id',
    prepare: (fixture) => fixture.send('PUT', '/monitors/external/www', MONITOR),
    request: ({ send }) =>
      send('PUT', '/monitors/external/www', { ...MONITOR, tags: ['prod'], metadata: { plan: 'a' } }),
    entry: {
      action: 'monitor.updated',
      before: { tags: [], metadata: {} },
      after: { tags: ['prod'], metadata: { plan: 'a' } },
    },
  },
  {
    route: 'POST /monitors/:monitor/disable',
    request: requestTo('monitor', '/disable')('POST'),
    entry: { action: 'monitor.disabled', before: { is_active: true }, after: { is_active: false } },
  },
  {
    route: 'POST /monitors/:monitor/enable',
    request: requestTo('monitor', '/enable')('POST'),
    entry: { action: 'monitor.enabled', before: { is_active: false }, after: { is_active: true } },
  },
  {
    route: 'POST /dashboard/api/import/updates',
    request: ({ send, ids }) => {
      const was = { expected_value: ['192.0.2.1'], is_exact_match: true }
      const update = { id: ids.monitor, was, expected_value: ['192.0.2.2'], is_exact_match: true }
      return send('POST', '/dashboard/api/import/updates', { updates: [update] })
    },
    entry: {
      action: 'monitor.updated',
      before: { expected_value: ['192.0.2.1'] },
      after: { expected_value: ['192.0.2.2'] },
    },
  },
  {
    route: 'POST /dashboard/api/accept/:monitor',
    prepare: async ({ world, ids }) => {
      const values = { current_values: '["192.0.2.3"]' }
      await world.deps.db.updateTable('monitors').set(values).where('id', '=', ids.monitor!).execute()
    },
    request: ({ send, ids }) => send('POST', `/dashboard/api/accept/${ids.monitor}`, {}),
    entry: { action: 'monitor.updated', after: { expected_value: ['192.0.2.3'] } },
  },
  ...JOB_REQUESTS,
  {
    route: 'POST /groups',
    request: async (fixture) => rememberId(fixture, 'group', await fixture.send('POST', '/groups', { name: 'Shop' })),
    entry: { action: 'group.created', label: 'Shop', after: { name: 'Shop', slug: 'shop', webhooks: [] } },
  },
  {
    route: 'PATCH /groups/:group',
    request: requestTo('group')('PATCH', { name: 'Shops' }),
    entry: { action: 'group.updated', before: { name: 'Shop' }, after: { name: 'Shops' } },
  },
  {
    route: 'PATCH /groups/:group/monitors',
    request: ({ send }) => send('PATCH', '/groups/default/monitors', { frequency: 30 }),
    entry: { action: 'group.monitors_updated', label: 'default', object_count: 4, after: { frequency: 30 } },
  },
  {
    route: 'DELETE /groups/:group',
    request: requestTo('group')('DELETE'),
    entry: { action: 'group.deleted', label: 'Shops', after: null },
  },
  {
    route: 'POST /webhooks',
    request: async (fixture) => {
      fixture.secrets.push(SECRET, HEADER, NEW_SECRET, NEW_HEADER)
      const body = { url: URL, secret: SECRET, headers: { Authorization: HEADER } }
      return rememberId(fixture, 'webhook', await fixture.send('POST', '/webhooks', body))
    },
    entry: { action: 'webhook.created', after: { url: URL, ...HEADERS, groups: [], is_active: true } },
  },
  {
    route: 'PATCH /webhooks/:webhook',
    request: webhook('PATCH', { headers: { Authorization: NEW_HEADER } }),
    entry: { action: 'webhook.updated', label: URL, before: HEADERS, after: HEADERS },
  },
  {
    route: 'POST /webhooks/:webhook/disable',
    request: requestTo('webhook', '/disable')('POST'),
    entry: { action: 'webhook.disabled', after: { is_active: false } },
  },
  {
    route: 'POST /webhooks/:webhook/enable',
    request: requestTo('webhook', '/enable')('POST'),
    entry: { action: 'webhook.enabled', after: { is_active: true } },
  },
  {
    route: 'POST /webhooks/:webhook/groups/:group',
    request: requestTo('webhook', '/groups/default')('POST'),
    entry: { action: 'webhook.updated', label: URL, before: { groups: [] } },
  },
  {
    route: 'DELETE /webhooks/:webhook/groups/:group',
    request: requestTo('webhook', '/groups/default')('DELETE'),
    entry: { action: 'webhook.updated', label: URL, after: { groups: [] } },
  },
  {
    route: 'POST /webhooks/:webhook/rotate-secret',
    request: requestTo('webhook', '/rotate-secret')('POST', { secret: NEW_SECRET, grace_hours: 1 }),
    entry: { action: 'webhook.secret_rotated', before: null, after: { grace_hours: 1 } },
  },
  {
    route: 'POST /webhooks/:webhook/test',
    request: async (fixture) => rememberId(fixture, 'request', await requestTo('webhook', '/test')('POST')(fixture)),
    entry: { action: 'webhook.tested', label: URL },
  },
  {
    route: 'POST /webhooks/:webhook/requests/:request/retry',
    request: ({ send, ids }) => send('POST', `/webhooks/${ids.webhook}/requests/${ids.request}/retry`),
    entry: { action: 'webhook.request_retried' },
  },
  {
    route: 'POST /webhooks/:webhook/replay',
    prepare: ({ world }) => {
      const set = { event_id: newId('evt', 0) } as never
      return world.deps.db.updateTable('webhook_requests').set(set).execute()
    },
    request: requestTo('webhook', '/replay')('POST', PERIOD),
    entry: { action: 'webhook.replayed', object_count: 1 },
  },
  {
    route: 'POST /dashboard/api/webhooks/:webhook/replay',
    request: ({ send, ids }) =>
      send('POST', `/dashboard/api/webhooks/${ids.webhook}/replay`, { ...PERIOD, statuses: ['PENDING'] }),
    entry: { action: 'webhook.replayed', object_count: 1 },
  },
  {
    route: 'DELETE /webhooks/:webhook',
    request: webhook('DELETE'),
    entry: { action: 'webhook.deleted', label: URL, after: null },
  },
  {
    route: 'POST /channels',
    request: async (fixture) => {
      fixture.secrets.push(ALERTS.authorization, ALERTS.endpoint)
      const body = { name: 'Operations', type: 'http', settings: ALERTS }
      return rememberId(fixture, 'channel', await fixture.send('POST', '/channels', body))
    },
    entry: {
      action: 'channel.created',
      label: 'Operations',
      after: { name: 'Operations', type: 'http', settings: ['endpoint', 'authorization'], is_active: true },
    },
  },
  {
    route: 'PATCH /channels/:channel',
    request: channel('PATCH', { name: 'On call' }),
    entry: { action: 'channel.updated', before: { name: 'Operations' }, after: { name: 'On call' } },
  },
  {
    route: 'POST /channels/:channel/test',
    request: async (fixture) => rememberId(fixture, 'alert', await requestTo('channel', '/test')('POST')(fixture)),
    entry: { action: 'channel.tested', label: 'On call' },
  },
  {
    route: 'POST /alerts/:alert/retry',
    prepare: async ({ world, ids }) => {
      const set = { kind: 'summary' as never, status: 'FAILED' as const }
      await world.deps.db.updateTable('alerts').set(set).where('id', '=', ids.alert!).execute()
    },
    request: ({ send, ids }) => send('POST', `/alerts/${ids.alert}/retry`),
    entry: { action: 'channel.alert_retried' },
  },
  {
    route: 'POST /channels/:channel/replay',
    prepare: async ({ world, ids }) => {
      const set = { kind: 'failing' as never, status: 'FAILED' as const }
      await world.deps.db.updateTable('alerts').set(set).where('id', '=', ids.alert!).execute()
    },
    request: requestTo('channel', '/replay')('POST', PERIOD),
    entry: { action: 'channel.alerts_replayed', object_count: 1 },
  },
  {
    route: 'POST /alert-rules',
    request: async (fixture) => {
      const body = { name: 'Shop', channels: [fixture.ids.channel], delay: 5 }
      return rememberId(fixture, 'alert-rule', await fixture.send('POST', '/alert-rules', body))
    },
    entry: { action: 'alert_rule.created', label: 'Shop', before: null },
  },
  {
    route: 'PATCH /alert-rules/:rule',
    request: rule('PATCH', { delay: 15 }),
    entry: { action: 'alert_rule.updated', before: { delay: 5 }, after: { delay: 15 } },
  },
  {
    route: 'DELETE /alert-rules/:rule',
    request: rule('DELETE'),
    entry: { action: 'alert_rule.deleted', label: 'Shop', after: null },
  },
  ...PLAN_REQUESTS,
  {
    route: 'DELETE /channels/:channel',
    request: channel('DELETE'),
    entry: { action: 'channel.deleted', label: 'On call', after: null },
  },
  {
    route: 'PATCH /incidents/:incident',
    prepare: async ({ world }) => {
      const { id: organization_id } = await world.organization()
      const cause = { cause: 'c', zone: 'example.com', state: 'TIMEOUT' }
      const row = { organization_id, id: 'inc_1', ...cause, opened_at: 0, monitors: 1, failing: 1 }
      await world.deps.db.insertInto('incidents').values(row).execute()
    },
    request: ({ send }) => send('PATCH', '/incidents/inc_1', { note: 'On it.' }),
    entry: { action: 'incident.updated', before: { note: null }, after: { note: 'On it.' } },
  },
  {
    route: 'POST /incidents/acknowledge',
    prepare: async ({ world }) => {
      const { id: organization_id } = await world.organization()
      const cause = { cause: 'd', zone: 'example.org', state: 'TIMEOUT' }
      const row = { organization_id, id: 'inc_2', ...cause, opened_at: 0, monitors: 1, failing: 1 }
      await world.deps.db.insertInto('incidents').values(row).execute()
    },
    request: ({ send }) => send('POST', '/incidents/acknowledge', { incidents: ['inc_2'] }),
    entry: { action: 'incident.updated', before: { acknowledged: null } },
  },
  ...SETUP_PAGE_REQUESTS,
  {
    route: 'POST /agents/invitations',
    request: async (fixture) => {
      const invited = await fixture.send('POST', '/agents/invitations', { email: 'eve@example.com' })
      return rememberId(fixture, 'invitation', invited)
    },
    entry: { action: 'invitation.created', after: { email: 'eve@example.com', role: 'member' } },
  },
  {
    route: 'POST /agents/invitations/:invitation/resend',
    request: ({ send, ids }) => send('POST', `/agents/invitations/${ids.invitation}/resend`),
    entry: { action: 'invitation.resent', label: 'eve@example.com' },
  },
  {
    route: 'DELETE /agents/invitations/:invitation',
    request: ({ send, ids }) => send('DELETE', `/agents/invitations/${ids.invitation}`),
    entry: { action: 'invitation.revoked', label: 'eve@example.com' },
  },
  {
    route: 'PATCH /agents/:agent',
    request: async (fixture) => {
      fixture.ids.agent = await givenAgent(fixture.world, { name: 'Max' })
      return await requestTo('agent')('PATCH', { role: 'viewer' })(fixture)
    },
    entry: { action: 'agent.updated', label: 'Max', before: { role: 'member' }, after: { role: 'viewer' } },
  },
  {
    route: 'DELETE /agents/:agent',
    request: requestTo('agent')('DELETE'),
    entry: { action: 'agent.removed', label: 'Max', after: null },
  },
  {
    route: 'PATCH /organization',
    request: ({ send }) => send('PATCH', '/organization', { settings: { timezone: 'Europe/Berlin' } }),
    entry: {
      action: 'organization.updated',
      label: 'First',
      before: { timezone: 'UTC' },
      after: { timezone: 'Europe/Berlin' },
    },
  },
  {
    route: 'DELETE /organization',
    request: ({ send }) => send('DELETE', '/organization?name=First'),
    entry: {
      action: 'organization.deletion_requested',
      label: 'First',
      before: { deletes: null },
      after: { deletes: expect.stringMatching(/Z$/) },
    },
  },
  {
    route: 'DELETE /organization/deletion',
    request: ({ send }) => send('DELETE', '/organization/deletion'),
    entry: {
      action: 'organization.deletion_canceled',
      label: 'First',
      before: { deletes: expect.stringMatching(/Z$/) },
      after: { deletes: null },
    },
  },
  {
    route: 'PATCH /organization/billing',
    request: ({ send }) => send('PATCH', '/organization/billing', { city: 'Berlin' }),
    entry: { action: 'billing.updated', before: { city: null }, after: { city: 'Berlin' } },
  },
  {
    route: 'PUT /organization/subscription',
    request: ({ billing }) => billing.choose('team'),
    entry: { action: 'subscription.checkout_started', after: { plan: 'team' } },
  },
  {
    route: 'POST /stripe/webhook',
    request: ({ billing }) => {
      billing.stripe.subscription({ id: 'sub_1', customer: 'cus_1', price: 'price_team' })
      return billing.sendEvent('sub_1')
    },
    entry: { action: 'subscription.updated', by: 'system', before: { plan: null }, after: { plan: 'team' } },
  },
  {
    route: 'DELETE /organization/subscription',
    request: ({ send }) => send('DELETE', '/organization/subscription'),
    entry: { action: 'subscription.canceled', before: { cancel_at: null } },
  },
  ...KEY_REQUESTS,
  {
    route: 'DELETE /monitors/:monitor',
    request: monitor('DELETE'),
    entry: { action: 'monitor.deleted', label: NAME, after: null },
  },
]
