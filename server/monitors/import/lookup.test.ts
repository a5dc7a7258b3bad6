import { expect, test } from 'vitest'
import type { LookupResult } from '#contract/dashboard.ts'
import { formatServer } from '../../dns/server-address.ts'
import { givenDnsServer } from '../../testing/dns.ts'
import { givenApp } from '../../testing/test-app.ts'

const PATH = '/dashboard/api/lookup'

async function givenNames() {
  const dns = await givenDnsServer()
  dns.set('example.com', 'A', ['192.0.2.1', '192.0.2.2'])
  dns.set('example.com', 'MX', ['10 mail.example.com'])
  dns.set('example.com', 'SOA', ['ns1.example.com hostmaster.example.com 1 3600 900 1209600 300'])
  dns.set('example.com', 'TXT', ['v=spf1 -all', 'hello'])
  dns.set('www.example.com', 'CNAME', ['example.com'])
  dns.set('xn--mnchen-3ya.example', 'A', ['192.0.2.9'])
  dns.set('1.2.0.192.in-addr.arpa', 'PTR', ['www.example.com'])
  const world = await givenApp('sqlite', { DNS_SERVERS: formatServer(dns.address) })
  const lookUp = (body: object) => world.call(PATH, { method: 'POST', body })
  return { dns, world, lookUp }
}

const summary = (found: LookupResult[]) =>
  Object.fromEntries(
    found.map(({ record_type, outcome, values }) => [record_type, outcome === 'VALID' ? values : outcome]),
  )

test('everything that a name may have is asked once each, records first, in the form of current_value', async () => {
  const { dns, lookUp } = await givenNames()
  const { status, body } = await lookUp({ name: 'Example.com.' })
  expect([status, body.full_domain, body.domain, body.subdomain]).toEqual([200, 'example.com', 'example.com', ''])
  expect(summary(body.found)).toEqual({
    A: ['192.0.2.1', '192.0.2.2'],
    MX: ['10 mail.example.com'],
    TXT: ['hello', 'v=spf1 -all'],
    SPF: ['v=spf1 -all'],
    AAAA: 'NO_DATA',
    CAA: 'NO_DATA',
    NS: 'NO_DATA',
    HTTPS: 'NO_DATA',
    DS: 'NO_DATA',
    SOA: ['ns1.example.com hostmaster.example.com 1 3600 900 1209600 300'],
  })
  expect(body.found.map(({ values }: LookupResult) => values.length > 0)).toEqual([
    ...Array(5).fill(true),
    ...Array(5).fill(false),
  ])
  expect(body.found[0].sentence).toBe('example.com answers 192.0.2.1 and 192.0.2.2.')
  expect(dns.queries.total).toBe(9)
  const expected = body.found.map((each: LookupResult) => [each.record_type, each.expected_value, each.is_exact_match])
  expect(expected).toContainEqual(['MX', ['10 mail.example.com'], true])
  expect(expected).toContainEqual(['SOA', ['ns1.example.com hostmaster.example.com * 3600 900 1209600 300'], false])
})

test('a name below the apex may be an alias, and only the type that is wanted is asked', async () => {
  const { dns, lookUp } = await givenNames()
  const { body } = await lookUp({ name: 'www.example.com' })
  expect(body.found[0]).toMatchObject({ record_type: 'CNAME', values: ['example.com'] })
  const before = dns.queries.total
  const one = (await lookUp({ name: 'www.example.com', record_type: 'A' })).body
  expect(summary(one.found)).toEqual({ A: ['192.0.2.1', '192.0.2.2'] })
  expect(dns.queries.total - before).toBe(1)
})

test('URLs, addresses and names in any script are taken as they are pasted', async () => {
  const { lookUp } = await givenNames()
  for (const [name, full_domain] of [
    ['https://user@www.example.com:8443/a/b?c#d', 'www.example.com'],
    ['www.example.com/', 'www.example.com'],
    ['mailto:someone@example.com', 'example.com'],
    [' München.example ', 'xn--mnchen-3ya.example'],
    ['192.0.2.1', '1.2.0.192.in-addr.arpa'],
    ['http://192.0.2.1:80/', '1.2.0.192.in-addr.arpa'],
    ['http://[2001:db8::1]:80/', `${'1.0.0.0.'.padEnd(48, '0.')}8.b.d.0.1.0.0.2.ip6.arpa`],
  ] as const) {
    const { body } = await lookUp({ name })
    expect([name, body.full_domain]).toEqual([name, full_domain])
  }
  const { body } = await lookUp({ name: '192.0.2.1' })
  expect(summary(body.found)).toEqual({ PTR: ['www.example.com'] })
})

test('an invalid name is a 400 that names the field', async () => {
  const { world, lookUp } = await givenNames()
  for (const [body, field] of [
    [{ name: 'two words' }, 'name'],
    [{ name: '...' }, 'name'],
    [{ name: 'https://' }, 'name'],
    [{ name: '192.0.2.1', record_type: 'A' }, 'record_type'],
    [{ name: 'example.com', record_type: 'DNSKEY' }, 'record_type'],
    [{}, 'name'],
  ] as const) {
    const answer = await lookUp(body)
    expect([body, answer.status, Object.keys(answer.body.errors)]).toEqual([body, 400, [field]])
  }
  expect((await world.call(PATH, { method: 'POST', key: null, body: { name: 'example.com' } })).status).toBe(401)
  expect(
    (await world.call(PATH, { method: 'POST', body: { name: 'none.example', record_type: 'A' } })).body.found,
  ).toEqual([
    expect.objectContaining({ outcome: 'NOT_FOUND', values: [], sentence: 'none.example does not exist (NXDOMAIN).' }),
  ])
})

test('servers that do not answer are reported as such', async () => {
  const { dns, lookUp } = await givenNames()
  dns.drop('example.com')
  const { body } = await lookUp({ name: 'example.com', record_type: 'A' })
  expect(body.found).toEqual([
    expect.objectContaining({
      outcome: 'TIMEOUT',
      sentence: 'example.com timed out: no name server answered in time.',
    }),
  ])
})
