import type { Page } from 'playwright-core'
import type { ServerStatus } from '#contract/server.ts'
import type { Showcase } from './showcase.ts'

type PageToShow = {
  /** Of the screenshot file. */
  name: string
  path: string | ((showcase: Showcase) => string)
  /** Visible without sign-in. */
  isPublic?: boolean
  /** Shown on a server without monitors, groups and webhooks. */
  isEmptyServer?: boolean
  /** The actions of a user before the screenshot. */
  prepare?: (page: Page, showcase: Showcase) => Promise<void>
}

const monitor =
  (key: string) =>
  ({ monitors }: Showcase) =>
    `/dashboard/monitors/${monitors.get(key)!.id}`

/** Dark shapes without a background, as most logos are. */
const LOGO =
  'iVBORw0KGgoAAAANSUhEUgAAAKAAAAAoCAYAAAB5LPGYAAAA7klEQVR42u3bwQ3CMBBFwXTAhRMVUAwl0H8boQHEAWX91/Y8yVcibUYWWOY4JEl/dnu9z1/LhDQcHYxqBQ9EtYAHotrgg1BxfBAqjg9CxfFdgfD+eJ5WnwWgNSfAK+GMROilbwgw+ZkALgiwEko1Qi99I4DVuyuAAJYdlwAIYGT3q36Ol74BwJHnjE5jHT4DKAAFIIACUAACqCzAzscwsgtGn5G6wdN12QUHfz50GwHseBkBukW+wsx6HQu6DQF2upAK3UI/4mYcGnQA+mec5kVo4oohNGnFEJqwYghNVhGIJqkIRJPTcIwmJEnStz6brf9+Fw0fvwAAAABJRU5ErkJggg=='

/** Every page of the dashboard and one of each kind of the documentation, for screenshots and the accessibility test. */
export const PAGES: readonly PageToShow[] = [
  { name: 'docs', path: '/docs', isPublic: true },
  { name: 'docs-tutorial', path: '/docs/tutorials/first-monitor', isPublic: true },
  { name: 'docs-reference', path: '/docs/reference/webhooks', isPublic: true },
  {
    name: 'docs-search',
    path: '/docs/guides',
    isPublic: true,
    prepare: async (page) => {
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox').fill('signature')
      await page.getByRole('option').first().waitFor()
    },
  },
  { name: 'sign-in', path: '/dashboard/sign-in', isPublic: true },
  { name: 'forgot', path: '/dashboard/forgot', isPublic: true },
  { name: 'overview', path: '/dashboard' },
  { name: 'overview-empty', path: '/dashboard', isEmptyServer: true },
  { name: 'monitors', path: '/dashboard/monitors' },
  {
    name: 'monitors-search',
    path: '/dashboard/monitors?state=MISMATCH&active=true',
    prepare: async (page) => {
      await page.getByRole('combobox', { name: 'Search monitors' }).click()
      await page.getByRole('option', { name: 'metadata.' }).waitFor()
      await page.keyboard.press('ArrowDown')
    },
  },
  { name: 'monitors-empty', path: '/dashboard/monitors', isEmptyServer: true },
  { name: 'monitor-mismatch', path: monitor('www.orchard.example A') },
  {
    name: 'monitor-delegation',
    path: monitor('www.orchard.example A'),
    prepare: async (page) => {
      const section = page.locator('section', { has: page.getByRole('heading', { name: 'Delegation' }) })
      await section
        .getByText(/ns3\.dns\.example/)
        .first()
        .waitFor()
      await section.evaluate((element) => element.scrollIntoView({ block: 'center' }))
    },
  },
  { name: 'monitor-valid', path: monitor('www.northwind.example A') },
  { name: 'monitor-not-found', path: monitor('docs.lumen.example CNAME') },
  {
    name: 'new-monitor',
    path: '/dashboard/monitors/new?name=fresh.example',
    prepare: async (page) => void (await page.getByText('192.0.2.200').first().waitFor()),
  },
  { name: 'import', path: '/dashboard/monitors/import' },
  {
    name: 'job-preview',
    path: '/dashboard/monitors',
    prepare: async (page) => {
      await page.getByRole('checkbox').first().click()
      await page.getByRole('button', { name: 'More', exact: true }).click()
      // By keyboard, because a click on a menu that just opened can be lost.
      await page.getByRole('menuitem', { name: 'Set expected values…' }).press('Enter')
      await page.getByRole('textbox', { name: 'Expected values' }).fill('192.0.2.200')
      await page.getByRole('button', { name: 'Preview' }).click()
      await page.getByRole('list', { name: 'Results' }).waitFor()
    },
  },
  {
    name: 'jobs',
    path: '/dashboard/jobs',
    prepare: async (page, { server }) => {
      const data = { action: 'update', filter: { record_type: 'A' }, change: { frequency: 30 }, dry_run: true }
      await page.request.post('/jobs', { data, headers: { origin: server.url } })
      await page.getByText('Finished').first().waitFor()
    },
  },
  {
    name: 'job',
    path: '/dashboard/jobs',
    prepare: async (page, { server }) => {
      const period = { from: '2031-01-01T00:00:00Z', to: '2031-01-02T00:00:00Z' }
      const data = { action: 'plan', all: true, value: '203.0.113.10', replacement: '203.0.113.20', ...period }
      await page.request.post('/jobs', { data: { ...data, dry_run: true }, headers: { origin: server.url } })
      await page.getByRole('link', { name: 'Plan a change from' }).first().click()
      await page.getByRole('list', { name: 'Results' }).waitFor()
    },
  },
  { name: 'jobs-empty', path: '/dashboard/jobs', isEmptyServer: true },
  { name: 'events', path: '/dashboard/events' },
  { name: 'events-empty', path: '/dashboard/events', isEmptyServer: true },
  { name: 'groups', path: '/dashboard/groups' },
  { name: 'group', path: '/dashboard/groups/northwind' },
  { name: 'alerts', path: '/dashboard/alerts' },
  {
    name: 'incident',
    path: '/dashboard/alerts',
    prepare: async (page) => {
      await page
        .getByRole('link', { name: /www\.orchard\.example answers/ })
        .first()
        .click()
      await page.getByRole('list', { name: 'Timeline' }).waitFor()
      await page.getByRole('list', { name: 'Servers' }).waitFor()
    },
  },
  { name: 'alerts-empty', path: '/dashboard/alerts', isEmptyServer: true },
  { name: 'alert-rules', path: '/dashboard/alerts?tab=rules' },
  {
    name: 'alert-rule-new',
    path: '/dashboard/alerts?tab=rules',
    prepare: async (page) => {
      await page.getByRole('button', { name: 'New rule' }).click()
      await page.getByRole('button', { name: 'Preview' }).click()
      await page.getByText('the last 30 days').first().waitFor()
    },
  },
  { name: 'alert-channels', path: '/dashboard/alerts?tab=channels' },
  {
    name: 'alert-channel-new',
    path: '/dashboard/alerts?tab=channels',
    prepare: async (page) => {
      await page.getByRole('button', { name: 'New channel' }).click()
      await page.getByRole('button', { name: 'Create channel' }).waitFor()
    },
  },
  { name: 'alert-maintenance', path: '/dashboard/alerts?tab=maintenance' },
  {
    name: 'alert-maintenance-new',
    path: '/dashboard/alerts?tab=maintenance',
    prepare: async (page) => {
      await page.getByRole('button', { name: 'New window' }).first().click()
      await page.getByRole('button', { name: 'Create window' }).waitFor()
    },
  },
  {
    name: 'alert-change-new',
    path: monitor('www.northwind.example A'),
    prepare: async (page) => {
      await page.getByRole('button', { name: 'More', exact: true }).click()
      await page.getByRole('menuitem', { name: 'Plan a change' }).click()
      await page.getByRole('button', { name: 'Plan change' }).waitFor()
    },
  },
  { name: 'alert-changes', path: '/dashboard/alerts?tab=changes' },
  { name: 'alert-log', path: '/dashboard/alerts?tab=log' },
  {
    name: 'setup-page',
    path: '/docs',
    prepare: async (page, { call, monitors }) => {
      const logo = `data:image/png;base64,${LOGO}`
      await call('PATCH', '/organization', { settings: { logo } })
      const { id } = monitors.get('shop.harbor.example CNAME')!
      await call('PATCH', `/monitors/${id}`, { until: 'valid', setup_page: 'shop' })
      const { data } = await call<{ data: { url: string }[] }>('GET', '/setup-pages?key=shop')
      await page.goto(new URL(data[0]!.url).pathname)
      await page.getByText('Waiting for your record').waitFor()
    },
  },
  { name: 'zones', path: '/dashboard/zones' },
  { name: 'zones-empty', path: '/dashboard/zones', isEmptyServer: true },
  {
    name: 'zone',
    path: '/dashboard/zones/orchard.example',
    prepare: async (page) => void (await page.getByText('does not respond').first().waitFor()),
  },
  { name: 'webhooks', path: '/dashboard/webhooks' },
  { name: 'undelivered', path: '/dashboard/webhooks/undelivered' },
  { name: 'undelivered-empty', path: '/dashboard/webhooks/undelivered', isEmptyServer: true },
  { name: 'webhooks-empty', path: '/dashboard/webhooks', isEmptyServer: true },
  {
    name: 'webhook',
    path: '/dashboard/webhooks',
    prepare: async (page) => {
      await page
        .getByRole('link', { name: /dns-changes/ })
        .first()
        .click()
      await page.getByText('DELIVERED').or(page.getByText('Delivered')).first().waitFor()
    },
  },
  {
    name: 'webhook-new',
    path: '/dashboard/webhooks',
    prepare: async (page) => {
      await page.getByRole('button', { name: 'New webhook' }).first().click()
      await page.getByRole('checkbox', { name: 'Send changes in batches' }).click()
      await page.getByLabel('Changes per request').scrollIntoViewIfNeeded()
    },
  },
  { name: 'team', path: '/dashboard/team' },
  {
    name: 'team-invite',
    path: '/dashboard/team',
    prepare: async (page) => {
      await page.getByRole('button', { name: 'Invite' }).first().click()
      await page.getByRole('dialog').waitFor()
    },
  },
  { name: 'settings', path: '/dashboard/settings' },
  {
    name: 'settings-delete',
    path: '/dashboard/settings',
    prepare: (page) => page.getByRole('button', { name: 'Delete organization' }).click(),
  },
  { name: 'settings-keys', path: '/dashboard/settings?tab=keys' },
  {
    name: 'settings-key-new',
    path: '/dashboard/settings?tab=keys',
    prepare: async (page) => {
      await page.getByRole('button', { name: 'New key' }).first().click()
      await page.getByRole('button', { name: 'Create key' }).waitFor()
    },
  },
  { name: 'settings-subscription', path: '/dashboard/settings?tab=subscription' },
  { name: 'settings-billing', path: '/dashboard/settings?tab=billing' },
  {
    name: 'settings-audit-log',
    path: '/dashboard/settings?tab=audit-log',
    prepare: async (page) => {
      await page
        .getByRole('button', { name: /created monitor|changed the/ })
        .first()
        .click()
      await page.getByText('Request id').waitFor()
    },
  },
  { name: 'settings-emails', path: '/dashboard/settings?tab=emails' },
  { name: 'server', path: '/dashboard/server' },
  {
    name: 'server-degraded',
    path: '/dashboard/server',
    prepare: async (page) => {
      await page.route('**/dashboard/api/server', async (route) => {
        const response = await route.fetch()
        await route.fulfill({ response, json: degraded(await response.json()) })
      })
      await page.getByText('Checks are late.').waitFor()
    },
  },
  { name: 'server-empty', path: '/dashboard/server', isEmptyServer: true },
  { name: 'profile', path: '/dashboard/profile' },
  {
    name: 'profile-delete',
    path: '/dashboard/profile',
    prepare: (page) => page.getByRole('button', { name: 'Delete account' }).click(),
  },
  {
    name: 'palette',
    path: '/dashboard/monitors',
    prepare: async (page) => {
      await page.keyboard.press('Control+k')
      await page.getByRole('dialog').getByRole('combobox').fill('www')
      await page
        .getByRole('option', { name: /www\.northwind/ })
        .first()
        .waitFor()
    },
  },
]

const UNRELIABLE = {
  traits: { validates: false, rewrites_nxdomain: true, observed_at: '2026-01-01T00:00:00.000Z' },
  stale_at: '2026-01-01T00:00:00.000Z',
}

/** Changes the status to that of a server whose checker has stopped. */
function degraded(status: ServerStatus): ServerStatus {
  const daysAgo = (days: number) => new Date(Date.parse(status.at) - days * 86_400_000).toISOString()
  return {
    ...status,
    instances: status.instances.map((instance) =>
      instance.roles.includes('checker') ? { ...instance, alive: false } : instance,
    ),
    checks: { due: 412, overdue: 390, oldest_ms: 754_000 },
    deliveries: { due_webhooks: 0, pending: 10_000, paused_webhooks: 3, oldest_ms: 0 },
    upstreams: status.upstreams.map((upstream) => ({
      ...upstream,
      queries: 1_000,
      failed: 420,
      set_aside: 1,
      ...UNRELIABLE,
    })),
    database: {
      ...status.database,
      sizes: Array.from({ length: 30 }, (_, index) => ({ at: daysAgo(30 - index), octets: 400_000 + 9_000 * index })),
    },
    backup: { tried_at: daysAgo(0), error: 'The disk of /backups is full.', made_at: daysAgo(4), octets: 610_000 },
  }
}
