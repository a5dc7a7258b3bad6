import { expect, test } from 'vitest'
import type { ServerStatus } from '#contract/server.ts'
import { bytesText, countText, databaseGrowth, msText, resolverBehavior, serverFindings } from './server-text.ts'

const AT = '2026-05-05T12:00:00.000Z'
const instance: ServerStatus['instances'][number] = {
  id: 1,
  machine: 'one',
  pid: 10,
  alive: true,
  roles: ['api', 'checker', 'delivery'],
  version: '0.1.0',
  started_at: AT,
  seen_at: AT,
  network: 'ok',
  memory: 1_000,
  checks: 5,
  most_late_ms: 3,
}
const traits = { validates: true, rewrites_nxdomain: false, observed_at: AT }
const resolver: ServerStatus['upstreams'][number] = {
  address: '192.0.2.53:53',
  queries: 100,
  failed: 1,
  average_ms: 4,
  set_aside: 0,
  traits,
  stale_at: null,
}
const healthy: ServerStatus = {
  version: '0.1.0',
  node: '26.0.0',
  at: AT,
  instances: [instance],
  checks: { due: 0, overdue: 0, oldest_ms: 0 },
  deliveries: { due_webhooks: 0, pending: 0, paused_webhooks: 0, oldest_ms: 0 },
  alerts: { due: 0, oldest_ms: 0 },
  mails: { pending: 0, oldest_ms: 0 },
  upstreams: [resolver],
  database: { engine: 'sqlite', octets: 5_000_000, log: 0, sizes: [] },
  backup: null,
  settings: [],
}
const titles = (more: Partial<ServerStatus>) => serverFindings({ ...healthy, ...more }).map(({ title }) => title)

test('what a resolver was seen to do is said in words', () => {
  const texts = (more: Partial<typeof resolver>) =>
    resolverBehavior({ ...resolver, ...more }).lines.map(({ text }) => text)
  expect(texts({})).toEqual(['Validates DNSSEC'])
  expect(texts({ traits: { ...traits, validates: false, rewrites_nxdomain: true }, stale_at: AT })).toEqual([
    'Does not validate DNSSEC',
    'Invents records of missing names',
    'Serves expired answers',
  ])
  expect(texts({ traits: null })).toEqual(['Not asked yet'])
  expect(texts({ traits: { ...traits, validates: null, rewrites_nxdomain: null } })).toEqual(['Not known'])
})

test('a healthy server has no findings', () => {
  expect(titles({})).toEqual([])
})

test.each<[Partial<ServerStatus>, string]>([
  [{ upstreams: [{ ...resolver, traits: { ...traits, validates: false } }] }, 'No resolver validates DNSSEC.'],
  [
    { upstreams: [{ ...resolver, traits: { ...traits, rewrites_nxdomain: true } }] },
    'The resolver 192.0.2.53:53 invents records of names that do not exist.',
  ],
  [{ instances: [{ ...instance, roles: ['api', 'delivery'] }] }, 'No process checks monitors.'],
  [{ instances: [instance, { ...instance, version: '0.2.0' }] }, 'Instances run different versions: 0.1.0, 0.2.0.'],
  [{ instances: [{ ...instance, network: 'offline' }] }, 'Canary names do not resolve.'],
  [{ checks: { due: 3, overdue: 3, oldest_ms: 61_000 } }, 'Checks are late.'],
  [{ upstreams: [{ ...healthy.upstreams[0]!, failed: 21 }] }, 'The resolver 192.0.2.53:53 leaves queries unanswered.'],
  [{ deliveries: { ...healthy.deliveries, oldest_ms: 121_000 } }, 'Webhook requests are late.'],
  [{ alerts: { due: 3, oldest_ms: 121_000 } }, 'Alerts are late.'],
  [{ backup: { tried_at: AT, error: 'disk full', made_at: null, octets: null } }, 'The last backup failed.'],
  [
    { backup: { tried_at: AT, error: null, made_at: '2026-05-01T12:00:00.000Z', octets: 1 } },
    'The last backup is more than two days old.',
  ],
])('%o has a finding', (more, title) => {
  expect(titles(more)).toEqual([title])
})

test('an instance that has just started can still take any role', () => {
  expect(titles({ instances: [{ ...instance, roles: [], version: null }] })).toEqual([])
  expect(titles({ instances: [{ ...instance, alive: false }] })).toHaveLength(3)
})

test('counts say where counting stopped', () => {
  expect([countText(9_999), countText(10_000)]).toEqual(['9,999', '10,000 or more'])
  expect([bytesText(0), bytesText(1_500_000), bytesText(45_000_000_000)]).toEqual(['0 B', '1.5 MB', '45 GB'])
  expect([msText(4.4), msText(61_500)]).toEqual(['4 ms', '61.5 s'])
})

test('growth needs two recorded days', () => {
  const { database } = healthy
  expect(databaseGrowth(database, AT)).toBeNull()
  const sizes = [{ at: '2026-04-28T12:00:00.000Z', octets: 4_000_000 }]
  expect(databaseGrowth({ ...database, sizes }, AT)).toEqual({ octets: 1_000_000, days: 7 })
})
