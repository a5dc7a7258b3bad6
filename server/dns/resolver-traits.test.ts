import { expect, onTestFinished, test } from 'vitest'
import { givenDnsClient } from '../testing/dns.ts'
import { startDnsServer } from '../testing/dns-server.ts'
import { patientClock } from '../testing/patient-clock.ts'
import { findTraits, runResolverTraits } from './resolver-traits.ts'
import { OverloadError } from './semaphore.ts'

async function givenResolver(timeoutMs = 2_000) {
  const server = await startDnsServer()
  onTestFinished(() => server.close())
  server.set('', 'NS', ['a.root-servers.net'])
  return { server, dns: givenDnsClient([server], { timeoutMs }) }
}

test.each([
  ['validates', true],
  ['does not validate', false],
])('a resolver that %s', async (_, validates) => {
  const { server, dns } = await givenResolver()
  if (validates) server.authenticate('')
  expect(await findTraits(dns, server.address, patientClock)).toMatchObject({ validates, rewrites_nxdomain: false })
})

test('a resolver that has records of every name rewrites denials', async () => {
  const { server, dns } = await givenResolver()
  server.set('*.com', 'A', ['192.0.2.1'])
  expect(await findTraits(dns, server.address, patientClock)).toMatchObject({ rewrites_nxdomain: true })
})

test('of a silent resolver nothing is known, and it is asked again an hour later', async () => {
  const { server, dns } = await givenResolver(50)
  server.drop('*')
  const stop = new AbortController()
  const waits: number[] = []
  const clock = {
    ...patientClock,
    sleep: async (ms: number) => {
      waits.push(ms)
      if (waits.length === 3) stop.abort()
    },
  }
  const found: unknown[] = []
  await runResolverTraits({ dns, clock }, (address, traits) => found.push({ address, ...traits }), stop.signal)
  expect(waits).toEqual([60_000, 3_600_000, 3_600_000])
  expect(found).toHaveLength(2)
  expect(found[0]).toMatchObject({ validates: null, rewrites_nxdomain: null })
})

test('a resolver that is busy with checks is asked an hour later, and the loop goes on', async () => {
  const { dns } = await givenResolver()
  const stop = new AbortController()
  let waits = 0
  const sleep = async () => {
    waits += 1
    if (waits === 3) stop.abort()
  }
  const query: typeof dns.query = (question, options) =>
    waits === 1 ? Promise.reject(new OverloadError(1_000)) : dns.query(question, options)
  const found: string[] = []
  const deps = { dns: { ...dns, query }, clock: { ...patientClock, sleep } }
  await runResolverTraits(deps, (address) => found.push(address), stop.signal)
  expect(found).toHaveLength(1)
})
