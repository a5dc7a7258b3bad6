import type { ChildProcess } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { Clock } from './clock.ts'
import { expose } from './metrics/families.ts'
import { type Order, planProcesses, type Report, Supervisor } from './supervisor.ts'

const all = new Set(['api', 'checker', 'delivery'] as const)

test.each([
  [all, 1, [['api'], ['checker', 'delivery']]],
  [all, 2, [['api'], ['checker', 'delivery'], ['checker', 'delivery']]],
  [all, 0, [['api', 'checker', 'delivery']]],
  [new Set(['api'] as const), 2, [['api']]],
  [new Set(['delivery'] as const), 2, [['delivery'], ['delivery']]],
  [new Set(['checker'] as const), 0, [['checker']]],
])('the roles %o with %i workers are these processes', (roles, workers, processes) => {
  expect(planProcesses(roles, workers)).toEqual(processes)
})

test('the first process prepares the database before the others start', async () => {
  const { forked, supervisor, prepared } = givenSupervisor()
  const running = supervisor.run()
  expect(forked.map(({ orders }) => orders)).toEqual([[{ kind: 'start', isFirst: true }], [], []])
  forked[0]!.reports({ kind: 'ready', instance: 1 })
  expect(prepared()).toBe(1)
  forked[1]!.reports({ kind: 'ready', instance: 2 })
  forked[2]!.reports({ kind: 'ready', instance: 3 })
  expect(forked.slice(1).map(({ orders }) => orders)).toEqual([
    [{ kind: 'start', isFirst: false }],
    [{ kind: 'start', isFirst: false }],
  ])
  expect(prepared()).toBe(1)
  supervisor.stop()
  await running
})

test('the server is ready when all of its processes are, and logs it once', async () => {
  const { forked, supervisor, started, ready } = givenSupervisor()
  const running = supervisor.run()
  forked[0]!.reports({ kind: 'ready', instance: 1 })
  forked[2]!.reports({ kind: 'ready', instance: 2 })
  expect(ready()).toBe(0)
  forked[1]!.reports({ kind: 'ready', instance: 3 })
  expect(ready()).toBe(1)
  forked[1]!.ends('SIGKILL')
  await started(4)
  forked[3]!.reports({ kind: 'ready', instance: 4 })
  expect(ready()).toBe(1)
  supervisor.stop()
  await running
})

test('a process that ends is started again and takes over its leases, with one line in the log', async () => {
  const { forked, supervisor, logged, started } = givenSupervisor()
  const running = supervisor.run()
  for (const [place, each] of forked.entries()) each.reports({ kind: 'ready', instance: place + 1 })
  forked[1]!.ends('SIGKILL')
  await started(4)
  expect(forked[3]!.orders).toEqual([{ kind: 'start', predecessor: 2, isFirst: false }])
  expect(logged).toHaveLength(1)
  expect(logged[0]).toMatchObject({ level: 40, reason: 'SIGKILL', roles: ['checker', 'delivery'] })
  supervisor.stop()
  await running
})

test('a process that ends again and again is started after longer and longer pauses', async () => {
  const { forked, supervisor, slept, started } = givenSupervisor()
  const running = supervisor.run()
  for (const each of forked) each.reports({ kind: 'ready', instance: 1 })
  for (let count = 4; count <= 12; count++) {
    forked.at(count === 4 ? 1 : -1)!.ends('SIGSEGV')
    await started(count)
    forked.at(-1)!.reports({ kind: 'ready', instance: count })
  }
  expect(slept.slice(0, 9)).toEqual([0, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000])
  supervisor.stop()
  await running
})

test('a process that says why it cannot start ends the others with that sentence', async () => {
  const { forked, supervisor } = givenSupervisor()
  const running = supervisor.run()
  forked[0]!.reports({ kind: 'ready', instance: 1 })
  forked[1]!.reports({ kind: 'failed', message: 'Set SECRET to that one.' })
  forked[1]!.ends(1)
  await expect(running).rejects.toThrow('Set SECRET to that one.')
  expect(forked.map(({ isRunning }) => isRunning())).toEqual([false, false, false])
})

test('a process that breaks at each start ends the others with a clear sentence', async () => {
  const { forked, supervisor, started } = givenSupervisor()
  const running = supervisor.run().catch((error: Error) => error)
  forked[0]!.reports({ kind: 'ready', instance: 1 })
  forked[1]!.ends(1)
  for (let count = 4; count <= 6; count++) {
    await started(count)
    forked.at(-1)!.ends(1)
  }
  expect(String(await running)).toContain('A process with the roles checker, delivery cannot start (exit code 1)')
  expect(forked.filter(({ isRunning }) => isRunning())).toEqual([])
})

test('a wake-up signal goes to the other processes whose loops do that work', async () => {
  const { forked, supervisor } = givenSupervisor()
  const running = supervisor.run()
  for (const each of forked) each.reports({ kind: 'ready', instance: 1 })
  for (const topic of ['checks', 'requests'] as const) forked[1]!.reports({ kind: 'wake', topic })
  const wakes = forked.map(({ orders }) => orders.flatMap((order) => (order.kind === 'wake' ? [order.topic] : [])))
  expect(wakes).toEqual([[], [], ['checks', 'requests']])
  supervisor.stop()
  await running
})

test('the process with the API knows which loops of the others work', async () => {
  const { forked, supervisor } = givenSupervisor()
  const running = supervisor.run()
  const beat = { kind: 'beat', loops: ['checker'] } as const
  forked[2]!.reports({ ...beat, loops: ['checker'] })
  expect(forked.map(({ orders }) => orders.filter(({ kind }) => kind === 'beat'))).toEqual([[beat], [], []])
  supervisor.stop()
  await running
})

test('the metrics are those of all processes, each under its name, and one of them reads the database', async () => {
  const { forked, supervisor } = givenSupervisor()
  const running = supervisor.run()
  for (const each of forked) each.reports({ kind: 'ready', instance: 1 })
  const scraped = supervisor.scrape('')
  const wanted = forked.map(({ orders }) => orders.find((order) => order.kind === 'collect')!)
  expect(wanted.map(({ isWhole }) => isWhole)).toEqual([true, false, false])
  const family = (name: string) => ({
    name,
    help: name,
    type: 'counter',
    aggregator: 'sum',
    values: [{ labels: {}, value: 3 }],
  })
  for (const [place, each] of forked.entries()) {
    const whole = place === 0 ? [family('rows')] : []
    each.reports({ kind: 'collected', id: wanted[place]!.id, families: [family('done_total')], whole, problems: [] })
  }
  const { text } = await scraped
  expect(text.match(/^done_total.*$/gm)).toEqual([
    'done_total{process="api"} 3',
    'done_total{process="worker-1"} 3',
    'done_total{process="worker-2"} 3',
  ])
  expect(text.match(/^rows .*$/gm)).toEqual(['rows 3'])
  supervisor.stop()
  await running
})

test('a process that does not report is down, and a problem; problems of the others are listed once', async () => {
  const { forked, supervisor } = givenSupervisor()
  const running = supervisor.run()
  for (const each of forked) each.reports({ kind: 'ready', instance: 1 })
  const collected = supervisor.collect()
  for (const each of forked.slice(0, 2)) {
    const { id } = each.orders.find((order) => order.kind === 'collect')!
    each.reports({ kind: 'collected', id, families: [], whole: [], problems: ['the database does not answer'] })
  }
  const { parts, problems } = await collected
  expect(problems).toEqual(['the database does not answer', 'the process worker-2 does not answer'])
  const { text } = await expose(parts)
  expect(text.match(/^zonewatch_process_up.*$/gm)?.map((line) => line.slice(-1))).toEqual(['1', '1', '0'])
  supervisor.stop()
  await running
})

test('a process that does not stop in time is killed', async () => {
  const { forked, supervisor } = givenSupervisor()
  const running = supervisor.run()
  forked[2]!.hangs()
  supervisor.stop()
  await running
  expect(forked.map(({ killedBy }) => killedBy())).toEqual([undefined, undefined, 'SIGKILL'])
})

/** A process that only takes notes. It ends when it is told to stop, unless it hangs. */
function newFake() {
  let [isRunning, isHanging] = [true, false]
  let killedBy: string | undefined
  const orders: Order[] = []
  const ends = (how: number | NodeJS.Signals) => {
    isRunning = false
    emitter.connected = false
    emitter.emit('exit', typeof how === 'number' ? how : null, typeof how === 'number' ? null : how)
  }
  const emitter = Object.assign(new EventEmitter(), {
    pid: 1,
    connected: true,
    send(order: Order) {
      orders.push(order)
      if (order.kind === 'stop' && !isHanging) queueMicrotask(() => ends(0))
    },
    kill(signal: NodeJS.Signals) {
      killedBy = signal
      ends(signal)
    },
  })
  return {
    process: emitter as unknown as ChildProcess,
    orders,
    ends,
    hangs: () => {
      isHanging = true
    },
    reports: (report: Report) => emitter.emit('message', report),
    isRunning: () => isRunning,
    killedBy: () => killedBy,
  }
}

/** Of an API process and two workers; its clock lets no time pass and sleeps as long as nothing else is to be done. */
function givenSupervisor() {
  const forked: ReturnType<typeof newFake>[] = []
  const slept: number[] = []
  const logged: { level: number }[] = []
  let prepared = 0
  let ready = 0
  const clock: Clock = {
    now: () => 0,
    elapsed: () => 0,
    async sleep(ms) {
      slept.push(ms)
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
  const supervisor = new Supervisor({
    processes: planProcesses(all, 2),
    fork: () => {
      const fake = newFake()
      forked.push(fake)
      return fake.process
    },
    onPrepared: () => prepared++,
    onReady: () => ready++,
    clock,
    log: pino({ level: 'warn', base: null }, { write: (line: string) => void logged.push(JSON.parse(line)) }),
  })
  const started = async (count: number) => {
    while (forked.length < count) await new Promise((resolve) => setImmediate(resolve))
  }
  return { forked, supervisor, slept, logged, started, prepared: () => prepared, ready: () => ready }
}
