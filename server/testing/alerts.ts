import { sendAlert } from '../alerts/worker.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { Engine } from '../database/engine.ts'
import { insertEvents, newEventIds } from '../events/store.ts'
import { evaluateSoon } from '../incidents/evaluate-soon.ts'
import { evaluateDue } from '../incidents/events-to-incidents.ts'
import { createMailSender } from '../mail/smtp.ts'
import { claimDue } from '../queue/lease-queue.ts'
import { startReceiver } from './receiver.ts'
import type { Settings } from './server-process.ts'
import { givenApp, type TestApp } from './test-app.ts'

/** `paths`, `verdict`, `confirmation` and `warnings` are those of the diagnosis. */
export type Change = {
  monitor: string
  from?: string
  to: string
  currentValues?: string[]
  paths?: object[]
  verdict?: { code: string; params?: object }
  confirmation?: { code: string; params: object }[]
  warnings?: { code: string; params: object }[]
}

type RecordingDeps = { deps: { db: Database; clock: Pick<Clock, 'now'> } }

/** Runs the alert loops one pass at a time, and records events as checks do. */
export function givenAlerting(world: TestApp) {
  const { deps } = world
  const { db, clock, config } = deps
  const mailSender = config.smtp ? createMailSender(config.smtp) : null
  const never = new AbortController().signal
  let processes = 1

  async function evaluate(): Promise<void> {
    while ((await evaluateDue(db, { now: clock.now(), process: 1, limit: 8 })).count > 0);
  }

  return {
    evaluate,
    async change(...changes: Change[]): Promise<void> {
      await recordChanges(world, changes)
      await evaluate()
    },
    /** Sends the due alerts, each batch as another process. Returns how many it claimed. */
    async send(): Promise<number> {
      let count = 0
      for (;;) {
        const claims = await claimDue(db, 'due_alerts', { now: clock.now(), process: ++processes, limit: 16 })
        if (claims.length === 0) return count
        count += claims.length
        for (const claim of claims) await sendAlert({ ...deps, process: processes }, mailSender, claim, never)
      }
    },
  }
}

/** Records events of the only organization as checks do, without checks. */
export async function recordChanges({ deps: { db, clock } }: RecordingDeps, changes: readonly Change[]): Promise<void> {
  const { id: organizationId } = await db
    .selectFrom('organizations')
    .select('id')
    .orderBy('created_at')
    .executeTakeFirstOrThrow()
  const now = clock.now()
  const monitors = await db.selectFrom('monitors').selectAll().where('organization_id', '=', organizationId).execute()
  await db.transaction().execute(async (transaction) => {
    const ids = await newEventIds(
      transaction,
      changes.map(() => organizationId),
      now,
    )
    const rows = changes.map((change, index) => {
      const { monitor, from = 'VALID', to, currentValues = [], paths = [], confirmation = [], warnings = [] } = change
      const row = monitors.find(({ id }) => id === monitor)!
      const { code = 'no_answer', params = {} } = change.verdict ?? {}
      const { owner: name, record_type } = row
      const record = { name, type: record_type }
      const missing = JSON.parse(row.expected_values)
      const verdict = { code, params: { name, record_type, record, missing, ...params } }
      return {
        id: ids[index]!,
        organization_id: organizationId,
        monitor_id: monitor,
        group_id: row.group_id,
        occurred_at: now,
        old_state: from,
        new_state: to,
        previous_values: null,
        current_values: JSON.stringify(currentValues),
        incidence_count: 1,
        domain: row.domain,
        subdomain: row.subdomain,
        record_type: row.record_type,
        expected_values: row.expected_values,
        is_exact_match: row.is_exact_match,
        diagnosis: JSON.stringify({ verdict, confirmation, paths, warnings }),
      }
    })
    await insertEvents(transaction, rows)
    for (const { monitor, to } of changes) {
      await transaction.updateTable('monitors').set({ state: to }).where('id', '=', monitor).execute()
    }
    await evaluateSoon(transaction, [organizationId], now)
  })
}

// biome-ignore lint/suspicious/noExplicitAny: the test compares the response of the API
export type Json = any

const MINUTE_MS = 60_000

export async function createMonitor(world: TestApp, full_domain: string, more: object = {}): Promise<string> {
  const body = { full_domain, record_type: 'A', expected_value: '192.0.2.1', ...more }
  return (await world.call('/monitors', { method: 'POST', body })).body.id
}

/** A channel without a rule, and the requests that it received. */
export async function createSecondChannel(world: TestApp) {
  const { url, received } = await startReceiver()
  const settings = { endpoint: `${url}/second` }
  const { body } = await world.call('/channels', { method: 'POST', body: { name: 'Chief', type: 'http', settings } })
  return { id: body.id as string, received }
}

/** A channel that sends JSON to a receiver, and a rule for it. The emails of the default rule go nowhere. */
export async function givenAlertReceiver(engine: Engine, filters: object, variables: Settings = {}) {
  const world = await givenApp(engine, variables)
  const receiver = await startReceiver()
  const { change, send, evaluate } = givenAlerting(world)
  const post = async (path: string, body: unknown) => (await world.call(path, { method: 'POST', body })).body
  const settings = { endpoint: `${receiver.url}/alerts` }
  const channel = await post('/channels', { name: 'Receiver', type: 'http', settings })
  const rule = await post('/alert-rules', { name: 'Receiver', channels: [channel.id], ...filters })
  const passing = async (ms: number) => {
    world.pass(ms)
    await send()
  }
  const bodies = (): Json[] => receiver.received.map(({ body }) => JSON.parse(body.toString()))
  const incidents = async (): Promise<Json[]> => (await world.call('/incidents')).body.data
  return {
    ...{ world, change, send, evaluate, passing, incidents, channel: channel.id as string, rule: rule.id as string },
    receiver: Object.assign(receiver, {
      last: () => bodies().at(-1),
      titles: () => bodies().map(({ title }) => title),
    }),
    incidentOf: async () => (await incidents())[0],
    /** Creates a monitor that fails, and sends the alerts that are due within a minute. */
    async fail(name: string, from = 'VALID'): Promise<string> {
      const monitor = await createMonitor(world, name)
      await change({ monitor, from, to: 'MISMATCH' })
      await passing(MINUTE_MS)
      return monitor
    },
  }
}
