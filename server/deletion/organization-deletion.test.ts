import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { insertAgent } from '../accounts/memberships.ts'
import { ensureUser } from '../accounts/users.ts'
import { operatorContext } from '../context.ts'
import type { Database } from '../database/database.ts'
import { engineOf } from '../database/engine.ts'
import { readSchema } from '../database/table-schema.ts'
import { onBothEngines } from '../testing/database.ts'
import { fillEveryTable } from '../testing/every-table.ts'
import { givenApp } from '../testing/test-app.ts'
import { DAY_MS, HOUR_MS } from '../times.ts'
import { deleteRequestsOfDeletedWebhooks } from '../webhooks/retention.ts'
import { DELETED_OTHERWISE, deleteDueOrganizations, QUIET_MS } from './delete-organization.ts'
import { cancelDeletion } from './organization-deletion.ts'

const NOW = Date.UTC(2026, 10, 27)

onBothEngines('an organization whose deletion is due', (fresh) => {
  test('is deleted from every table, and nothing of the others is', async () => {
    const db = await fresh()
    await fillEveryTable(db)
    const id = 'organizations.id.3'
    await makeDue(db, id)
    const rowsBefore = await rowsByOrganization(db)
    const { pass, advance, logged } = givenDeletion(db)
    await pass()
    expect((await rowsByOrganization(db)).get(id)).toEqual(['removed_webhooks', 'webhook_attempts', 'webhook_requests'])
    await pass()
    expect((await rowsByOrganization(db)).get(id)).toEqual(['removed_webhooks'])
    advance(QUIET_MS - 1)
    await pass()
    expect(await exists(db, id)).toBe(true)
    advance(1)
    await pass()
    expect(logged.at(-1)).toBe('The organization was deleted with everything that belonged to it.')
    const rowsAfter = await rowsByOrganization(db)
    rowsBefore.delete(id)
    expect(rowsAfter).toEqual(rowsBefore)
    expect(await exists(db, id)).toBe(false)
    expect(await leftOvers(db, id)).toEqual([])
  })

  test('stays until nothing was found for ten minutes, so that late writes are deleted too', async () => {
    const db = await fresh()
    await fillEveryTable(db)
    const id = 'organizations.id.3'
    await makeDue(db, id)
    const { pass, advance } = givenDeletion(db)
    await pass()
    await pass()
    advance(QUIET_MS)
    // A delivery in progress counts what it stored.
    await sql`insert into webhook_storage (organization_id, octets) values (${id}, 5)`.execute(db)
    await pass()
    expect(await exists(db, id)).toBe(true)
    advance(QUIET_MS)
    await pass()
    expect(await exists(db, id)).toBe(false)
    expect(await leftOvers(db, id)).toEqual([])
  })

  test('continues after an interruption', async () => {
    const db = await fresh()
    await fillEveryTable(db)
    const id = 'organizations.id.3'
    await makeDue(db, id)
    const stop = new AbortController()
    const { pass, advance } = givenDeletion(db)
    await pass(stop.signal, () => stop.abort())
    expect(await exists(db, id)).toBe(true)
    await pass()
    await pass()
    advance(QUIET_MS)
    await pass()
    expect(await leftOvers(db, id)).toEqual([])
  })

  test('is deleted although another one cannot be', async () => {
    const db = await fresh()
    await fillEveryTable(db)
    const [stuck, id] = ['organizations.id.2', 'organizations.id.3']
    await makeDue(db, id)
    await sql`update organizations set deletion_at = ${NOW - 1} where id = ${stuck}`.execute(db)
    await sql`create table blockers (id text primary key, a text not null, b text not null,
      foreign key (a, b) references views (organization_id, id))`.execute(db)
    await sql`insert into blockers select id, organization_id, id from views where organization_id = ${stuck}`.execute(
      db,
    )
    const { pass, advance, logged } = givenDeletion(db)
    await pass()
    expect(logged).toContain('An organization could not be deleted. The next attempt is in a minute.')
    await pass()
    advance(QUIET_MS)
    await pass()
    expect([await exists(db, stuck), await exists(db, id)]).toEqual([true, false])
  })

  test('is kept while a paid plan would be renewed', async () => {
    const db = await fresh()
    await fillEveryTable(db)
    const id = 'organizations.id.3'
    await makeDue(db, id)
    await sql`update subscriptions set cancel_at = null where organization_id = ${id}`.execute(db)
    const { pass, advance, logged } = givenDeletion(db)
    await pass()
    advance(QUIET_MS)
    await pass()
    expect(await exists(db, id)).toBe(true)
    expect(logged.at(-1)).toContain('is not deleted while it has a paid plan')
    expect(await db.selectFrom('agents').select('id').where('organization_id', '=', id).execute()).toHaveLength(1)
  })

  test('is found in each table by an index, or its rows are deleted with others', async () => {
    const db = await fresh()
    const tables = (await readSchema(db)).filter(({ columns }) => 'organization_id' in columns)
    const { rows } = await (engineOf(db) === 'sqlite' ? SQLITE_INDEXES : POSTGRES_INDEXES).execute(db)
    const indexed = new Set(rows.map(({ name }) => name))
    const scanned = tables.map(({ name }) => name).filter((name) => !indexed.has(name))
    expect(scanned.filter((name) => !(name in DELETED_OTHERWISE))).toEqual([])
    for (const name of Object.keys(DELETED_OTHERWISE)) expect(tables.map((table) => table.name)).toContain(name)
  })
})

/** Tables with an index of all rows that begins with the organization. */
const SQLITE_INDEXES = sql<{
  name: string
}>`select t.name from sqlite_schema t, pragma_index_list(t.name) l, pragma_index_info(l.name) i
  where t.type = 'table' and l.partial = 0 and i.seqno = 0 and i.name = 'organization_id'`
const POSTGRES_INDEXES = sql<{
  name: string
}>`select t.relname as name from pg_index i join pg_class t on t.oid = i.indrelid
  join pg_attribute a on a.attrelid = t.oid and a.attnum = i.indkey[0]
  where i.indpred is null and a.attname = 'organization_id'`

onBothEngines('DELETE /organization', (_, engine) => {
  test('needs the name, tells the owners, and can be canceled for seven days', async () => {
    const app = await givenApp(engine)
    const { id } = await app.organization()
    expect((await app.call('/organization/deletion')).body).toEqual({
      requested: null,
      requested_by: null,
      deletes: null,
    })
    const remove = (name: string, key?: string) =>
      app.call(`/organization?name=${encodeURIComponent(name)}`, { method: 'DELETE', ...(key && { key }) })
    expect((await app.call('/organization', { method: 'DELETE' })).body.errors).toEqual({ name: 'is required.' })
    const refused = await remove('Second')
    expect(refused.status).toBe(400)
    expect(refused.body.errors).toEqual({ name: 'must be the name of the organization: First.' })
    expect((await remove('First', (await app.key('write')).key)).status).toBe(403)

    const requested = await remove(' First ')
    expect(requested.status).toBe(202)
    expect(requested.body.requested_by).toBe('First key')
    expect(Date.parse(requested.body.deletes) - Date.parse(requested.body.requested)).toBe(7 * DAY_MS)
    app.pass(HOUR_MS)
    expect((await remove('First')).body).toEqual(requested.body)
    expect((await app.call('/organization/deletion')).body).toEqual(requested.body)
    const mails = await app.deps.db.selectFrom('mails').select(['recipient', 'content']).execute()
    expect(mails).toHaveLength(1)
    expect(mails[0]!.recipient).toBe('owner@first.example')
    expect(JSON.parse(mails[0]!.content)).toMatchObject({ kind: 'organization_deletion', by: 'First key' })

    expect((await app.call('/organization/deletion', { method: 'DELETE' })).status).toBe(204)
    app.pass(8 * DAY_MS)
    await deleteDueOrganizations(app.deps, new AbortController().signal)
    expect((await app.call('/organization')).status).toBe(200)
    const audited = (await app.call('/audit-log?object=organization')).body.data
    expect(audited.map(({ action }: { action: string }) => action)).toEqual([
      'organization.created',
      'organization.deletion_requested',
      'organization.deletion_canceled',
    ])
    expect(audited[1].after).toEqual({ deletes: requested.body.deletes })
    expect(audited[2].object.id).toBe(id)
  })

  test('ends all access when the deletion begins, and can then not be canceled', async () => {
    const app = await givenApp(engine)
    const { id, key } = await app.organization()
    const other = await app.organization('Second')
    expect((await app.call('/organization?name=First', { method: 'DELETE' })).status).toBe(202)
    app.pass(7 * DAY_MS)
    await deleteDueOrganizations(app.deps, new AbortController().signal)
    expect((await app.call('/organization', { key })).status).toBe(401)
    expect((await app.call('/organization', { key: other.key })).status).toBe(200)
    const canceled = cancelDeletion(app.deps.db, operatorContext(id, app.deps.clock.now()))
    await expect(canceled).rejects.toThrow('The deletion has begun and cannot be canceled.')
  })

  test('of one organization says nothing about another one, and its members keep their accounts', async () => {
    const app = await givenApp(engine)
    const { db, clock } = app.deps
    const [first, second] = [await app.organization(), await app.organization('Second')]
    const user = await ensureUser(db, { email: 'owner@first.example' }, clock.now())
    await insertAgent(db, second.id, { user, role: 'member' }, clock.now())
    expect((await app.call('/organization?name=First', { method: 'DELETE', key: second.key })).status).toBe(400)
    await app.call('/organization?name=First', { method: 'DELETE' })
    expect((await app.call('/organization/deletion', { key: second.key })).body.deletes).toBeNull()
    app.pass(7 * DAY_MS)
    for (let number = 0; number < 2; number++) {
      await deleteDueOrganizations(app.deps, new AbortController().signal)
      app.pass(QUIET_MS)
    }
    await deleteDueOrganizations(app.deps, new AbortController().signal)
    expect(await exists(db, first.id)).toBe(false)
    expect((await app.call('/agents', { key: second.key })).body.data).toHaveLength(2)
  })
})

function givenDeletion(db: Database) {
  let now = NOW
  const logged: string[] = []
  const write = (_: object, text: string) => void logged.push(text)
  const pass = async (stop = new AbortController().signal, onSleep = () => {}) => {
    const clock = { now: () => now, elapsed: () => now, sleep: async () => onSleep() }
    const deps = { db, clock, log: { info: write, warn: write, error: write } as never }
    await deleteRequestsOfDeletedWebhooks(deps, stop)
    await deleteDueOrganizations(deps, stop)
  }
  return { pass, logged, advance: (ms: number) => (now += ms) }
}

async function makeDue(db: Database, id: string): Promise<void> {
  await sql`update organizations set deletion_at = null, deletion_worked_at = null`.execute(db)
  await sql`update organizations set deletion_at = ${NOW} where id = ${id}`.execute(db)
  await sql`delete from removed_webhooks`.execute(db)
}

const exists = async (db: Database, id: string) =>
  (await db.selectFrom('organizations').select('id').where('id', '=', id).execute()).length > 0

/** The tables in which each organization has rows, in the order of their names. */
async function rowsByOrganization(db: Database): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>()
  for (const { name, columns } of (await readSchema(db)).toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (!('organization_id' in columns)) continue
    const { rows } = await sql<{ id: string }>`select distinct organization_id as id from ${sql.table(name)}
      order by id`.execute(db)
    for (const { id } of rows) found.set(id, [...(found.get(id) ?? []), name])
  }
  return found
}

/** Tables with a text that names the organization. */
async function leftOvers(db: Database, id: string): Promise<string[]> {
  const found: string[] = []
  for (const { name, columns } of await readSchema(db)) {
    for (const [column, type] of Object.entries(columns)) {
      if (type !== 'text') continue
      const { rows } = await sql`select 1 as one from ${sql.table(name)} where ${sql.ref(column)} like ${`%${id}%`}
        limit 1`.execute(db)
      if (rows.length > 0) found.push(`${name}.${column}`)
    }
  }
  return found
}
