import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest'
import { Diagnosis } from '#contract/diagnosis.ts'
import { insertOrganization } from '#server/accounts/organizations.ts'
import type { Database, Engine } from '#server/database/database.ts'
import { openDatabase } from '#server/database/open.ts'
import { migratedDatabaseUrl } from '#server/testing/database.ts'
import { type Course, play } from './run.ts'
import type { Scenario } from './scenario.ts'
import { DELEGATION } from './scenarios-of-delegation.ts'
import { FOOLED, MISSED } from './scenarios-of-faults.ts'
import { NETWORKS } from './scenarios-of-networks.ts'
import { POOLS } from './scenarios-of-pools.ts'
import { RECORDS } from './scenarios-of-records.ts'
import { VIEWS } from './scenarios-of-views.ts'

const DRAWN = [...FOOLED, ...MISSED, ...RECORDS, ...DELEGATION, ...NETWORKS, ...VIEWS, ...POOLS]
/** Of the servers that answer at random, where a verdict was wrong once: played in each run. */
const ONCE_WRONG: Record<string, number> = {
  'a pool of 2, 1 at a time: nothing happens': 4_292_491_256,
  'without roots, one machine of several behind the one recursive server denies the name': 4_262_851_746,
}
const REPLAYED = DRAWN.filter(({ name }) => name in ONCE_WRONG).map((scenario): Scenario & { seed: number } => {
  const seed = ONCE_WRONG[scenario.name]! + DRAWN.indexOf(scenario)
  return { ...scenario, name: `${scenario.name}, as it was wrong once`, seed }
})
const ALL: (Scenario & { seed?: number })[] = [...DRAWN, ...REPLAYED]
/** PostgreSQL differs in how it records, not in what is asked: a sample of every kind will do. */
const SAMPLE = ALL.filter((_, at) => at % 8 === 0)
const AT_ONCE = 20
const MAX_CHARACTERS = 16_384
/** Of the servers that answer at random. Set it to the one printed to see a run again. */
const SEED = Number(process.env.HOSTILE_DNS_SEED ?? Math.floor(Math.random() * 2 ** 32))

const ajv = new Ajv2020({ strict: false })
addFormats.default(ajv)
const isDiagnosis = ajv.compile(Diagnosis)

test('there are many scenarios, each with a unique name', () => {
  expect(ALL.length).toBeGreaterThanOrEqual(150)
  expect(new Set(ALL.map(({ name }) => name)).size).toBe(ALL.length)
  expect(REPLAYED).toHaveLength(Object.keys(ONCE_WRONG).length)
})

describe.each<[Engine, typeof ALL]>([
  ['sqlite', ALL],
  ['postgres', SAMPLE],
])('on %s', (engine, scenarios) => {
  const courses = new Map<string, Course | Error>()
  let end: (() => Promise<void>) | undefined

  beforeAll(async () => {
    const { db, close } = await newDatabase(engine)
    end = close
    const { id } = await insertOrganization(db, { name: 'Lab', email: 'lab@example.com', passwordHash: '' }, 0)
    const waiting = [...scenarios]
    const playNext = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        courses.set(
          next.name,
          await play(db, id, next, next.seed ?? SEED + ALL.indexOf(next)).catch((error: Error) => error),
        )
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, playNext))
  }, 900_000)

  afterAll(() => end?.())

  test.each(scenarios.map((scenario) => [scenario.name, scenario] as const))('%s', (_, scenario) => {
    onTestFailed(() => console.log(`HOSTILE_DNS_SEED=${SEED}`))
    const course = courses.get(scenario.name)
    if (course === undefined || course instanceof Error) throw course ?? new Error('it was not played')
    const { becomes, events = becomes === 'VALID' ? 0 : 1 } = scenario
    expect(course.before.at(-1)).toBe('VALID')
    expect(course.during).toEqual(Array(events).fill(becomes))
    expect(course.after).toEqual(Array(events).fill('VALID'))
    if (scenario.values) expect(course.values).toEqual(scenario.values)
    if (scenario.says) expect(`${course.last?.reason} ${course.last?.decided}`).toContain(scenario.says)
    expect([isDiagnosis(course.last), isDiagnosis.errors]).toEqual([true, null])
    expect(course.longestDiagnosis).toBeLessThanOrEqual(MAX_CHARACTERS)
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
