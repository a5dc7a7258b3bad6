import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { sql } from 'kysely'
import { pino } from 'pino'
import { Bell } from '../server/bell.ts'
import { fingerprint } from '../server/checks/judge.ts'
import { runScheduler } from '../server/checks/scheduler.ts'
import { systemClock } from '../server/clock.ts'
import { type Database, type Engine, openDatabase } from '../server/database/database.ts'
import { migrate } from '../server/database/migrate.ts'
import { createDnsClient, type DnsClient } from '../server/dns/client.ts'
import type { Outcome } from '../server/dns/outcome.ts'
import { Heart } from '../server/heart.ts'
import { insertMonitors } from '../server/monitors/insert.ts'
import { parseMonitor } from '../server/monitors/monitor.ts'
import { nextDueAt } from '../server/monitors/schedule.ts'
import { insertOrganization } from '../server/organization/store.ts'
import { startPostgres } from '../server/testing/postgres.ts'

const { values: options } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    engine: { type: 'string', default: 'sqlite' },
    monitors: { type: 'string', default: '1000,100000,1000000' },
    seconds: { type: 'string', default: '15' },
  },
})

type Row = {
  bench: 'checks'
  engine: Engine
  monitors: number
  checks_per_second: number
  cpu_s_per_1000: number
  dns_cpu_s_per_1000: number
  late_p50_ms: number
  late_p99_ms: number
  late_max_ms: number
  rss_mb: number
  loop_delay_p99_ms: number
}

const ANSWER: Outcome = {
  kind: 'answer',
  rrset: { name: '', type: 'A', ttl: 300, values: ['192.0.2.1'] },
  chain: [],
}

async function main() {
  const rows: Row[] = []
  for (const count of options.monitors.split(',').map(Number)) {
    rows.push(await measure(options.engine as Engine, count))
    if (options.json) console.log(JSON.stringify(rows.at(-1)))
  }
  if (!options.json) console.table(rows)
}

async function measure(engine: Engine, count: number): Promise<Row> {
  const folder = await mkdtemp(join(tmpdir(), 'zonewatch-bench-'))
  const postgres = engine === 'postgres' ? await startPostgres() : undefined
  const url = postgres ? `${postgres.url}/postgres` : `sqlite:${join(folder, 'bench.db')}`
  const db = openDatabase(url, { inThread: true })
  const responder = fork(new URL('./dns-responder.ts', import.meta.url), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  try {
    const [{ port }] = (await once(responder, 'message')) as [{ port: number }]
    await migrate(db, systemClock.now())
    const slots = await fill(db, count)
    const dns = createDnsClient({ servers: [{ ip: '127.0.0.1', port }], clock: systemClock })
    const result = await run(db, watch(dns, slots), responder, Number(options.seconds))
    await dns.close()
    return { bench: 'checks', engine, monitors: count, ...result }
  } finally {
    responder.disconnect()
    await db.destroy()
    await postgres?.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Monitors of which each was checked before and found as expected: the common case, again and again. */
async function fill(db: Database, count: number): Promise<number[]> {
  const slots: number[] = []
  const now = systemClock.now()
  const { id } = await insertOrganization(db, { name: 'Bench', email: 'bench@example.com', passwordHash: '' }, now)
  const batch = 5_000
  for (let from = 0; from < count; from += batch) {
    const drafts = Array.from({ length: Math.min(batch, count - from) }, (_, index) => {
      const parsed = parseMonitor({
        domain: `m${from + index}.example.com`,
        record_type: 'A',
        expected_value: '192.0.2.1',
      })
      if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors))
      return parsed.draft
    })
    slots.push(...(await insertMonitors(db, id, drafts, now)).map((made) => made.slot))
  }
  await sql`update monitors set state = 'VALID', current_values = '["192.0.2.1"]'`.execute(db)
  await sql`update due_checks set fingerprint = ${fingerprint(ANSWER)}, streak = 1, due_at = null`.execute(db)
  return slots
}

type Figures = Omit<Row, 'bench' | 'engine' | 'monitors'>

async function run(db: Database, watched: Watched, responder: ChildProcess, seconds: number): Promise<Figures> {
  const stop = new AbortController()
  const heart = new Heart()
  const scheduler = runScheduler(
    {
      db,
      clock: systemClock,
      dns: watched.dns,
      log: pino({ level: 'warn' }),
      heart,
      bell: new Bell(),
      process: 1,
    },
    { stop: stop.signal, abandon: new AbortController().signal },
  )
  const busy = await flatOut(db, watched, responder, seconds)
  const steady = await onSchedule(db, watched, seconds)
  stop.abort()
  await scheduler
  return { ...busy, ...steady }
}

/** Everything is overdue, over and over: how much can be done. Only the time from a round's first to its last answer counts. */
async function flatOut(db: Database, watched: Watched, responder: ChildProcess, seconds: number) {
  let [checks, busyMs, cpuUs, dnsUs] = [0, 0, 0, 0]
  while (busyMs < seconds * 1_000) {
    await makeOverdue(db)
    const [cpu, dns] = [process.cpuUsage(), await cpuOf(responder)]
    watched.restart()
    const target = watched.count
    const until = systemClock.elapsed() + seconds * 1_000
    while (watched.asked() < target && systemClock.elapsed() < until) await systemClock.sleep(5)
    const { user, system } = process.cpuUsage(cpu)
    checks += watched.asked()
    busyMs += watched.busyMs()
    cpuUs += user + system
    dnsUs += (await cpuOf(responder)) - dns
    await sql`update due_checks set due_at = null, claimed_by = null`.execute(db)
  }
  return {
    checks_per_second: Math.round(checks / (busyMs / 1_000)),
    cpu_s_per_1000: round(cpuUs / 1_000 / checks, 4),
    dns_cpu_s_per_1000: round(dnsUs / 1_000 / checks, 4),
  }
}

/** Each monitor at its own time: how late, and how smooth. */
async function onSchedule(db: Database, watched: Watched, seconds: number) {
  const now = systemClock.now()
  let last = ''
  for (;;) {
    const rows = await db
      .selectFrom('due_checks')
      .select(['slot', 'monitor_id'])
      .where('monitor_id', '>', last)
      .orderBy('monitor_id')
      .limit(5_000)
      .execute()
    if (rows.length === 0) break
    last = rows.at(-1)!.monitor_id
    const values = sql.join(
      rows.map(
        ({ slot, monitor_id }) =>
          sql`(cast(${slot} as bigint), ${monitor_id}, cast(${nextDueAt(now + 60_000, { slot, frequency: 5 })} as bigint))`,
      ),
    )
    await sql`with due (slot, id, at) as (values ${values}) update due_checks set due_at = due.at from due where due_checks.slot = due.slot and due_checks.monitor_id = due.id`.execute(
      db,
    )
  }
  // Begin where the schedule stands now, with nothing overdue.
  await sql`update due_checks set due_at = due_at - 300000 where due_at - 300000 > ${systemClock.now()}`.execute(db)
  watched.restart()
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  await systemClock.sleep(seconds * 1_000)
  delay.disable()
  const late = watched.late().sort((a, b) => a - b)
  const at = (share: number) => Math.round(late[Math.floor(late.length * share)] ?? 0)
  return {
    late_p50_ms: at(0.5),
    late_p99_ms: at(0.99),
    late_max_ms: Math.round(late.at(-1) ?? 0),
    rss_mb: Math.round(process.memoryUsage.rss() / 1024 / 1024),
    loop_delay_p99_ms: round(delay.percentile(99) / 1e6 - 5, 1),
  }
}

async function makeOverdue(db: Database): Promise<void> {
  // In the order of the schedule, as after a stop of one interval.
  await sql`update due_checks set due_at = ${systemClock.now() - 300_000} + slot / 7159, claimed_by = null`.execute(db)
}

type Watched = ReturnType<typeof watch>

/** The DNS client, with what it is asked counted, and how late after its due time. */
function watch(dns: DnsClient, slots: number[]) {
  let [asked, first, last] = [0, 0, 0]
  let late: number[] = []
  const watched: DnsClient = {
    ...dns,
    async ask(question, askOptions) {
      if (asked === 0) first = systemClock.elapsed()
      const now = systemClock.now()
      const slot = slots[Number.parseInt(question.name.slice(1), 10)]!
      late.push(now - (nextDueAt(now, { slot, frequency: 5 }) - 300_000))
      const reply = await dns.ask(question, askOptions)
      asked++
      last = systemClock.elapsed()
      return reply
    },
  }
  return {
    dns: watched,
    count: slots.length,
    asked: () => asked,
    busyMs: () => last - first,
    late: () => late,
    restart: () => {
      asked = 0
      late = []
    },
  }
}

async function cpuOf(responder: ChildProcess): Promise<number> {
  responder.send('cpu')
  const [{ cpu }] = (await once(responder, 'message')) as [{ cpu: NodeJS.CpuUsage }]
  return cpu.user + cpu.system
}

const round = (value: number, digits: number) => Number(value.toFixed(digits))

await main()
