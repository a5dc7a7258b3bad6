import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { givenSignedInBrowser } from '../testing/accounts.ts'
import { migratedDatabaseUrl, onBothEngines } from '../testing/database.ts'
import { type Call, givenApp, type TestApp } from '../testing/test-app.ts'
import { pruneIdempotentRequests } from './idempotency-store.ts'

const HOURS_24 = 24 * 60 * 60 * 1_000

const post =
  ({ call }: TestApp) =>
  (path: string, name: string, body: unknown, more: Call = {}) =>
    call(path, { method: 'POST', body, ...more, headers: { 'idempotency-key': name, ...more.headers } })

async function groups({ call }: TestApp): Promise<string[]> {
  return (await call('/groups')).body.data.map(({ slug }: { slug: string }) => slug)
}

onBothEngines('Idempotency-Key', (_fresh, engine) => {
  test('a key with a space, or of more than 255 characters, is refused', async () => {
    const world = await givenApp(engine)
    for (const name of ['a b', 'x'.repeat(256)]) {
      expect((await post(world)('/groups', name, { name: 'Shop' })).body).toMatchObject({
        code: 400,
        errors: { 'Idempotency-Key': 'must have 1 to 255 visible ASCII characters without spaces.' },
      })
    }
  })

  test('a repeated request gets the first response, marked, and creates nothing', async () => {
    const world = await givenApp(engine)
    const first = await post(world)('/groups', 'one', { name: 'Shop' })
    const again = await post(world)('/groups', 'one', { name: 'Shop' })
    expect([first.status, first.headers['idempotent-replayed']]).toEqual([201, undefined])
    expect([again.status, again.headers['idempotent-replayed']]).toEqual([201, 'true'])
    expect(again.text).toBe(first.text)
    expect(again.headers.location).toBe(first.headers.location)
    expect(again.headers['content-type']).toBe(first.headers['content-type'])
    expect(again.headers['x-request-id']).not.toBe(first.headers['x-request-id'])
    expect(await groups(world)).toEqual(['default', 'shop'])
  })

  test('the same key with another body or path is a 422 that names the header', async () => {
    const world = await givenApp(engine)
    await post(world)('/groups', 'one', { name: 'Shop' })
    for (const answer of [
      await post(world)('/groups', 'one', { name: 'Other' }),
      await post(world)('/monitors', 'one', { name: 'Shop' }),
    ]) {
      expect([answer.status, Object.keys(answer.body.errors)]).toEqual([422, ['Idempotency-Key']])
    }
  })

  test('a repeated request is a 409 while the first one runs, and only one of many is executed', async () => {
    const world = await givenApp(engine)
    const responses = await Promise.all(
      Array.from({ length: 8 }, () => post(world)('/groups', 'one', { name: 'Shop' })),
    )
    const statuses = responses.map(({ status }) => status)
    expect(new Set(statuses)).toEqual(new Set(statuses.includes(409) ? [201, 409] : [201]))
    const carriedOut = responses.filter(({ status, headers }) => status === 201 && !headers['idempotent-replayed'])
    expect(carriedOut).toHaveLength(1)
    expect(await groups(world)).toEqual(['default', 'shop'])
  })

  test('a refusal is stored too, and a key can be used again after 24 hours', async () => {
    const world = await givenApp(engine)
    const { deps, pass } = world
    expect((await post(world)('/groups', 'one', {})).status).toBe(400)
    const again = await post(world)('/groups', 'one', {})
    expect([again.status, again.headers['idempotent-replayed']]).toEqual([400, 'true'])
    pass(HOURS_24)
    expect((await post(world)('/groups', 'one', { name: 'Shop' })).status).toBe(201)
    pass(HOURS_24)
    expect(await pruneIdempotentRequests(deps.db, deps.clock.now())).toBe(false)
    expect(await deps.db.selectFrom('idempotent_requests').selectAll().execute()).toEqual([])
  })

  test('a failure of the server is not stored', async () => {
    const world = await givenApp(engine)
    const { deps, organization } = world
    await organization()
    const failed = await withoutGroups(world, () => post(world)('/groups', 'one', { name: 'Shop' }))
    expect(failed.status).toBe(500)
    expect(await deps.db.selectFrom('idempotent_requests').selectAll().execute()).toEqual([])
    expect((await post(world)('/groups', 'one', { name: 'Shop' })).status).toBe(201)
  })

  test('another API key with the same role gets the response, which is stored encrypted', async () => {
    const world = await givenApp(engine)
    const { deps, key, organization } = world
    const body = { url: 'https://hooks.example.com/dns' }
    const writer = await key('write')
    const first = await post(world)('/webhooks', 'one', body, { key: writer.key })
    const rotated = await world.call(`/api-keys/${writer.id}/rotate`, { method: 'POST', body: { grace_hours: 0 } })
    expect((await post(world)('/webhooks', 'one', body, { key: writer.key })).status).toBe(401)
    for (const other of [rotated.body.key, (await key('write')).key]) {
      const answer = await post(world)('/webhooks', 'one', body, { key: other })
      expect([answer.status, answer.headers['idempotent-replayed'], answer.text]).toEqual([201, 'true', first.text])
    }
    const rows = await deps.db.selectFrom('idempotent_requests').select('body').execute()
    expect(rows.some((row) => row.body!.includes(first.body.secret))).toBe(false)
    const elsewhere = await post(world)('/webhooks', 'one', body, { key: (await organization('Second')).key })
    expect([elsewhere.status, elsewhere.headers['idempotent-replayed']]).toEqual([201, undefined])
    expect((await world.call('/webhooks')).body.data).toHaveLength(1)
  })

  test('a caller with another role gets no response, and the request is not executed again', async () => {
    const world = await givenApp(engine)
    const owner = await givenSignedInBrowser(world, { name: 'Olga', role: 'owner' })
    const admin = await givenSignedInBrowser(world, { name: 'Ada', role: 'admin' })
    const body = { name: 'Deploy', role: 'write' }
    const created = await post(world)('/api-keys', 'one', body)
    const other = await post(world)('/webhooks', 'two', { url: 'https://hooks.example.com/' })
    const { key } = await world.key('write')
    const again = await post(world)('/webhooks', 'two', { url: 'https://hooks.example.com/' }, { key })
    expect([other.status, again.status, Object.keys(again.body.errors)]).toEqual([201, 422, ['Idempotency-Key']])
    // The Idempotency-Key of a user is separate from that of the organization.
    for (const browser of [owner, admin]) {
      const answer = await browser.call('/api-keys', { body, headers: { 'idempotency-key': 'one' } })
      expect([answer.status, answer.body.key === created.body.key]).toEqual([201, false])
    }
  })

  test('the response with a new API key goes only to its sender', async () => {
    const world = await givenApp(engine)
    const { key } = await world.key('admin')
    const body = { name: 'Deploy', role: 'write' }
    const created = await post(world)('/api-keys', 'one', body)
    const again = await post(world)('/api-keys', 'one', body)
    const other = await post(world)('/api-keys', 'one', body, { key })
    expect([again.body, again.headers['idempotent-replayed']]).toEqual([created.body, 'true'])
    expect([other.status, other.headers['idempotent-replayed'], other.body.id === created.body.id]).toEqual([
      ...[201, undefined, false],
    ])
  })

  test('an invalid key is a 400, and other methods ignore the header', async () => {
    const world = await givenApp(engine)
    for (const name of ['', 'x'.repeat(256), 'tab\there']) {
      const answer = await post(world)('/groups', name, { name: 'Shop' })
      expect([answer.status, Object.keys(answer.body.errors)]).toEqual([400, ['Idempotency-Key']])
    }
    const headers = { 'idempotency-key': 'one' }
    expect((await world.call('/groups', { headers })).headers['idempotent-replayed']).toBeUndefined()
    expect((await world.call('/groups', { headers })).headers['idempotent-replayed']).toBeUndefined()
  })
})

describe('a deadlock (postgres)', () => {
  test('is a 409 that is not stored, so the request can be repeated', async () => {
    const { url, drop } = await migratedDatabaseUrl('postgres')
    onTestFinished(drop)
    const world = await givenApp('postgres', {}, url)
    await sql`create sequence refused`.execute(world.deps.db)
    await sql`create function refuse_once() returns trigger language plpgsql as $$ begin
      if new.slug = 'shop' and nextval('refused') = 1 then raise exception using errcode = 'deadlock_detected'; end if;
      return new; end $$`.execute(world.deps.db)
    await sql`create trigger refused before insert on groups for each row execute function refuse_once()`.execute(
      world.deps.db,
    )
    const refused = await post(world)('/groups', 'one', { name: 'Shop' })
    expect(refused).toMatchObject({ status: 409, headers: { 'retry-after': '1' } })
    expect(refused.body.error).toBe('Another request changed the same resource. Try again.')
    expect((await post(world)('/groups', 'one', { name: 'Shop' })).status).toBe(201)
    expect(world.logged).toEqual([])
  })
})

/** Every statement about groups fails in the meantime. */
async function withoutGroups<T>({ deps: { db } }: TestApp, work: () => Promise<T>): Promise<T> {
  await db.schema.alterTable('groups').renameTo('gone').execute()
  const result = await work()
  await db.schema.alterTable('gone').renameTo('groups').execute()
  return result
}
