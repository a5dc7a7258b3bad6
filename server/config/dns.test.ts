import { expect, test } from 'vitest'
import { InvalidConfig, readConfig } from './config.ts'

const read = (environment: Record<string, string>) => readConfig(environment)

test('iterative resolution starts at the root servers by default, over IPv4 and IPv6 on port 53', () => {
  const { dnsRoots, dnsCanaries } = read({})
  expect(dnsRoots).toHaveLength(26)
  expect(new Set(dnsRoots.map(({ port }) => port))).toEqual(new Set([53]))
  expect(dnsCanaries.length).toBeGreaterThan(1)
})

test.each([['10.0.0.53'], ['127.0.0.1:5353,[fd00::1]'], ['192.168.1.1,172.16.0.1']])(
  'with only private DNS_SERVERS (%s), roots and canaries are on, and the canaries need no public DNS',
  (servers) => {
    const { dnsRoots, dnsCanaries, areCanariesOptional } = read({ DNS_SERVERS: servers })
    expect([dnsRoots.length, dnsCanaries.length, areCanariesOptional]).toEqual([26, 3, true])
    const set = read({ DNS_SERVERS: servers, DNS_ROOTS: 'off', DNS_CANARIES: 'example.com' })
    expect(set).toMatchObject({ dnsRoots: [], dnsCanaries: ['example.com'], areCanariesOptional: false })
  },
)

test('one public server among DNS_SERVERS is enough to use the public root servers', () => {
  expect(read({ DNS_SERVERS: '10.0.0.53,9.9.9.9' }).dnsRoots).toHaveLength(26)
})

test('DNS_ROOTS and DNS_CANARIES can be off, and DNS_ROOTS can list servers on one port', () => {
  expect(read({ DNS_ROOTS: 'off', DNS_CANARIES: 'off' })).toMatchObject({ dnsRoots: [], dnsCanaries: [] })
  expect(read({ DNS_ROOTS: '127.0.0.1:5300, 127.0.0.2:5300' }).dnsRoots).toEqual([
    { ip: '127.0.0.1', port: 5300 },
    { ip: '127.0.0.2', port: 5300 },
  ])
})

test.each([
  [{ DNS_ROOTS: '127.0.0.1:5300,127.0.0.2' }, 'the same port'],
  [{ DNS_ROOTS: 'root' }, 'invalid server address'],
  [{ DNS_CANARIES: 'a..b' }, 'invalid name'],
  [{ DNS_PER_SECOND: '0' }, 'whole number'],
])('%o is refused', (environment, words) => {
  expect(() => read(environment)).toThrow(InvalidConfig)
  expect(() => read(environment)).toThrow(words)
})
