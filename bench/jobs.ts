import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { NewJob } from '#contract/jobs.ts'
import { systemClock } from '../server/clock.ts'
import { systemContext } from '../server/context.ts'
import type { Database } from '../server/database/database.ts'
import { migrate } from '../server/database/migrate.ts'
import { openDatabase } from '../server/database/open.ts'
import { runStep } from '../server/jobs/run.ts'
import { getJob, insertJob, undoJob } from '../server/jobs/store.ts'
import { GAP_MS } from '../server/jobs/worker.ts'
import { createKeyring } from '../server/keyring.ts'
import { claimDue } from '../server/queue/lease-queue.ts'
import { startPostgres } from '../server/testing/postgres.ts'
import { fill } from './api-data.ts'
import { readOptions } from './options.ts'

/** Jobs over all monitors, and their undo: monitors per second including pauses, and the duration of one batch. */
const { values: options } = readOptions({
  options: {
    monitors: { type: 'string', default: '100000' },
    engine: { type: 'string', default: 'sqlite' },
    /** Also measures how long another process needs for 64 checks, without a job and during each job. */
    checks: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})

const CASES: Record<string, NewJob> = {
  update: { action: 'update', all: true, change: { expected_value: ['192.0.2.200'], is_exact_match: false } },
  interval: { action: 'update', all: true, change: { frequency: 60 } },
  move: { action: 'move', all: true, group: 'moved' },
  check: { action: 'check', all: true },
  delete: { action: 'delete', all: true },
}
const deps = {
  clock: systemClock,
  sizes: new Map(),
  keyring: createKeyring('a secret of the benchmark, longer than 32 characters'),
}
const WITHOUT_JOB_MS = 5_000
const PLAN = { id: 'bench', name: 'Bench', prices: [], limits: { monitors: null, min_frequency: null } }

const folder = await mkdtemp(join(tmpdir(), 'zonewatch-bench-'))
const postgres = options.engine === 'postgres' ? await startPostgres() : undefined
try {
  const url = postgres ? `${postgres.url}/postgres` : `sqlite:${join(folder, 'bench.db')}`
  const db = openDatabase(url)
  await migrate(db, systemClock.now())
  await fill(db, Number(options.monitors), systemClock.now())
  const { id: organizationId } = await db.selectFrom('organizations').select('id').executeTakeFirstOrThrow()
  const checks = options.checks ? fork(new URL('./jobs-checks.ts', import.meta.url), [url]) : undefined
  const rows: Record<string, unknown>[] = []
  if (checks) {
    await once(checks, 'message')
    await systemClock.sleep(WITHOUT_JOB_MS)
    rows.push({ case: 'no job', ...(await checkDurations(checks)) })
  }
  for (const [name, body] of Object.entries(CASES)) {
    const job = await insertJob(db, systemContext(organizationId, systemClock.now()), body)
    rows.push({ case: name, ...(await run(db, organizationId, job)), ...(await checkDurations(checks)) })
    await checkpoint(db)
    if (body.action === 'check') continue
    const undo = await undoJob(db, systemContext(organizationId, systemClock.now()), job)
    rows.push({
      case: `undo of ${name}`,
      ...(await run(db, organizationId, undo)),
      ...(await checkDurations(checks)),
    })
    await checkpoint(db)
  }
  if (options.json) for (const row of rows) console.log(JSON.stringify(row))
  else console.table(rows)
  checks?.disconnect()
  if (checks) await once(checks, 'exit')
  await db.destroy()
} finally {
  await postgres?.stop()
  await rm(folder, { recursive: true, force: true })
}

/** The durations of the check batches since the last call. */
async function checkDurations(checks: ChildProcess | undefined): Promise<object> {
  if (!checks) return {}
  checks.send('report')
  const [{ took }] = (await once(checks, 'message')) as [{ took: number[] }]
  took.sort((one, other) => one - other)
  const percentile = (part: number) => round(took[Math.floor((took.length - 1) * part)] ?? 0)
  return { checks_ms: percentile(0.5), checks_p99_ms: percentile(0.99), checks_most_ms: percentile(1) }
}

async function run(db: Database, organizationId: string, id: string) {
  const from = performance.now()
  const cpu = process.cpuUsage()
  const steps: number[] = []
  for (;;) {
    const [claim] = await claimDue(db, 'due_jobs', { now: systemClock.now(), process: 1, limit: 1 })
    if (!claim) break
    const startedAt = performance.now()
    await runStep({ ...deps, db, config: { jobStoredBytes: Number.POSITIVE_INFINITY, plans: [PLAN] as never } }, claim)
    steps.push(performance.now() - startedAt)
    await systemClock.sleep(GAP_MS)
  }
  const { changed, failed } = await getJob(db, { organizationId }, id)
  const seconds = (performance.now() - from) / 1_000
  const { user, system } = process.cpuUsage(cpu)
  steps.sort((one, other) => one - other)
  return {
    ...{ changed, failed, per_second: Math.round(changed / seconds) },
    // CPU time, which other programs on the machine do not change.
    per_cpu_second: Math.round(changed / ((user + system) / 1_000_000)),
    batch_ms: round(steps[Math.floor(steps.length / 2)]!),
    batch_p99_ms: round(steps[Math.floor(steps.length * 0.99)]!),
  }
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10
}

/** As the supervisor does. */
async function checkpoint(db: Database): Promise<void> {
  if (!postgres) await sql`pragma wal_checkpoint(truncate)`.execute(db)
}
