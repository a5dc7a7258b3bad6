import { expect, test } from 'vitest'
import { onBothEngines } from '../testing/database.ts'
import { takeFreeSlots } from './insert.ts'

onBothEngines('the slots of new monitors', (fresh) => {
  test('are the next ones where another monitor has theirs, and differ among themselves', async () => {
    const db = await fresh()
    const other = {
      slot: 2 ** 51,
      monitor_id: 'mon_1',
      organization_id: 'org_1',
      owner: 'example.com',
      record_type: 'A',
      is_exact_match: 1 as const,
      frequency: 5,
      streak: 0,
      doubts: 0,
    }
    await db.insertInto('due_checks').values(other).execute()
    const rows = [2 ** 51, 7, 7, 2 ** 51].map((slot) => ({ slot }))
    await takeFreeSlots(db, rows)
    expect(rows.map(({ slot }) => slot)).toEqual([2 ** 51 + 1, 7, 8, 2 ** 51 + 2])
  })
})
