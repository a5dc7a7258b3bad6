import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { monitorLoader } from '../checks/load-monitor.ts'
import { recordChecks } from '../checks/record-checks.ts'
import type { Database } from '../database/database.ts'
import { openDatabase } from '../database/open.ts'
import { claimChecks } from '../testing/checks.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'
import { type EventRow, insertEvents, newEventIds } from './store.ts'

const MINUTE_MS = 60_000
const MONITORS = 60
const WRITERS = 3
const ROUNDS = 6

onBothEngines('events in the order in which they are recorded', (_fresh, engine) => {
  test('an event that is committed later comes later, whatever the clock of its process says', async () => {
    const world = await givenApp(engine)
    const event = await givenEvent(world)
    const other = another(world.url)
    const isHeld = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    const now = world.deps.clock.now()

    const slow = world.deps.db.transaction().execute(async (transaction) => {
      await insertWithId(transaction, event, now + MINUTE_MS)
      isHeld.resolve()
      await release.promise
    })
    await isHeld.promise
    const fast = other.transaction().execute((transaction) => insertWithId(transaction, event, now))
    const early = engine === 'postgres' ? await read(world, event.id) : []
    release.resolve()
    await Promise.all([slow, fast])

    expect(early).toEqual([])
    const all = await read(world, event.id)
    expect(all).toHaveLength(2)
    expect(await read(world, all[0]!)).toEqual([all[1]])
    // The position of an event that was deleted is still one, and nothing is given the same or a smaller id again.
    await world.deps.db.deleteFrom('events').execute()
    await other.transaction().execute((transaction) => insertWithId(transaction, event, now - MINUTE_MS))
    expect(await read(world, all[1]!)).toHaveLength(1)
  })

  test('the recipe of the documents reads each event once while several processes write them', async () => {
    const world = await givenApp(engine)
    await world.app.listen({ host: '127.0.0.1', port: 0 })
    const { key } = await world.organization()
    const monitors = Array.from({ length: MONITORS }, (_, place) => ({
      full_domain: `n${place}.example.com`,
      record_type: 'A',
      expected_value: '192.0.2.0',
    }))
    await world.call('/monitors/bulk', { method: 'POST', body: { monitors } })
    const { file, folder } = await givenRecipe()
    const { port } = world.app.server.address() as { port: number }
    const settings = { ZONEWATCH_URL: `http://127.0.0.1:${port}`, ZONEWATCH_KEY: key }
    const environment = { ...settings, POSITION_FILE: join(folder, 'position.txt') }
    const reconcile = async () => {
      const { stdout } = await promisify(execFile)(process.execPath, [file], { env: environment, cwd: folder })
      return stdout.split('\n').filter((line) => line !== '')
    }

    let isBurst = true
    const burst = write(world).finally(() => {
      isBurst = false
    })
    const lines: string[] = []
    while (isBurst) lines.push(...(await reconcile()))
    await burst
    lines.push(...(await reconcile()))

    const recorded = await world.deps.db.selectFrom('events').select('id').orderBy('id').execute()
    expect(recorded).toHaveLength(MONITORS * ROUNDS)
    expect(lines.map((line) => JSON.parse(line).id)).toEqual(recorded.map(({ id }) => id))
    expect(await reconcile()).toEqual([])
  })

  test('it takes no filter and no other order with it, and says so', async () => {
    const world = await givenApp(engine)
    const { id } = await givenEvent(world)
    const errors = async (query: string) => (await world.call(`/events?${query}`)).body.errors
    const filter =
      'cannot be combined with after_id or order_by=recorded. Leave it out, and filter the events that are returned.'
    expect(await errors(`after_id=${id}&new_state=VALID&occurred_after=1`)).toEqual({
      new_state: filter,
      occurred_after: filter,
    })
    expect(await errors('order_by=recorded&group=default')).toEqual({ group: filter })
    expect(await errors(`after_id=${id}&order_by=occurred`)).toEqual({
      order_by: 'must be recorded when after_id is sent. Leave it out.',
    })
    expect(Object.keys(await errors('after_id=evt_1'))).toEqual(['after_id'])
    expect(await read(world, '', 'order_by=recorded')).toEqual([id])
  })
})

/** The ids of the events after that one, in the order of the answer. */
async function read(world: TestApp, id: string, query = `after_id=${id}`): Promise<string[]> {
  const { data } = (await world.call(`/events?${query}`)).body
  return data.map((event: { id: string }) => event.id)
}

/** Another process with the same database. */
function another(url: string): Database {
  const db = openDatabase(url)
  onTestFinished(() => db.destroy())
  return db
}

async function givenEvent(world: TestApp): Promise<EventRow> {
  const body = { full_domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1' }
  await world.call('/monitors', { method: 'POST', body })
  const monitor = await world.deps.db.selectFrom('monitors').selectAll().executeTakeFirstOrThrow()
  const event = {
    organization_id: monitor.organization_id,
    monitor_id: monitor.id,
    group_id: monitor.group_id,
    occurred_at: world.deps.clock.now(),
    old_state: 'UNSET',
    new_state: 'VALID',
    previous_values: null,
    current_values: '[]',
    incidence_count: 1,
    domain: monitor.domain,
    subdomain: monitor.subdomain,
    record_type: monitor.record_type,
    expected_values: monitor.expected_values,
    is_exact_match: monitor.is_exact_match,
    diagnosis: null,
  }
  const id = await insertWithId(world.deps.db, event, event.occurred_at)
  return { ...event, id }
}

async function insertWithId(db: Database, event: Omit<EventRow, 'id'>, now: number): Promise<string> {
  const [id] = await newEventIds(db, [event.organization_id], now)
  await insertEvents(db, [{ ...event, id: id! }])
  return id!
}

async function givenRecipe(): Promise<{ file: string; folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'zonewatch-recipe-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const document = await readFile(new URL('../../docs/reference/api.md', import.meta.url), 'utf8')
  const [, recipe] = /^```js\n(\/\/ reconcile\.mjs.*?)^```$/ms.exec(document) ?? []
  const file = join(folder, 'reconcile.mjs')
  await writeFile(file, recipe!)
  return { file, folder }
}

/** Every monitor changes in every round. The processes share the checks, and their clocks differ. */
async function write(world: TestApp): Promise<void> {
  const start = world.deps.clock.now() + MINUTE_MS
  const writers = Array.from({ length: WRITERS }, (_, place) => ({ db: another(world.url), process: place + 1 }))
  for (let round = 1; round <= ROUNDS; round++) {
    const now = start + round * 10 * MINUTE_MS
    await Promise.all(
      writers.map(async ({ db, process }) => {
        for (;;) {
          const claims = await claimChecks(db, { now, process, limit: 5 })
          if (claims.length === 0) return
          const load = monitorLoader(db, { now: () => now })
          const results = await Promise.all(
            claims.map(async (claim) => {
              const rrset = { name: claim.owner, type: 'A' as const, ttl: 60, values: [`192.0.2.${round}`] }
              const outcome = { kind: 'answer' as const, rrset, chain: [] }
              const { row, recorded } = (await load(claim))!
              const verdict = {
                kind: 'verdict' as const,
                outcome,
                observations: [],
                servers: [],
                confirmation: [],
                rotation: null,
              }
              return { claim, startedAt: now, at: now, row, recorded, ...verdict }
            }),
          )
          await recordChecks(db, results, now + process * MINUTE_MS)
        }
      }),
    )
  }
}
