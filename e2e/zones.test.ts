import { expect, onTestFinished, test } from 'vitest'
import type { Zone, ZoneFinding } from '#contract/zones.ts'
import { createApi } from '#server/testing/api-client.ts'
import type { DnsServer } from '#server/testing/dns-server.ts'
import { formatServers, startDnsTree } from '#server/testing/dns-server-tree.ts'
import { ADMIN, ADMIN_KEY, eventually, givenEnvironment, givenServer } from '#server/testing/test-server.ts'

const NAMES = ['ns1.example.com', 'ns2.example.com']
const SOA = 'ns1.example.com hostmaster.example.com 1 3600 600 604800 300'

test('a zone is looked at by a server whose predecessor was killed during the first look', async () => {
  const tree = await startDnsTree()
  onTestFinished(() => tree.close())
  const [com] = (await tree.zone('com', ['a.nic.com'])) as [DnsServer]
  const servers = await tree.zone('example.com', NAMES, [com])
  for (const server of servers) {
    server.set('example.com', 'SOA', [SOA])
    for (const [index, name] of NAMES.entries()) server.set(name, 'A', [servers[index]!.address.ip])
  }
  const [, second] = servers as [DnsServer, DnsServer]
  second.drop('*')
  const { settings } = await givenEnvironment('sqlite')
  const withRoots = { ...settings, ...ADMIN, DNS_ROOTS: formatServers([tree.root]), DNS_TRUST_ANCHORS: 'off' }
  const first = await givenServer(withRoots)
  const created = await createApi(first.url, ADMIN_KEY).post<Zone>('/zones', { name: 'example.com' })
  expect(created).toMatchObject({ status: 201, body: { health: 'unknown', checked: null } })
  // The look waits for the silent server.
  await eventually(async () => second.queries.total, Boolean)
  await first.kill()

  const api = createApi((await givenServer(withRoots)).url, ADMIN_KEY)
  const { body: zone } = await eventually(
    () => api.get<Zone>('/zones/example.com'),
    ({ body }) => body.checked !== null,
  )
  expect(zone).toMatchObject({
    health: 'ok',
    expected_name_servers: NAMES,
    servers: [
      { name: NAMES[0], state: 'answers', serial: 1, tcp: true },
      { name: NAMES[1], state: 'silent', serial: null, tcp: null },
    ],
    dnssec: { state: 'unsigned' },
  })
  // One look confirms nothing.
  expect((await api.get<{ data: ZoneFinding[] }>('/zones/example.com/findings')).body.data).toMatchObject([
    { code: 'name_server_silent', about: NAMES[1], confirmed: null },
    { code: 'single_network', confirmed: null },
  ])
})
