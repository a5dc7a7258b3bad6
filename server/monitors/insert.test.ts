import { describe, expect, test } from 'vitest'
import { systemContext } from '../context.ts'
import { inTransaction } from '../database/database.ts'
import { lockOrganization } from '../database/tenant-row.ts'
import { resolveGroups } from '../groups/resolve.ts'
import { onBothEngines, waitUntilBlocked } from '../testing/database.ts'
import { givenApp } from '../testing/test-app.ts'
import { insertDueChecks } from './schedule.ts'
import { SLOTS } from './slots.ts'

const newPlaces = (name: string, slots: number[]) =>
  slots.map((slot, place) => ({
    id: `mon_${name}_${place}`,
    organization_id: 'org_1',
    slot,
    is_active: 1 as const,
    owner: 'example.com',
    record_type: 'A',
    is_exact_match: 1 as const,
    frequency: 5,
  }))

onBothEngines('the slots of new monitors', (fresh, engine) => {
  test('are the next free ones if their own are taken, and are all different', async () => {
    const db = await fresh()
    await insertDueChecks(db, newPlaces('other', [2 ** 51, 2 ** 51 + 1, 2 ** 51 + 3, SLOTS - 1]), 0)
    const rows = newPlaces('new', [2 ** 51, 7, 7, 2 ** 51, SLOTS - 1])
    await insertDueChecks(db, rows, 0)
    expect(rows.map(({ slot }) => slot)).toEqual([2 ** 51 + 2, 7, 8, 2 ** 51 + 4, 0])
    const stored = await db.selectFrom('due_checks').select(['slot', 'monitor_id as id']).execute()
    for (const { id, slot } of rows) expect(stored).toContainEqual({ id, slot })
  })

  test('are assigned to all of many transactions that request the same ones', async () => {
    const db = await fresh()
    const wanted = [9, 7, 8, 7, 12]
    await Promise.all(
      Array.from({ length: 8 }, (_, number) =>
        inTransaction(db, (transaction) => insertDueChecks(transaction, newPlaces(`n${number}`, wanted), 0)),
      ),
    )
    const stored = await db.selectFrom('due_checks').select('slot').orderBy('slot').execute()
    expect(stored.map(({ slot }) => slot)).toEqual(Array.from({ length: 40 }, (_, index) => 7 + index))
  })

  test('cause no deadlock between simultaneous requests', async () => {
    const world = await givenApp(engine)
    const body = { full_domain: 'www.example.com', record_type: 'A', expected_value: ['192.0.2.1'], group: 'shop' }
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => world.call('/monitors', { method: 'POST', body })),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(30).fill(201))
  })
})

describe('monitors with external ids (postgres)', () => {
  test('and an update that creates the same group do not deadlock', async () => {
    const world = await givenApp('postgres')
    const { db, clock } = world.deps
    const { id } = await world.organization()
    const monitor = { full_domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1' }
    const body = { ...monitor, group: 'shop', external_id: 'mine' }
    const creating = await db.transaction().execute(async (other) => {
      await lockOrganization(other, id)
      const answer = world.call('/monitors', { method: 'POST', body })
      await waitUntilBlocked(db)
      await resolveGroups(other, systemContext(id, clock.now()), new Set(['shop']))
      return { answer }
    })
    expect((await creating.answer).status).toBe(201)
  })
})
