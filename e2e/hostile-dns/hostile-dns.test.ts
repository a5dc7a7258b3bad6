import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest'
import { Diagnosis } from '#contract/diagnosis.ts'
import { insertOrganization } from '#server/accounts/organizations.ts'
import type { Database } from '#server/database/database.ts'
import type { Engine } from '#server/database/engine.ts'
import { openDatabase } from '#server/database/open.ts'
import { migratedDatabaseUrl } from '#server/testing/database.ts'
import { DELEGATION_SCENARIOS } from './delegation-scenarios.ts'
import { DNSSEC_SCENARIOS } from './dnssec-scenarios.ts'
import { CHANGES_WITH_FAULT, SINGLE_FAULTS } from './fault-scenarios.ts'
import { NETWORK_SCENARIOS } from './network-scenarios.ts'
import { RECORD_SCENARIOS } from './record-scenarios.ts'
import { RESOLVER_SCENARIOS } from './resolver-scenarios.ts'
import { ROTATION_SCENARIOS } from './rotation-scenarios.ts'
import { runScenario, type ScenarioResult } from './run-scenario.ts'
import type { Scenario } from './scenario.ts'
import { SOURCE_SCENARIOS } from './source-scenarios.ts'

const SCENARIOS = [
  ...SINGLE_FAULTS,
  ...CHANGES_WITH_FAULT,
  ...RECORD_SCENARIOS,
  ...DELEGATION_SCENARIOS,
  ...NETWORK_SCENARIOS,
  ...DNSSEC_SCENARIOS,
  ...RESOLVER_SCENARIOS,
  ...ROTATION_SCENARIOS,
  ...SOURCE_SCENARIOS,
]
/** Seeds of the random answers that once led to a wrong verdict. Each run repeats them. */
const SEEDS_OF_PAST_FAILURES: Record<string, number> = {
  'a pool of 2, 1 at a time: nothing happens': 4_292_491_256,
  'without roots, one machine of several behind the one recursive server denies the name': 4_262_851_746,
}
const PAST_FAILURES = SCENARIOS.filter(({ name }) => name in SEEDS_OF_PAST_FAILURES).map(
  (scenario): Scenario & { seed: number } => {
    const seed = SEEDS_OF_PAST_FAILURES[scenario.name]! + SCENARIOS.indexOf(scenario)
    return { ...scenario, name: `${scenario.name} (past failure)`, seed }
  },
)
const ALL_SCENARIOS: (Scenario & { seed?: number })[] = [...SCENARIOS, ...PAST_FAILURES]
/** PostgreSQL differs in recording, not in querying, so a sample of each kind is enough. */
const SAMPLE = ALL_SCENARIOS.filter((_, index) => index % 8 === 0)
const MAX_PARALLEL = 20
const MAX_DIAGNOSIS_CHARACTERS = 16_384
/** The seed of the random answers. Set it to a printed seed to repeat that run. */
const SEED = Number(process.env.HOSTILE_DNS_SEED ?? Math.floor(Math.random() * 2 ** 32))

const ajv = new Ajv2020({ strict: false })
addFormats.default(ajv)
const isDiagnosis = ajv.compile(Diagnosis)

test('there are many scenarios, each with a unique name', () => {
  expect(ALL_SCENARIOS.length).toBeGreaterThanOrEqual(150)
  expect(new Set(ALL_SCENARIOS.map(({ name }) => name)).size).toBe(ALL_SCENARIOS.length)
  expect(PAST_FAILURES).toHaveLength(Object.keys(SEEDS_OF_PAST_FAILURES).length)
})

describe.each<[Engine, typeof ALL_SCENARIOS]>([
  ['sqlite', ALL_SCENARIOS],
  ['postgres', SAMPLE],
])('on %s', (engine, scenarios) => {
  const results = new Map<string, ScenarioResult | Error>()
  let closeDatabase: (() => Promise<void>) | undefined

  beforeAll(async () => {
    const { db, close } = await newDatabase(engine)
    closeDatabase = close
    const { id } = await insertOrganization(db, { name: 'Lab', email: 'lab@example.com', passwordHash: '' }, 0)
    const waiting = [...scenarios]
    const runNext = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        results.set(
          next.name,
          await runScenario(db, id, next, next.seed ?? SEED + ALL_SCENARIOS.indexOf(next)).catch(
            (error: Error) => error,
          ),
        )
      }
    }
    await Promise.all(Array.from({ length: MAX_PARALLEL }, runNext))
  }, 900_000)

  afterAll(() => closeDatabase?.())

  test.each(scenarios.map((scenario) => [scenario.name, scenario] as const))('%s', (_, scenario) => {
    onTestFailed(() => console.log(`HOSTILE_DNS_SEED=${SEED}`))
    const result = results.get(scenario.name)
    if (result === undefined || result instanceof Error) throw result ?? new Error('The scenario did not run.')
    const { becomes, events = becomes === 'VALID' ? 0 : 1 } = scenario
    expect(result.before.at(-1)).toBe('VALID')
    expect(result.during).toEqual(Array(events).fill(becomes))
    expect(result.after).toEqual(Array(events).fill('VALID'))
    if (scenario.values) expect(result.values).toEqual(scenario.values)
    if (scenario.diagnosisContains)
      expect(`${result.lastDiagnosis?.reason} ${result.lastDiagnosis?.decided}`).toContain(scenario.diagnosisContains)
    const codes = result.lastDiagnosis?.warnings.map(({ code }) => code)
    if (scenario.warns) expect(codes).toEqual(expect.arrayContaining(scenario.warns))
    expect([isDiagnosis(result.lastDiagnosis), isDiagnosis.errors]).toEqual([true, null])
    expect(result.longestDiagnosis).toBeLessThanOrEqual(MAX_DIAGNOSIS_CHARACTERS)
  })
})

async function newDatabase(engine: Engine): Promise<{ db: Database; close(): Promise<void> }> {
  const { url, drop } = await migratedDatabaseUrl(engine)
  const db = openDatabase(url, { connections: 8 })
  const close = async () => {
    await db.destroy()
    await drop()
  }
  return { db, close }
}
