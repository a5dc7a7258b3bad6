import { expect, test } from 'vitest'
import type { Database } from '../database/database.ts'
import { onBothEngines } from '../testing/database.ts'
import { findActiveKey } from './api-key-store.ts'
import { lastUsedWriter } from './authenticate.ts'
import { insertOrganization } from './organizations.ts'

const NOW = Date.UTC(2026, 0, 1)

onBothEngines('the last use of a key', (fresh) => {
  test('is written once for concurrent requests, and at most once a minute', async () => {
    const db = await fresh()
    const { key } = await insertOrganization(db, { name: 'Test', email: 'a@example.com', passwordHash: '' }, NOW)
    let writes = 0
    const setUsed = lastUsedWriter(
      watched(db, () => writes++),
      'api_keys',
      'last_used_at',
    )
    const use = async (now: number) => {
      const row = (await findActiveKey(db, key, now))!
      await setUsed(row, row.last_used_at, now)
    }

    await Promise.all(Array.from({ length: 20 }, () => use(NOW)))
    await use(NOW + 59_999)
    expect(writes).toBe(1)

    await use(NOW + 60_000)
    expect(writes).toBe(2)
    expect((await findActiveKey(db, key, NOW))?.last_used_at).toBe(NOW + 60_000)
  })
})

/** Calls a function for every statement. */
function watched(db: Database, onStatement: () => void): Database {
  return db.withPlugin({
    transformQuery: ({ node }) => {
      onStatement()
      return node
    },
    transformResult: async ({ result }) => result,
  })
}
