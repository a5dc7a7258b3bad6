import { expect, test } from 'vitest'
import { newId } from '#server/ids.ts'
import { givenChecks } from '#server/testing/checks.ts'
import { onBothEngines } from '#server/testing/database.ts'
import { type FanOutPosition, fanOut } from '#server/webhooks/deferred-fan-out.ts'

const WEBHOOKS = 1_000
const textOf = (letter: string) => letter.repeat(61_000)

onBothEngines('a TXT record of 61 kB in a group with 1,000 webhooks', (fresh) => {
  test('stores one body of at most 64 KiB and batches of 200 small rows for a change, and the whole value in the monitor', async () => {
    const db = await fresh()
    const checks = await givenChecks(db)
    const { id: group_id } = await db.selectFrom('groups').select('id').executeTakeFirstOrThrow()
    const organization_id = checks.organizationId
    const ids = Array.from({ length: WEBHOOKS }, () => newId('whk', 0))
    const common = { organization_id, created_at: 0, url: '', is_active: 1, state: 'active' } as const
    for (let from = 0; from < WEBHOOKS; from += 100) {
      const some = ids.slice(from, from + 100)
      const encrypted = { secret: Buffer.of(), headers: Buffer.of() }
      await db
        .insertInto('webhooks')
        .values(some.map((id) => ({ ...common, ...encrypted, id })))
        .execute()
      await db
        .insertInto('due_webhooks')
        .values(some.map((id) => ({ webhook_id: id, due_at: null })))
        .execute()
      await db
        .insertInto('group_webhooks')
        .values(some.map((webhook_id) => ({ organization_id, group_id, webhook_id })))
        .execute()
    }
    checks.set('www.example.com', 'TXT', [textOf('a')])
    const monitor = await checks.monitor({ record_type: 'TXT', expected_value: ['a'], is_exact_match: false })
    await checks.check()
    checks.set('www.example.com', 'TXT', [textOf('b')])
    await checks.check()

    const events = await checks.events(monitor)
    expect(events).toMatchObject([{ current_value: [textOf('a')] }, { truncated: true }])
    expect(events[0]).not.toHaveProperty('truncated')
    const { previous_value: previous, current_value: current } = events[1]!
    expect(JSON.stringify([previous, current]).length).toBeLessThanOrEqual(65_536)
    expect([previous![0], current![0]]).toEqual([expect.stringMatching(/^a+…$/), expect.stringMatching(/^b+…$/)])
    expect((await checks.read(monitor)).current_value).toEqual([textOf('b')])
    const count = async () => (await db.selectFrom('webhook_requests').select('body').execute()).length
    expect(await count()).toBe(100)

    const position: FanOutPosition = { after: '' }
    const slices: number[] = []
    for (let made = await fanOut(db, position, 0); made !== undefined; made = await fanOut(db, position, 0))
      slices.push(made)
    expect(Math.max(...slices)).toBeLessThanOrEqual(200)
    const rows = await db.selectFrom('webhook_requests').select(['body', 'event_id', 'webhook_id']).execute()
    expect(new Set(rows.map(({ event_id, webhook_id }) => `${event_id} ${webhook_id}`)).size).toBe(2 * WEBHOOKS)
    expect(rows.reduce((sum, { body }) => sum + body.byteLength, 0)).toBeLessThan(2 * WEBHOOKS * 200)
    const bodies = await db.selectFrom('event_bodies').select('octets').execute()
    expect(bodies).toHaveLength(2)
    for (const { octets } of bodies) expect(octets.byteLength).toBeLessThan(67_000)
  })
})
