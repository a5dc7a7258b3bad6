import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { waitUntilBlocked } from '../testing/database.ts'
import { givenMonitors } from '../testing/jobs.ts'
import { givenApp } from '../testing/test-app.ts'
import type { Tables } from './schema.ts'

/** A resource with a limit per organization. `body`: of a new one; a monitor has one planned change. */
type Limited = { path: string; table: keyof Tables; limit: number; body(monitor: string, channel: string): object }

const FROM = '2030-01-01T00:00:00Z'
const LIMITED: Limited[] = [
  { path: '/views', table: 'views', limit: 200, body: () => ({ name: 'Mine' }) },
  {
    path: '/channels',
    table: 'channels',
    limit: 100,
    body: () => ({ name: 'Mail', type: 'email', settings: { owners: true } }),
  },
  {
    path: '/alert-rules',
    table: 'alert_rules',
    limit: 50,
    body: (_, channel) => ({ name: 'All', channels: [channel] }),
  },
  {
    path: '/maintenance-windows',
    table: 'maintenance_windows',
    limit: 50,
    body: () => ({ name: 'Move', from: FROM, to: '2030-01-01T01:00:00Z' }),
  },
  {
    path: '/planned-changes',
    table: 'planned_changes',
    limit: 100,
    body: (monitor_id) => ({ monitor_id, new_value: '192.0.2.9', from: FROM, to: '2030-01-01T01:00:00Z' }),
  },
]

describe('limits per organization (postgres)', () => {
  test.each(LIMITED)('two requests at once do not exceed the limit of $path', async ({ path, table, limit, body }) => {
    const world = await givenApp('postgres')
    const { db } = world.deps
    const monitors = await givenMonitors(world, limit + 1)
    const channel = (await world.call('/channels')).body.data[0].id
    const create = (monitor: string) => world.call(path, { method: 'POST', body: body(monitor, channel) })
    const count = async () => {
      const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)}`.execute(db)
      return Number(rows[0]!.count)
    }
    for (let index = await count(); index < limit - 1; index++)
      expect((await create(monitors[index]!)).status).toBe(201)
    const creating = await db.transaction().execute(async (other) => {
      await sql`lock table audit_log in share mode`.execute(other)
      const answers = Promise.all(monitors.slice(-2).map(create))
      await waitUntilBlocked(db, 2) // the first to write its last row
      return { answers }
    })
    const answers = await creating.answers
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409])
    expect(answers.find(({ status }) => status === 409)!.text).toContain(`at most ${limit} `)
    expect(await count()).toBe(limit)
  })
})
