import type { ChildProcess } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { Clock } from './clock.ts'
import { expose } from './metrics/registry.ts'
import { type ProcessMessage, planProcesses, Supervisor, type SupervisorMessage } from './supervisor.ts'

const all = new Set(['api', 'checker', 'delivery'] as const)

test.each([
  [all, 1, [['api'], ['checker', 'delivery']]],
  [all, 2, [['api'], ['checker', 'delivery'], ['checker', 'delivery']]],
  [all, 0, [['api', 'checker', 'delivery']]],
  [new Set(['api'] as const), 2, [['api']]],
  [new Set(['delivery'] as const), 2, [['delivery'], ['delivery']]],
  [new Set(['checker'] as const), 0, [['checker']]],
])('the roles %o with %i workers start the processes %o', (roles, workers, processes) => {
  expect(planProcesses(roles, workers)).toEqual(processes)
})

test('the first process prepares the database before the others start', async () => {
  const { forked, supervisor, prepared } = givenSupervisor()
  const running = supervisor.run()
  expect(forked.map(({ messages }) => messages)).toEqual([[{ kind: 'start', isFirst: true }], [], []])
  forked[0]!.reports({ kind: 'ready', instance: 1 })
  expect(prepared()).toBe(1)
  forked[1]!.reports({ kind: 'ready', instance: 2 })
  forked[2]!.reports({ kind: 'ready', instance: 3 })
  expect(forked.slice(1).map(({ messages }) => messages)).toEqual([
    [{ kind: 'start', isFirst: false }],
    [{ kind: 'start', isFirst: false }],
  ])
  expect(prepared()).toBe(1)
  supervisor.stop()
  await running
})

test('the server reports once that it is ready, when all processes are', async () => {
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

test('a process that ends is restarted, takes over its leases, and is logged once with the probable reason', async () => {
  const { forked, supervisor, logged, started } = givenSupervisor()
  const running = supervisor.run()
  for (const [index, each] of forked.entries()) each.reports({ kind: 'ready', instance: index + 1 })
  forked[1]!.ends('SIGKILL')
  await started(4)
  expect(forked[3]!.messages).toEqual([{ kind: 'start', predecessor: 2, isFirst: false }])
  expect(logged).toHaveLength(1)
  expect(logged[0]).toMatchObject({
    level: 40,
    reason: expect.stringContaining('SIGKILL, probably by the kernel because memory ran out'),
    roles: ['checker', 'delivery'],
  })
  supervisor.stop()
  await running
})

test('the delay between restarts doubles, up to 10 s', async () => {
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

test('the server stops with the error of a process that cannot start', async () => {
  const { forked, supervisor } = givenSupervisor()
  const running = supervisor.run()
  forked[0]!.reports({ kind: 'ready', instance: 1 })
  forked[1]!.reports({ kind: 'failed', message: 'Set SECRET to that one.', mayPass: false })
  forked[1]!.ends(1)
  await expect(running).rejects.toThrow('Set SECRET to that one.')
  expect(forked.map(({ isRunning }) => isRunning())).toEqual([false, false, false])
})

test('a process that cannot start because the database has just become unavailable is started until it can', async () => {
  const { forked, supervisor, slept, started } = givenSupervisor()
  const running = supervisor.run()
  forked[0]!.reports({ kind: 'ready', instance: 1 })
  for (let count = 4; count <= 40; count++) {
    const failing = count === 4 ? forked[1]! : forked.at(-1)!
    failing.reports({ kind: 'failed', message: 'The database cannot be used.', mayPass: true })
    failing.ends(1)
    await started(count)
  }
  expect(slept.at(-1)).toBe(10_000)
  forked.at(-1)!.reports({ kind: 'ready', instance: 2 })
  supervisor.stop()
  await running
})

test('the server stops when the database is unavailable at its first start', async () => {
  const { forked, supervisor } = givenSupervisor()
  const running = supervisor.run()
  forked[0]!.reports({ kind: 'failed', message: 'The database cannot be used.', mayPass: true })
  forked[0]!.ends(1)
  await expect(running).rejects.toThrow('The database cannot be used.')
})

test('the server stops when a process ends at each start', async () => {
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

test('a wake-up signal goes to the other processes with loops of that topic', async () => {
  const { forked, supervisor } = givenSupervisor()
  const running = supervisor.run()
  for (const each of forked) each.reports({ kind: 'ready', instance: 1 })
  for (const topic of ['checks', 'requests'] as const) forked[1]!.reports({ kind: 'wake', topic })
  const wakes = forked.map(({ messages }) =>
    messages.flatMap((message) => (message.kind === 'wake' ? [message.topic] : [])),
  )
  expect(wakes).toEqual([[], [], ['checks', 'requests']])
  supervisor.stop()
  await running
})

test('the process with the API is informed which loops of the others run', async () => {
  const { forked, supervisor } = givenSupervisor()
  const running = supervisor.run()
  const message: ProcessMessage = { kind: 'loops', running: ['checker'] }
  forked[2]!.reports(message)
  expect(forked.map(({ messages }) => messages.filter(({ kind }) => kind === 'loops'))).toEqual([[message], [], []])
  supervisor.stop()
  await running
})

test('a scrape returns the metrics of all processes under their names; one process reads the database', async () => {
  const { forked, supervisor } = givenSupervisor()
  const running = supervisor.run()
  for (const each of forked) each.reports({ kind: 'ready', instance: 1 })
  const scraped = supervisor.scrape('')
  const collects = forked.map(({ messages }) => messages.find((message) => message.kind === 'collect')!)
  expect(collects.map(({ withDatabase }) => withDatabase)).toEqual([true, false, false])
  const family = (name: string) => ({
    name,
    help: name,
    type: 'counter',
    aggregator: 'sum',
    values: [{ labels: {}, value: 3 }],
  })
  for (const [index, each] of forked.entries()) {
    const databaseFamilies = index === 0 ? [family('rows')] : []
    each.reports({
      kind: 'collected',
      id: collects[index]!.id,
      families: [family('done_total')],
      databaseFamilies,
      problems: [],
    })
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

test('a process that does not report counts as down; a problem of several processes is listed once', async () => {
  const { forked, supervisor } = givenSupervisor()
  const running = supervisor.run()
  for (const each of forked) each.reports({ kind: 'ready', instance: 1 })
  const collected = supervisor.collect()
  for (const each of forked.slice(0, 2)) {
    const { id } = each.messages.find((message) => message.kind === 'collect')!
    each.reports({
      kind: 'collected',
      id,
      families: [],
      databaseFamilies: [],
      problems: ['the database does not answer'],
    })
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

/** Records the messages it receives. It ends when it receives `stop`, unless it hangs. */
function newFake() {
  let [isRunning, isHanging] = [true, false]
  let killedBy: string | undefined
  const messages: SupervisorMessage[] = []
  const ends = (how: number | NodeJS.Signals) => {
    isRunning = false
    emitter.connected = false
    emitter.emit('exit', typeof how === 'number' ? how : null, typeof how === 'number' ? null : how)
  }
  const emitter = Object.assign(new EventEmitter(), {
    pid: 1,
    connected: true,
    send(message: SupervisorMessage) {
      messages.push(message)
      if (message.kind === 'stop' && !isHanging) queueMicrotask(() => ends(0))
    },
    kill(signal: NodeJS.Signals) {
      killedBy = signal
      ends(signal)
    },
  })
  return {
    process: emitter as unknown as ChildProcess,
    messages,
    ends,
    hangs: () => {
      isHanging = true
    },
    reports: (report: ProcessMessage) => emitter.emit('message', report),
    isRunning: () => isRunning,
    killedBy: () => killedBy,
  }
}

/** One API process and two workers. No time passes on its clock; `sleep` only records the duration. */
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
