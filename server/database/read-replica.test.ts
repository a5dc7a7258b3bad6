import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkConnections } from '../doctor/connections.ts'
import { checkDatabase, checkReplica } from '../doctor/database.ts'
import { type Postgres, startPostgres, startReplica } from '../testing/postgres.ts'
import { givenApp } from '../testing/test-app.ts'
import type { Database } from './database.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open.ts'
import { ReadReplica } from './read-replica.ts'

let primary: Postgres
let standby: Postgres
/** Connections beside those of the server under test. */
let onPrimary: Database
let onStandby: Database

beforeAll(async () => {
  primary = await startPostgres()
  onPrimary = openDatabase(`${primary.url}/postgres`)
  await migrate(onPrimary, 0)
  await onPrimary.destroy()
  standby = await startReplica(primary)
  onPrimary = openDatabase(`${primary.url}/postgres`)
  onStandby = openDatabase(`${standby.url}/postgres`)
})

afterAll(async () => {
  await Promise.all([onPrimary.destroy(), onStandby.destroy()])
  await standby.stop()
  await primary.stop()
})

/** The API with a replica, and a process that says that it lives. */
async function givenReplica() {
  const world = await givenApp('postgres', { DATABASE_READ_URL: `${standby.url}/postgres` }, `${primary.url}/postgres`)
  const organization = await world.organization(`Organization ${Math.random().toString(36).slice(2)}`)
  await onPrimary.deleteFrom('processes').execute()
  const now = world.deps.clock.now()
  const values = { pid: 1, machine: 'node', started_at: now, seen_at: now }
  await onPrimary.insertInto('processes').values(values).execute()
  const call = (path: string, options = {}) => world.call(path, { key: organization.key, ...options })
  const names = async () => (await call('/groups')).body.data.map(({ name }: { name: string }) => name)
  return {
    world,
    call,
    names,
    /** By nobody who calls the API. */
    rename: (name: string) =>
      onPrimary.updateTable('groups').set({ name }).where('organization_id', '=', organization.id).execute(),
    /** Until the organization's changes are no recent ones any more. */
    pass: async () => {
      world.pass(10 * 60_000)
      await onPrimary.updateTable('processes').set({ seen_at: world.deps.clock.now() }).execute()
      await untilReplayed()
    },
  }
}

async function untilReplayed(): Promise<void> {
  const { rows } = await sql<{ at: string }>`select pg_current_wal_insert_lsn()::text as at`.execute(onPrimary)
  for (;;) {
    const { rows: replayed } = await sql<{ is: boolean }>`
      select pg_last_wal_replay_lsn() >= ${rows[0]!.at}::pg_lsn as is`.execute(onStandby)
    if (replayed[0]!.is) return
  }
}

const pause = () => sql`select pg_wal_replay_pause()`.execute(onStandby)
const goOn = () => sql`select pg_wal_replay_resume()`.execute(onStandby)

test('lists are read from the replica, and from the primary after a change that the replica does not have', async () => {
  const { call, names, rename, pass } = await givenReplica()
  await rename('before')
  await pass()
  await pause()
  try {
    await rename('after')
    // The replica alone does not have the new name.
    expect(await names()).toEqual(['before'])
    expect((await call('/groups', { method: 'POST', body: { name: 'mine' } })).status).toBe(201)
    expect((await names()).toSorted()).toEqual(['after', 'mine'])
  } finally {
    await goOn()
  }
  await untilReplayed()
  expect((await names()).toSorted()).toEqual(['after', 'mine'])
})

test('after a change lists are read from the replica as soon as it has that', async () => {
  const { world, call, names, rename } = await givenReplica()
  expect((await call('/groups', { method: 'POST', body: { name: 'mine' } })).status).toBe(201)
  await untilReplayed()
  const seen: string[] = []
  const { replica } = world.deps
  const read = replica!.read.bind(replica)
  replica!.read = async (...given) => {
    const found = await read(...given)
    seen.push(found ? 'replica' : 'primary')
    return found
  }
  expect(await names()).toContain('mine')
  await rename('theirs')
  expect(await names()).toContain('theirs')
  expect(seen).toEqual(['replica', 'replica'])
})

test('a replica that is far behind is not read', async () => {
  const { world, names, rename, pass } = await givenReplica()
  await rename('before')
  await pass()
  await pause()
  try {
    await rename('after')
    expect(await names()).toEqual(['before'])
    world.pass(11_000)
    expect(await names()).toEqual(['after'])
  } finally {
    await goOn()
  }
})

test('what the replica has of another organization is not shown, and a refusal is the same', async () => {
  const { call, pass } = await givenReplica()
  await pass()
  expect((await call('/groups/grp_01jgrp00000000000000000000/monitors')).status).toBe(404)
  expect((await call('/monitors?after=nonsense')).status).toBe(400)
})

test('while the replica is away, lists are read from the primary', async () => {
  const { call, names, rename, pass, world } = await givenReplica()
  let elapsed = 0
  const clock = { ...world.deps.clock, elapsed: () => elapsed }
  await world.deps.replica!.close()
  world.deps.replica = new ReadReplica({ url: `${standby.url}/postgres`, clock })
  await rename('before')
  await pass()
  expect(await names()).toEqual(['before'])
  await onStandby.destroy()
  await standby.halt()
  try {
    await rename('after')
    for (const path of ['/monitors', '/events', '/webhooks', '/agents', '/dashboard/api/overview']) {
      expect([path, (await call(path)).status]).toEqual([path, 200])
    }
    expect(await names()).toEqual(['after'])
    expect((await checkReplica(world.deps)).map(({ status }) => status)).toEqual(['failure'])
  } finally {
    await standby.resume()
    onStandby = openDatabase(`${standby.url}/postgres`)
  }
  await pass()
  await pause()
  await rename('last')
  // Not asked again at once.
  expect(await names()).toEqual(['last'])
  elapsed += 6_000
  expect(await names()).toEqual(['after'])
  await goOn()
})

test('doctor reports how far behind the replica is, and that a server is no replica', async () => {
  const { world, pass } = await givenReplica()
  await pass()
  const found = async (url: string) =>
    (await checkReplica({ ...world.deps, config: { ...world.deps.config, databaseReadUrl: url } })).map(
      ({ status, detail }) => [status, detail],
    )
  expect(await found(`${standby.url}/postgres`)).toEqual([['ok', expect.stringMatching(/^0\.\d s behind$/)]])
  world.pass(60_000)
  expect(await found(`${standby.url}/postgres`)).toEqual([['warning', expect.stringMatching(/^5\d\.\d s behind$/)]])
  expect(await found(`${primary.url}/postgres`)).toEqual([['warning', 'DATABASE_READ_URL leads to a primary']])
  const connections = await checkConnections(onPrimary, world.deps.config)
  expect(connections.map(({ status, check }) => [status, check])).toEqual([
    ['ok', 'connections'],
    ['ok', 'connections of the read replica'],
  ])
})

test('doctor names a standby in DATABASE_URL', async () => {
  const { world } = await givenReplica()
  const [found] = await checkDatabase({ ...world.deps, db: onStandby })
  expect([found!.status, found!.detail]).toEqual(['failure', expect.stringMatching(/^DATABASE_URL leads to a standby/)])
})
