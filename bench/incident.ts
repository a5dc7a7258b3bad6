import { performance } from 'node:perf_hooks'
import { sql } from 'kysely'
import { runAlertWorker } from '../server/alerts/worker.ts'
import { systemClock } from '../server/clock.ts'
import { type Database, inTransaction } from '../server/database/database.ts'
import type { Engine } from '../server/database/engine.ts'
import { insertEvents, newEventIds } from '../server/events/store.ts'
import { evaluateSoon } from '../server/incidents/evaluate-soon.ts'
import { runEvaluation } from '../server/incidents/worker.ts'
import { startReceiver } from '../server/testing/receiver.ts'
import { type Setup, withSetup } from './checks-setup.ts'
import { readOptions } from './options.ts'

/**
 * All monitors of a zone fail and recover at once: the number of incidents and messages, their delay, and the time of checks
 * and pages meanwhile. One process does everything: it records results of checks, creates incidents, sends and serves the API.
 */
const { values: options } = readOptions({
  options: {
    monitors: { type: 'string', default: '100000' },
    engine: { type: 'string', default: 'sqlite,postgres' },
    json: { type: 'boolean', default: false },
  },
})

const COUNT = Number(options.monitors)
/** Checks that are recorded in one transaction. */
const BATCH_SIZE = 64
/** Checks that are recorded before the incident, as the baseline. */
const BASELINE_COUNT = 10_000
const PAGE_INTERVAL_MS = 250
const ZONE = 'example.com'
const TIMEOUT_MS = 120_000
const NEVER = new AbortController().signal

for (const engine of options.engine.split(',') as Engine[]) {
  const measured = await withSetup(engine, COUNT, measure)
  if (options.json) console.log(JSON.stringify({ bench: 'incident', engine, ...measured }))
  else console.table({ engine, ...measured })
}

async function measure({ deps, url, key }: Setup) {
  const { db } = deps
  const receiver = await startReceiver()
  const call = async (path: string, body?: object) => {
    const headers = { 'x-api-key': key, ...(body ? { 'content-type': 'application/json' } : {}) }
    const sent = body ? { method: 'POST', body: JSON.stringify(body) } : {}
    const response = await fetch(url + path, { headers, ...sent })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    // biome-ignore lint/suspicious/noExplicitAny: the response of the API
    return (await response.json()) as any
  }
  const { id: organizationId } = await db.selectFrom('organizations').select('id').executeTakeFirstOrThrow()
  const settings = { endpoint: `${receiver.url}/alerts` }
  const channel = await call('/channels', { name: 'Receiver', type: 'http', settings })
  await call('/alert-rules', { name: 'Receiver', channels: [channel.id], delay: 0 })

  await sql`update monitors set domain = ${ZONE}, subdomain = substr(owner, 1, length(owner) - ${ZONE.length + 1})`.execute(
    db,
  )
  const baseline = await record(db, organizationId, 'VALID', BASELINE_COUNT)
  const stop = new AbortController()
  const signals = { stop: stop.signal, abandon: NEVER }
  const loops = [runEvaluation({ ...deps, process: 1 }, signals), runAlertWorker({ ...deps, process: 1 }, signals)]
  const pages = measurePages(call, stop.signal)

  const failedAt = Date.now()
  const failing = await record(db, organizationId, 'NOT_FOUND', COUNT)
  const inIncident = await until(async () => (await first(db)).failing === COUNT)
  const message = (await receiver.waitFor(1, TIMEOUT_MS))[0]!
  const { zone, monitors } = await first(db)
  const recovering = await record(db, organizationId, 'VALID', COUNT)
  const resolved = await until(async () => (await first(db)).resolved_at !== null)
  const recovery = (await receiver.waitFor(2, TIMEOUT_MS))[1]!
  stop.abort()
  await Promise.all([...loops, pages])
  const incidents = await db.selectFrom('incidents').select('id').execute()
  const { received } = receiver
  await receiver.close()
  return {
    'incidents, monitors in it': `${incidents.length}, ${monitors} of ${zone}`,
    'messages of the rule': received.length,
    'first message': `${titleOf(message.body)}, after ${seconds(message.at - failedAt)} s`,
    'last message': titleOf(recovery.body),
    's to record failures, recoveries': `${seconds(failing.ms)}, ${seconds(recovering.ms)}`,
    's later the last one is in the incident, and it is resolved': `${seconds(inIncident)}, ${seconds(resolved)}`,
    'ms of a transaction of checks without incidents: half, 99 %, most': spread(baseline.transactions),
    'with incidents': spread(failing.transactions),
    'while they recover': spread(recovering.transactions),
    ...Object.fromEntries(Object.entries(await pages).map(([name, times]) => [`ms of ${name}`, spread(times)])),
  }
}

function first(db: Database) {
  return db.selectFrom('incidents').selectAll().executeTakeFirstOrThrow()
}

function titleOf(body: Buffer): string {
  return JSON.parse(body.toString()).title
}

function seconds(ms: number): number {
  return Math.round(ms / 100) / 10
}

/** Milliseconds until the condition is true. */
async function until(condition: () => Promise<boolean>): Promise<number> {
  const from = performance.now()
  while (!(await condition())) {
    if (performance.now() - from > TIMEOUT_MS) throw new Error('It did not happen within two minutes.')
    await systemClock.sleep(20)
  }
  return performance.now() - from
}

function spread(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b)
  const part = (share: number) => Math.round(10 * (sorted[Math.floor((sorted.length - 1) * share)] ?? 0)) / 10
  return `${part(0.5)}, ${part(0.99)}, ${part(1)}`
}

/** Writes what checks write when the zone disappears or returns. */
async function record(db: Database, organizationId: string, state: 'NOT_FOUND' | 'VALID', count: number) {
  const from = performance.now()
  const transactions: number[] = []
  for (let after = '', done = 0; done < count; done += BATCH_SIZE) {
    const monitors = await someMonitors(db, organizationId, after)
    if (monitors.length === 0) break
    after = monitors.at(-1)!.id
    const startedAt = performance.now()
    await recordChanges(db, organizationId, state, monitors)
    transactions.push(performance.now() - startedAt)
  }
  return { ms: performance.now() - from, transactions }
}

function someMonitors(db: Database, organizationId: string, after: string) {
  return db
    .selectFrom('monitors')
    .select(['id', 'group_id', 'owner', 'state', 'expected_values'])
    .where('organization_id', '=', organizationId)
    .where('id', '>', after)
    .orderBy('id')
    .limit(BATCH_SIZE)
    .execute()
}

async function recordChanges(
  db: Database,
  organizationId: string,
  state: 'NOT_FOUND' | 'VALID',
  monitors: Awaited<ReturnType<typeof someMonitors>>,
): Promise<void> {
  const now = systemClock.now()
  const code = state === 'VALID' ? 'as_expected' : 'no_such_name'
  const verdict = { code, params: { name: ZONE, record_type: 'A', missing: [] } }
  const diagnosis = JSON.stringify({ verdict, confirmation: [], paths: [] })
  await inTransaction(db, async (transaction) => {
    const ids = monitors.map(({ id }) => id)
    await transaction
      .updateTable('monitors')
      .set({ state })
      .where('organization_id', '=', organizationId)
      .where('id', 'in', ids)
      .execute()
    const organizations = ids.map(() => organizationId)
    const eventIds = await newEventIds(transaction, organizations, now)
    const rows = monitors.map(({ id, owner, state: old_state, ...monitor }, index) => ({
      ...{ id: eventIds[index]!, organization_id: organizationId, monitor_id: id, ...monitor },
      ...{ domain: ZONE, subdomain: owner.slice(0, -ZONE.length - 1) },
      ...{ occurred_at: now, old_state, new_state: state, previous_values: null, current_values: null },
      ...{ incidence_count: 1, record_type: 'A', is_exact_match: 1 as const, diagnosis },
    }))
    await insertEvents(transaction, rows)
    await evaluateSoon(transaction, [organizationId], now)
  })
}

// biome-ignore lint/suspicious/noExplicitAny: the response of the API
async function measurePages(call: (path: string) => Promise<any>, stop: AbortSignal) {
  const times: Record<string, number[]> = {}
  const timed = async (name: string, path: string) => {
    const from = performance.now()
    const response = await call(path)
    times[name] = [...(times[name] ?? []), performance.now() - from]
    return response
  }
  const { data } = await call('/monitors?limit=1')
  while (!stop.aborted) {
    const incident = (await timed('GET /incidents', '/incidents?limit=25')).data[0]?.id
    if (incident !== undefined) {
      await timed('GET /incidents/{incident}', `/incidents/${incident}`)
      await timed('GET /incidents/{incident}/timeline', `/incidents/${incident}/timeline`)
    }
    await timed('GET /alerts', '/alerts?limit=25')
    await timed('GET /monitors/{monitor}/alert-rules', `/monitors/${data[0].id}/alert-rules`)
    await timed('GET /monitors', '/monitors?limit=25')
    await timed('GET /events', '/events?limit=25')
    await timed('GET /monitors/counts', '/monitors/counts')
    await timed('the overview', '/dashboard/api/overview')
    await systemClock.sleep(PAGE_INTERVAL_MS)
  }
  return times
}
