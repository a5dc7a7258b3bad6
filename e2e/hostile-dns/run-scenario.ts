import type { Diagnosis } from '#contract/diagnosis.ts'
import { monitorLoader } from '#server/checks/load-monitor.ts'
import { recordChecks } from '#server/checks/record-checks.ts'
import { runCheck } from '#server/checks/run-check.ts'
import { systemContext } from '#server/context.ts'
import type { Database } from '#server/database/database.ts'
import { toDiagnosis } from '#server/monitors/diagnosis.ts'
import { insertMonitors } from '#server/monitors/insert.ts'
import { parseMonitor } from '#server/monitors/parse-monitor.ts'
import { type Claim, LEASE_MS } from '#server/queue/lease-queue.ts'
import { ADDRESS, type Lab, NAME, startLab } from './lab.ts'
import type { Scenario } from './scenario.ts'

/** The states of the events before, during and after the fault, and the values and diagnosis recorded during it. */
export type ScenarioResult = {
  before: string[]
  during: string[]
  after: string[]
  values: string[] | null
  lastDiagnosis: Diagnosis | null
  longestDiagnosis: number
  notices: string[]
}

const CHECKS = 6
const CHECK_INTERVAL_MS = 6 * 60_000

export async function runScenario(
  db: Database,
  organizationId: string,
  scenario: Scenario,
  seed: number,
): Promise<ScenarioResult> {
  const lab = await startLab(scenario.lab ?? {}, seed)
  try {
    scenario.before?.(lab)
    const monitor = await newMonitor(db, organizationId, lab, scenario)
    const runChecks = async (count: number) => {
      for (let round = 0; round < count; round++) await checkOnce(db, lab, monitor)
    }
    const count = scenario.checks ?? CHECKS
    await runChecks(scenario.warmUp ?? 2)
    const before = await eventsOf(db, monitor)
    await scenario.fault(lab)
    if (scenario.secondFault) {
      await runChecks(2)
      scenario.secondFault(lab)
    }
    await runChecks(count)
    const during = (await eventsOf(db, monitor)).slice(before.length)
    const { current_values: values, diagnosis } = await rowOf(db, monitor)
    if (scenario.recover) scenario.recover(lab)
    else {
      lab.restore()
      scenario.before?.(lab)
    }
    await runChecks(count)
    const all = await eventsOf(db, monitor)
    return {
      before: before.map(({ new_state }) => new_state),
      during: during.map(({ new_state }) => new_state),
      after: all.slice(before.length + during.length).map(({ new_state }) => new_state),
      values: values === null ? null : JSON.parse(values),
      lastDiagnosis: diagnosis === null ? null : toDiagnosis(diagnosis),
      longestDiagnosis: Math.max(...all.map((event) => event.diagnosis?.length ?? 0)),
      notices: lab.notices,
    }
  } finally {
    await lab.close()
  }
}

async function newMonitor(db: Database, id: string, { clock }: Lab, { monitor = {} }: Scenario): Promise<string> {
  const parsed = parseMonitor({ full_domain: NAME, record_type: 'A', expected_value: [ADDRESS], ...monitor })
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors))
  const [inserted] = await insertMonitors(db, systemContext(id, clock.now()), [parsed.draft])
  return inserted!.id
}

/** Claims only this monitor, even if it is not due: many scenarios with different clocks share a database. */
async function checkOnce(db: Database, lab: Lab, monitor: string): Promise<void> {
  lab.clock.advance(CHECK_INTERVAL_MS)
  const claim = await db
    .updateTable('due_checks')
    .set({ due_at: lab.clock.now() + LEASE_MS, claimed_by: 1 })
    .where('monitor_id', '=', monitor)
    .returningAll()
    .executeTakeFirstOrThrow()
  const result = await runCheck(
    claim as Claim<'due_checks'>,
    lab.deps,
    monitorLoader(db, lab.clock),
    new AbortController().signal,
  )
  await recordChecks(db, [result], lab.clock.now())
}

const rowOf = (db: Database, monitor: string) =>
  db.selectFrom('monitors').selectAll().where('id', '=', monitor).executeTakeFirstOrThrow()

const eventsOf = (db: Database, monitor: string) =>
  db
    .selectFrom('events')
    .select(['new_state', 'diagnosis'])
    .where('monitor_id', '=', monitor)
    .orderBy('occurred_at')
    .orderBy('id')
    .execute()
