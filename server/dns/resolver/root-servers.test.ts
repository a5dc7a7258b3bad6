import { expect, test } from 'vitest'
import type { Clock } from '../../clock.ts'
import type { DnsClient } from '../client.ts'
import type { Exchange } from '../outcome.ts'
import { createRootReachability } from './root-servers.ts'

/** Four root servers, of which each answers or not. `sent`: how many queries, with their repetitions. */
function givenRoots() {
  let now = 0
  let answers = true
  let sent = 0
  const clock: Clock = { now: () => now, elapsed: () => now, sleep: async () => {} }
  const answered = { rcode: 'NOERROR', flags: ['aa'], outcome: { kind: 'answer' } } as unknown as Exchange
  const silent = { rcode: null, flags: [], outcome: { kind: 'timeout' } } as unknown as Exchange
  const dns = {
    async query(_: unknown, { attempts }: { attempts: number }) {
      sent += answers ? 1 : attempts
      return { outcome: { kind: 'timeout' }, evidence: [answers ? answered : silent] }
    },
  } as unknown as DnsClient
  const roots = [1, 2, 3, 4].map((number) => ({ ip: `192.0.2.${number}`, port: 53 }))
  const { findProblem } = createRootReachability({ dns, clock, roots, timeoutMs: 1_000 })
  return {
    findProblem,
    sent: () => sent,
    setAnswers(value: boolean) {
      answers = value
    },
    pass(ms: number) {
      now += ms
    },
  }
}

test('root servers that answered before are probed again 10 seconds after they were silent', async () => {
  const { findProblem, setAnswers, pass } = givenRoots()
  expect(await findProblem()).toBeUndefined()
  setAnswers(false)
  pass(3_600_000)
  expect(await findProblem()).toBe('root_servers_unreachable')
  setAnswers(true)
  pass(9_000)
  expect(await findProblem()).toBe('root_servers_unreachable')
  pass(1_000)
  expect(await findProblem()).toBeUndefined()
})

test('where they usually answer, each is queried twice before silence counts', async () => {
  const { findProblem, setAnswers, pass, sent } = givenRoots()
  await findProblem()
  setAnswers(false)
  pass(60_000)
  await findProblem()
  expect(sent()).toBe(4 + 1 + 8)
})

test('where they usually answer, one of them is queried', async () => {
  const { findProblem, pass, sent } = givenRoots()
  for (let minute = 0; minute < 4; minute++) {
    await findProblem()
    pass(60_000)
  }
  expect(sent()).toBe(4 + 3)
})

test('root servers that never answered are probed less and less often', async () => {
  const { findProblem, setAnswers, pass, sent } = givenRoots()
  setAnswers(false)
  await findProblem()
  for (const minutes of [1, 2, 4, 8, 15, 15]) {
    pass(minutes * 60_000 - 1)
    await findProblem()
    const before = sent()
    pass(1)
    await findProblem()
    expect(sent()).toBe(before + 4)
  }
})

test('before an event, root servers that answered lately are probed again at once, and others are not', async () => {
  const { findProblem, setAnswers, pass, sent } = givenRoots()
  await findProblem()
  setAnswers(false)
  pass(60_000)
  expect(await findProblem()).toBe('root_servers_unreachable')
  setAnswers(true)
  expect(await findProblem()).toBe('root_servers_unreachable')
  expect(await findProblem(true)).toBeUndefined()

  const never = givenRoots()
  never.setAnswers(false)
  await never.findProblem()
  const before = never.sent()
  expect(await never.findProblem(true)).toBe('root_servers_unreachable')
  expect(never.sent()).toBe(before)
  expect(sent()).toBe(4 + 1 + 8 + 1)
})
