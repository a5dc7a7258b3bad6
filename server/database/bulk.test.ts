import { expect, test } from 'vitest'
import { onBothEngines } from '../testing/database.ts'
import { insertEach, updateEach } from './bulk.ts'

onBothEngines('columns of bulk statements', (fresh) => {
  test('a misspelt column, a column of another type and a row without a column neither compile nor run', async () => {
    const db = await fresh()
    const row = { subject: 'mails', since: 1, new_count: 2, new_cuont: 2 }
    const text = { subject: 'text' } as const
    const table = 'hourly_counts' as const

    // @ts-expect-error: there is no such column.
    const inserted = insertEach(db, table, { ...text, since: 'bigint', cuont: 'bigint' }, [{ ...row, cuont: 2 }])
    await expect(inserted).rejects.toThrow()
    // @ts-expect-error: the row has no count.
    const incomplete = insertEach(db, table, { ...text, since: 'bigint', count: 'bigint' }, [row])
    await expect(incomplete).rejects.toThrow()
    // @ts-expect-error: there is no such column.
    const updated = updateEach(db, { table, key: text, set: { cuont: 'bigint' } }, [row])
    await expect(updated).rejects.toThrow()
    await insertEach(db, table, { ...text, since: 'bigint', count: 'bigint' }, [{ ...row, count: 1 }])
    // @ts-expect-error: the column has numbers.
    const mistyped = updateEach(db, { table, key: text, set: { count: 'text' } }, [{ ...row, new_count: 'many' }])
    await expect(mistyped).rejects.toThrow()
  })
})
