import { expect, test } from 'vitest'
import type { Cause } from '#contract/dashboard.ts'
import { insertEvents } from '../events/store.ts'
import { newId } from '../ids.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp } from '../testing/test-app.ts'

const PATH = '/dashboard/api/overview'

onBothEngines('the count of failing monitors', (_fresh, engine) => {
  test('counts failing monitors by where they are, and awaited ones apart in the causes', async () => {
    const world = await givenApp(engine)
    const { db } = world.deps
    const monitors = [...'abcdefgh'].map((name) => ({
      ...{
        full_domain: `${name}.example.com`,
        record_type: 'A',
        expected_value: ['192.0.2.1'],
        is_active: name !== 'g',
      },
      ...(name >= 'e' && { until: 'valid' }),
    }))
    const made = (await world.call('/monitors/bulk', { method: 'POST', body: { monitors } })).body
    const ids = made.map(({ id }: { id: string }) => id) as string[]
    const set = { state: 'NOT_FOUND' as const, current_values: '[]' }
    await db.updateTable('monitors').set(set).where('subdomain', '<>', 'h').execute()
    const { id: organization_id } = await world.organization()
    const shared = { organization_id, zone: 'example.com', state: 'NOT_FOUND', opened_at: 0, monitors: 3 }
    await db
      .insertInto('incidents')
      .values([
        { ...shared, id: 'inc_1', cause: '1', failing: 2 },
        { ...shared, id: 'inc_2', cause: '2', failing: 1, acknowledged_at: 1, acknowledged_by: 'Ada' },
        { ...shared, id: 'inc_3', cause: '3', failing: 0, resolved_at: 1 },
      ])
      .execute()
    const member = { organization_id, incident_id: 'inc_1', event_id: 'evt_1', failing_since: 0 }
    await db
      .insertInto('incident_monitors')
      .values([ids[0]!, ids[1]!, ids[4]!].map((monitor_id) => ({ ...member, monitor_id })))
      .execute()
    const { body } = await world.call(PATH)
    const counted = {
      monitors: 6,
      in_incidents: 3,
      awaited: 1,
      failed_now: 0,
      never_valid: 2,
      incidents: 2,
      acknowledged: 1,
    }
    expect(body.failing).toEqual(counted)
    // Only the failure of c after the last event that became an incident is one of a monitor that was valid.
    const [first, last] = [newId('evt', 1_000), newId('evt', 2_000)]
    const event = {
      organization_id,
      domain: 'example.com',
      record_type: 'A',
      ...{ group_id: '', expected_values: '[]' },
    }
    const known = {
      is_exact_match: 1,
      previous_values: null,
      current_values: null,
      incidence_count: 1,
      diagnosis: null,
    }
    await insertEvents(
      db,
      (
        [
          [first, 'd', 'VALID'],
          [last, 'c', 'VALID'],
          [newId('evt', 3_000), 'd', 'UNSET'],
          [newId('evt', 4_000), 'a', 'VALID'],
        ] as const
      ).map(([id, subdomain, old_state], index) => ({
        ...{ ...event, ...known, id, subdomain, old_state, new_state: 'NOT_FOUND' as const, occurred_at: index },
        monitor_id: ids['abcd'.indexOf(subdomain)]!,
      })) as never,
    )
    await db.updateTable('due_evaluations').set({ due_at: 1, after_event_id: first }).execute()
    expect((await world.call(PATH)).body.failing).toEqual({ ...counted, failed_now: 1, never_valid: 1 })
    expect(body.attention.map(({ count, is_awaited }: Cause) => [count, is_awaited])).toEqual([
      [2, false],
      [1, true],
    ])
    expect(body.incidents.map(({ id }: { id: string }) => id)).toEqual(['inc_1', 'inc_2'])
  })
})
