import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { textOf } from '#contract/reasons.ts'
import { systemClock } from '#server/clock.ts'
import { createDnsClient } from '#server/dns/client.ts'
import type { Reply } from '#server/dns/outcome.ts'
import { RDATA_FORMATS } from '#server/record-types/record-types.ts'
import { check } from './check.ts'
import { type DnsNetwork, startDnsNetwork } from './dns-network.ts'

let network: DnsNetwork

beforeAll(async () => {
  network = await startDnsNetwork()
})

afterAll(() => network?.end())

const monitor = (zone: string) => ({ name: `www.${zone}`, type: 'A', expected: '192.0.2.80' }) as const
const BROKEN = ['expired.test', 'forged.test']

describe.each(['unbound', 'bind'] as const)('%s', (server) => {
  test('a signed zone is VALID', async () => {
    expect((await check(monitor('signed.test'), [network[server]])).verdict.state).toBe('VALID')
  })

  test.concurrent.each(BROKEN)('%s is INVALID', async (zone) => {
    const { verdict } = await check(monitor(zone), [network[server]])

    expect(verdict).toMatchObject({
      state: 'INVALID',
      reason: { code: 'dnssec_failed', params: { rcode: 'SERVFAIL' } },
    })
  })

  test.each([
    ['expired.test', '192.0.2.80'],
    ['forged.test', '192.0.2.66'],
  ])('%s gives its data when nobody is to check it', async (zone, value) => {
    const { outcome } = await queryWithoutValidation(`www.${zone}`, server)

    expect(outcome).toMatchObject({ kind: 'answer', rrset: { values: [value] } })
  })
})

// BIND 9.18 sends no extended error about DNSSEC. RFC 8914 sections 4.7 to 4.11.
test.concurrent.each(BROKEN)('the reason of Unbound for %s is in the verdict', async (zone) => {
  const { verdict } = await check(monitor(zone), [network.unbound])

  expect(textOf(verdict.reason)).toMatch(/\bEDE (6|7|8|9|10)\b/)
})

test('the two recursive servers agree that a broken zone is INVALID', async () => {
  const { verdict, evidence } = await check(monitor('forged.test'), [network.unbound, network.bind])

  expect(verdict.state).toBe('INVALID')
  expect(new Set(evidence.map(({ server }) => server)).size).toBe(2)
})

async function queryWithoutValidation(name: string, server: 'unbound' | 'bind'): Promise<Reply> {
  const dns = createDnsClient({ formats: RDATA_FORMATS, servers: [network[server].address], clock: systemClock })
  try {
    return await dns.query({ name, type: 'A' }, { checkingDisabled: true })
  } finally {
    await dns.close()
  }
}
