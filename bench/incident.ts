import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { insertOrganization } from '../server/accounts/organizations.ts'
import { listAlerts } from '../server/alerts/alert-store.ts'
import { beginAttempt } from '../server/alerts/deliver.ts'
import { evaluateDue, evaluateSoon, GATHERING_MS } from '../server/alerts/evaluate.ts'
import { getIncident, listIncidents } from '../server/alerts/incident-store.ts'
import { rulesOfMonitor } from '../server/alerts/monitor-rules.ts'
import { listEntries } from '../server/alerts/timeline.ts'
import { systemClock } from '../server/clock.ts'
import { systemContext } from '../server/context.ts'
import { type Database, inTransaction, openDatabase } from '../server/database/database.ts'
import { claimDue } from '../server/database/lease-queue.ts'
import { migrate } from '../server/database/migrate.ts'
import { insertEvents, newEventIds } from '../server/events/store.ts'
import { insertMonitors } from '../server/monitors/insert.ts'
import { parseMonitor } from '../server/monitors/monitor.ts'
import { createSeal } from '../server/seal.ts'

/** All monitors of one zone fail at once: how long until they are one incident, and what pages and checks take meanwhile. */
const { values: options } = parseArgs({
  options: {
    monitors: { type: 'string', default: '100000' },
    /** Another database than a new one of SQLite. It must be empty. */
    database: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
})

/** Checks that are recorded in one transaction. */
const BATCH = 64
const CREATED_AT_ONCE = 5_000
const PAGES_EVERY_MS = 500
const seal = createSeal('a secret of the benchmark, longer than 32 characters')

const folder = await mkdtemp(join(tmpdir(), 'zonewatch-bench-'))
try {
  const db = openDatabase(options.database ?? `sqlite:${join(folder, 'bench.db')}`)
  await migrate(db, systemClock.now())
  const organization = { name: 'Bench', email: 'bench@example.com', passwordHash: '' }
  const { id } = await insertOrganization(db, organization, systemClock.now())
  await db.updateTable('alert_rules').set({ delay_ms: 0 }).where('organization_id', '=', id).execute()
  await createMonitors(db, id)
  const measured = await fail(db, id)
  if (options.json) console.log(JSON.stringify(measured))
  else console.table(measured)
  await db.destroy()
} finally {
  await rm(folder, { recursive: true, force: true })
}

async function createMonitors(db: Database, organizationId: string): Promise<void> {
  const count = Number(options.monitors)
  for (let from = 0; from < count; from += CREATED_AT_ONCE) {
    const drafts = Array.from({ length: Math.min(CREATED_AT_ONCE, count - from) }, (_, at) => {
      const full_domain = `n${from + at}.example.com`
      const parsed = parseMonitor({ full_domain, record_type: 'A', expected_value: ['192.0.2.1'] })
      if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors))
      return parsed.draft
    })
    await insertMonitors(db, systemContext(organizationId, systemClock.now()), drafts)
  }
}

async function fail(db: Database, organizationId: string) {
  const begunAt = performance.now()
  let isRecorded = false
  let recordedAt = 0
  let isEvaluated = false
  const transactions: number[] = []
  const pages: Record<string, number[]> = {}
  const record = async () => {
    for (let after = ''; ; ) {
      const monitors = await someMonitors(db, organizationId, after)
      if (monitors.length === 0) break
      after = monitors.at(-1)!.id
      const from = performance.now()
      await recordFailures(db, organizationId, monitors)
      transactions.push(performance.now() - from)
    }
    recordedAt = performance.now()
    isRecorded = true
  }
  const evaluate = async () => {
    for (;;) {
      const wasRecorded = isRecorded
      const count = await evaluateDue(db, { now: systemClock.now(), process: 1, limit: 8 })
      if (count === 0 && wasRecorded) break
      if (count === 0) await systemClock.sleep(10)
    }
    isEvaluated = true
  }
  const show = async () => {
    while (!isEvaluated) {
      for (const [name, page] of Object.entries(pagesOf(db, organizationId))) {
        const from = performance.now()
        await page()
        pages[name] = [...(pages[name] ?? []), performance.now() - from]
      }
      await systemClock.sleep(PAGES_EVERY_MS)
    }
  }
  await Promise.all([record(), evaluate(), show()])
  const late = (performance.now() - recordedAt) / 1_000
  const incidents = await db.selectFrom('incidents').select(['monitors', 'failing']).execute()
  const alerts = await db.selectFrom('alerts').select('id').execute()
  const [claim] = await claimDue(db, 'due_alerts', { now: systemClock.now() + GATHERING_MS, process: 1, limit: 1 })
  const from = performance.now()
  const beginning = {
    baseUrl: 'https://bench.example.com',
    alertsPerHour: 30,
    sendsMail: true,
    acknowledgeLink: () => '',
  }
  const sendable = await beginAttempt(db, claim!, { ...beginning, now: systemClock.now() + GATHERING_MS })
  return {
    'incidents, monitors in it': `${incidents.length}, ${incidents[0]!.monitors}`,
    'messages of the one rule': alerts.length,
    message: sendable?.notice.title,
    'seconds to record the failures': round((recordedAt - begunAt) / 1_000),
    'seconds until the last one is in it': round(late),
    'ms to decide about the message': round(performance.now() - from),
    'ms of a transaction of checks, half and most': halfAndMost(transactions),
    ...Object.fromEntries(
      Object.entries(pages).map(([name, times]) => [`ms of ${name}, half and most`, halfAndMost(times)]),
    ),
  }
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

function halfAndMost(times: readonly number[]): string {
  const sorted = times.toSorted((one, other) => one - other)
  return `${round(sorted[Math.floor(sorted.length / 2)] ?? 0)}, ${round(sorted.at(-1) ?? 0)}`
}

function someMonitors(db: Database, organizationId: string, after: string) {
  return db
    .selectFrom('monitors')
    .select(['id', 'group_id', 'subdomain', 'expected_values'])
    .where('organization_id', '=', organizationId)
    .where('id', '>', after)
    .orderBy('id')
    .limit(BATCH)
    .execute()
}

type Monitors = Awaited<ReturnType<typeof someMonitors>>

/** What checks write that find that the zone is gone. */
async function recordFailures(db: Database, organizationId: string, monitors: Monitors): Promise<void> {
  const now = systemClock.now()
  const verdict = { code: 'no_such_name', params: { name: 'example.com', record_type: 'A', missing: [] } }
  const diagnosis = JSON.stringify({ verdict, confirmation: [], paths: [] })
  await inTransaction(db, async (transaction) => {
    const ids = monitors.map(({ id }) => id)
    await transaction
      .updateTable('monitors')
      .set({ state: 'NOT_FOUND' })
      .where('organization_id', '=', organizationId)
      .where('id', 'in', ids)
      .execute()
    const eventIds = await newEventIds(
      transaction,
      ids.map(() => organizationId),
      now,
    )
    const rows = monitors.map((monitor, index) => ({
      ...{ id: eventIds[index]!, organization_id: organizationId, monitor_id: monitor.id, group_id: monitor.group_id },
      ...{ occurred_at: now, old_state: 'VALID', new_state: 'NOT_FOUND', previous_values: null, current_values: null },
      ...{ incidence_count: 1, domain: 'example.com', subdomain: monitor.subdomain, record_type: 'A' },
      ...{ expected_values: monitor.expected_values, is_exact_match: 1 as const, diagnosis },
    }))
    await insertEvents(transaction, rows)
    await evaluateSoon(transaction, [organizationId], now)
  })
}

function pagesOf(db: Database, organizationId: string): Record<string, () => Promise<unknown>> {
  const tenant = { organizationId }
  const query = { limit: 25, order_way: 'desc' } as const
  const first = async () => (await listIncidents(db, seal, tenant, query)).data[0]?.id
  const ofFirst = (read: (id: string) => Promise<unknown>) => async () => {
    const id = await first()
    if (id !== undefined) await read(id)
  }
  return {
    'GET /incidents': () => listIncidents(db, seal, tenant, query),
    'GET /incidents/{incident} and its timeline': ofFirst(async (id) => {
      await getIncident(db, tenant, id)
      await listEntries(db, seal, tenant, id, query)
    }),
    'GET /alerts': () => listAlerts(db, seal, tenant, query),
    'GET /monitors/{monitor}/alert-rules': async () => {
      const { id } = await db.selectFrom('monitors').select('id').limit(1).executeTakeFirstOrThrow()
      await rulesOfMonitor(db, tenant, id)
    },
  }
}
