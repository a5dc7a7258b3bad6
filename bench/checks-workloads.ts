import { monitorEventLoopDelay } from 'node:perf_hooks'
import { systemClock } from '../server/clock.ts'
import type { Database } from '../server/database/database.ts'
import type { DnsClient } from '../server/dns/client.ts'
import type { Reply } from '../server/dns/outcome.ts'
import { nextDueAt } from '../server/monitors/slots.ts'
import { planRounds, stopRounds } from './check-rounds.ts'
import type { Setup } from './checks-setup.ts'
import { databaseCpu } from './cpu.ts'

const FREQUENCY = 5

/** Runs rounds in which all checks are overdue. Only the time from the first to the last answer of a round counts. */
export async function measureThroughput({ deps: { db }, order }: Setup, watched: Watched, seconds: number) {
  let [checks, busyMs, cpuUs, dnsS, dbS] = [0, 0, 0, 0, 0]
  while (busyMs < seconds * 1_000) {
    watched.restart()
    const target = await retryDeadlocks(() => planRounds(db, 'last'))
    const [cpu, dns, database] = [process.cpuUsage(), await order({ kind: 'cpu' }), await databaseCpu(db)]
    const until = systemClock.elapsed() + seconds * 1_000
    while (watched.answerCount() < target && systemClock.elapsed() < until) await systemClock.sleep(5)
    const { user, system } = process.cpuUsage(cpu)
    checks += watched.answerCount()
    busyMs += watched.busyMs()
    cpuUs += user + system
    dnsS += (await order({ kind: 'cpu' })).cpu - dns.cpu
    dbS += ((await databaseCpu(db)) ?? 0) - (database ?? 0)
    await retryDeadlocks(() => stopRounds(db))
  }
  const perThousand = (cpuS: number) => round((cpuS * 1_000) / checks, 4)
  return {
    checks_per_second: Math.round(checks / (busyMs / 1_000)),
    cpu_s_per_1000: perThousand(cpuUs / 1e6),
    dns_cpu_s_per_1000: perThousand(dnsS),
    db_cpu_s_per_1000: (await databaseCpu(db)) === null ? null : perThousand(dbS),
  }
}

/** Schedules each monitor at its own time, with nothing overdue. */
export async function scheduleAll(db: Database): Promise<void> {
  await retryDeadlocks(() => planRounds(db, 'next'))
}

/** Measures the lateness of checks and the event loop delay. `isCounted` selects monitors. */
export async function measureLateness(watched: Watched, seconds: number, isCounted = (_: number) => true) {
  watched.restart()
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  await systemClock.sleep(seconds * 1_000)
  delay.disable()
  const late = watched.late(isCounted).sort((a, b) => a - b)
  const percentile = (share: number) => Math.round(late[Math.floor(late.length * share)] ?? 0)
  return {
    late_p50_ms: percentile(0.5),
    late_p99_ms: percentile(0.99),
    late_max_ms: Math.round(late.at(-1) ?? 0),
    rss_mb: Math.round(process.memoryUsage.rss() / 1024 / 1024),
    loop_delay_p99_ms: round(delay.percentile(99) / 1e6 - 5, 1),
  }
}

export type Watched = ReturnType<typeof watch>

/** Wraps the DNS client to count answers and to measure how late the first query of each monitor is. */
export function watch(dns: DnsClient, slots: number[]) {
  let [answerCount, first, last] = [0, 0, 0]
  let late = new Map<number, number>()
  const watched: DnsClient = {
    ...dns,
    query(question, options) {
      if (answerCount === 0) first = systemClock.elapsed()
      const now = systemClock.now()
      const number = Number.parseInt(question.name.slice(1), 10)
      const schedule = { slot: slots[number]!, frequency: FREQUENCY }
      if (!late.has(number)) late.set(number, now - (nextDueAt(now, schedule) - FREQUENCY * 60_000))
      return dns.query(question, options).then(countAnswer)
    },
  }
  const countAnswer = (reply: Reply) => {
    answerCount++
    last = systemClock.elapsed()
    return reply
  }
  return {
    dns: watched,
    count: slots.length,
    answerCount: () => answerCount,
    busyMs: () => last - first,
    late: (isCounted: (number: number) => boolean) =>
      [...late].filter(([number]) => isCounted(number)).map(([, ms]) => ms),
    restart: () => {
      answerCount = 0
      late = new Map()
    },
  }
}

/** Checks run at the same time, so PostgreSQL can abort a statement because of a deadlock. */
async function retryDeadlocks<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if ((error as { code?: string }).code !== '40P01') throw error
    }
  }
}

const round = (value: number, digits: number) => Number(value.toFixed(digits))
