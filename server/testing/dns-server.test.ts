import { Resolver } from 'node:dns/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { formatServer } from '../dns/server-address.ts'
import { type DnsServer, startDnsServer } from './dns-server.ts'

// Node's resolver is an independent implementation, so it shows what the server really sends.
let dns: DnsServer
let resolver: Resolver
beforeEach(async () => {
  dns = await startDnsServer()
  resolver = new Resolver({ timeout: 200, tries: 1 })
  resolver.setServers([formatServer(dns.address)])
})
afterEach(() => dns.close())

test('another resolver reads the records as they were set', async () => {
  dns.set('example.com', 'MX', ['10 mail.example.com'])
  dns.set('example.com', 'TXT', [`v=spf1 -all ${'x'.repeat(300)}`])
  dns.set('example.com', 'CAA', ['128 issue "ca.example"'])
  dns.set('example.com', 'SOA', ['ns.example.com hostmaster.example.com 1 2 3 4 5'])
  expect(await resolver.resolveMx('example.com')).toMatchObject([{ priority: 10, exchange: 'mail.example.com' }])
  expect((await resolver.resolveTxt('example.com')).map((chunks) => chunks.map((chunk) => chunk.length))).toEqual([
    [255, 57],
  ])
  expect(await resolver.resolveCaa('example.com')).toMatchObject([{ critical: 128, issue: 'ca.example' }])
  expect(await resolver.resolveSoa('example.com')).toMatchObject({ nsname: 'ns.example.com', minttl: 5 })
})

test('the server follows a CNAME', async () => {
  dns.set('www.example.com', 'CNAME', ['host.example.net'])
  dns.set('host.example.net', 'AAAA', ['2001:db8::1'])
  expect(await resolver.resolve6('www.example.com')).toEqual(['2001:db8::1'])
  expect(await resolver.resolveCname('www.example.com')).toEqual(['host.example.net'])
})

test('a wildcard answers only for names that do not exist', async () => {
  dns.set('*.example.com', 'A', ['192.0.2.1'])
  dns.set('a.b.example.com', 'A', ['192.0.2.2'])
  expect(await resolver.resolve4('x.y.example.com')).toEqual(['192.0.2.1'])
  expect(await resolver.resolve4('a.b.example.com')).toEqual(['192.0.2.2'])
  await expect(resolver.resolve4('b.example.com')).rejects.toMatchObject({ code: 'ENODATA' })
  await expect(resolver.resolve4('c.b.example.com')).rejects.toMatchObject({ code: 'ENOTFOUND' })
})

test('the answer is NODATA if a name exists at or below the queried one, otherwise NXDOMAIN', async () => {
  dns.set('a.b.example.com', 'A', ['192.0.2.1'])
  await expect(resolver.resolveTxt('a.b.example.com')).rejects.toMatchObject({ code: 'ENODATA' })
  await expect(resolver.resolve4('b.example.com')).rejects.toMatchObject({ code: 'ENODATA' })
  await expect(resolver.resolve4('c.example.com')).rejects.toMatchObject({ code: 'ENOTFOUND' })
  dns.remove('a.b.example.com', 'A')
  await expect(resolver.resolve4('b.example.com')).rejects.toMatchObject({ code: 'ENOTFOUND' })
})

test('an answer that is too long for UDP is truncated and fetched over TCP', async () => {
  dns.set('example.com', 'TXT', [`${'x'.repeat(3000)}`])
  expect((await resolver.resolveTxt('example.com'))[0]!.join('')).toHaveLength(3000)
  expect(dns.queries).toMatchObject({ total: 2, udp: 1, tcp: 1 })
})

test('scripts fail, drop and delay answers for a name until recover() is called', async () => {
  dns.set('example.com', 'A', ['192.0.2.1'])
  dns.fail('example.com', 'SERVFAIL')
  await expect(resolver.resolve4('example.com')).rejects.toMatchObject({ code: 'ESERVFAIL' })
  dns.recover('example.com')
  dns.drop('*')
  await expect(resolver.resolve4('example.com')).rejects.toMatchObject({ code: 'ETIMEOUT' })
  dns.recover('*')
  dns.delay('example.com', 50)
  expect(await resolver.resolve4('example.com')).toEqual(['192.0.2.1'])
  expect(dns.queries.count('example.com')).toBe(3)
  expect(dns.queries.count('example.com', 'AAAA')).toBe(0)
})
