import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { check } from './check.ts'
import { type DnsNetwork, SERVERS, startDnsNetwork } from './dns-network.ts'
import { CASES } from './records.ts'

let network: DnsNetwork

beforeAll(async () => {
  network = await startDnsNetwork()
})

afterAll(() => network?.end())

describe.each(SERVERS)('%s', (server) => {
  test.concurrent.each(CASES)('$type of $name (flexible: $flexible) is $state', async ({ state, ...monitor }) => {
    const { verdict } = await check(monitor, [network[server]])

    expect(verdict).toMatchObject({ state })
  })

  test('an answer that does not fit into UDP is fetched over TCP', async () => {
    const { evidence } = await check({ name: 'big.zone.test', type: 'TXT', expected: 'x' }, [network[server]])

    expect(evidence.slice(0, 2)).toMatchObject([
      { transport: 'udp', flags: expect.arrayContaining(['tc']), outcome: null },
      { transport: 'tcp', rcode: 'NOERROR', outcome: { kind: 'answer' } },
    ])
  })

  test('values are shown in their canonical form', async () => {
    const valuesOf = async (name: string, type: 'MX' | 'TXT' | 'CAA', expected: string) =>
      (await check({ name, type, expected }, [network[server]])).verdict.values

    expect(await valuesOf('zone.test', 'MX', 'mail.zone.test')).toEqual(['10 mail.zone.test', '20 mail2.other.test'])
    expect(await valuesOf('utf8.zone.test', 'TXT', 'x')).toEqual(['grüße 😀 "quoted" \\ back'])
    expect(await valuesOf('octets.zone.test', 'TXT', 'x')).toEqual(['\\255\\254end'])
    expect(await valuesOf('zone.test', 'CAA', '0 issue "ca.test"')).toEqual([
      '0 issue "ca.test; account=42"',
      '0 issuewild ";"',
      '128 iodef "mailto:caa@zone.test"',
    ])
  })
})
