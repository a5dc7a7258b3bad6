import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { check } from './check.ts'
import { type DnsNetwork, SERVERS, startDnsNetwork } from './dns-network.ts'
import { monitorsOfEveryType } from './records.ts'
import type { Server } from './servers/server.ts'

let network: DnsNetwork

beforeAll(async () => {
  network = await startDnsNetwork()
})

afterAll(() => network?.end())

/** The states that monitors of every type and mode come to for a name, each with the kinds of what was found. */
async function statesOf(name: string, server: Server): Promise<string[]> {
  const checks = await Promise.all(monitorsOfEveryType(name).map((monitor) => check(monitor, [server])))
  return [...new Set(checks.map(({ verdict, outcome }) => `${verdict.state}: ${codeOf(outcome)}`))].sort()
}

function codeOf(outcome: Awaited<ReturnType<typeof check>>['outcome']): string {
  return outcome.kind === 'failure' ? outcome.rcode : outcome.kind
}

describe.each(SERVERS)('%s: every type, exact and flexible', (server) => {
  test.concurrent('a name that does not exist is NOT_FOUND', async () => {
    expect(await statesOf('absent.zone.test', network[server])).toEqual(['NOT_FOUND: nxdomain'])
  })

  test.concurrent('an empty non-terminal is NO_DATA', async () => {
    expect(await statesOf('ent.zone.test', network[server])).toEqual(['NO_DATA: nodata'])
  })

  test.concurrent('a zone that cannot be loaded is INVALID', async () => {
    expect(await statesOf('www.unloaded.test', network[server])).toEqual(['INVALID: SERVFAIL'])
  })

  test.concurrent('a server that refuses is INVALID', async () => {
    expect(await statesOf('www.refused.test', network[server])).toEqual(['INVALID: REFUSED'])
  })
})

describe.each(SERVERS)('%s', (server) => {
  test('a CNAME to a name that does not exist is NOT_FOUND', async () => {
    const { verdict } = await check({ name: 'dangling.zone.test', type: 'A', expected: '192.0.2.1' }, [network[server]])

    expect(verdict).toMatchObject({
      state: 'NOT_FOUND',
      reason: { code: 'no_such_target', params: { target: 'nowhere.other.test' } },
    })
  })

  test('an SPF monitor of a name with other TXT records only is NO_DATA', async () => {
    const monitor = { name: 'nospf.zone.test', type: 'SPF', expected: 'v=spf1 -all' } as const

    expect((await check(monitor, [network[server]])).verdict.state).toBe('NO_DATA')
  })

  test.each([true, false])('two SPF records are BAD_SETUP (flexible: %s)', async (flexible) => {
    const monitor = { name: 'twospf.zone.test', type: 'SPF', expected: 'v=spf1 mx -all', flexible } as const

    expect((await check(monitor, [network[server]])).verdict.state).toBe('BAD_SETUP')
  })

  test.each(['loop1.zone.test', 'long0.zone.test'])(
    'the CNAME loop of %s is BAD_SETUP for a flexible CNAME',
    async (name) => {
      const monitor = { name, type: 'CNAME', expected: 'www.zone.test', flexible: true } as const

      expect((await check(monitor, [network[server]])).verdict.state).toBe('BAD_SETUP')
    },
  )
})

test.each([
  ['loop1.zone.test', ['knot']],
  ['loop1.zone.test', ['nsd']],
  ['long0.zone.test', ['knot']],
  ['long0.zone.test', ['nsd']],
  // A recursive server gives up on a loop with SERVFAIL; what it is only the authoritative ones tell.
  ['loop1.zone.test', ['unbound', 'knot']],
  ['loop1.zone.test', ['bind', 'nsd']],
] as const)('the CNAME loop of %s is BAD_SETUP, asked of %s', async (name, servers) => {
  const { verdict } = await check(
    { name, type: 'A', expected: '192.0.2.1' },
    servers.map((server) => network[server]),
  )

  expect(verdict.state).toBe('BAD_SETUP')
})

describe('a lame delegation', () => {
  test.each([
    ['knot', 'referral'],
    ['nsd', 'REFUSED'],
    ['unbound', 'SERVFAIL'],
    ['bind', 'SERVFAIL'],
  ] as const)('%s: INVALID by %s', async (server, code) => {
    const { verdict, outcome } = await check({ name: 'www.sub.lame.test', type: 'A', expected: '192.0.2.1' }, [
      network[server],
    ])

    expect(`${verdict.state}: ${codeOf(outcome)}`).toBe(`INVALID: ${code}`)
  })
})
