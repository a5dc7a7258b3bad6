import { expect, test } from 'vitest'
import type { Database } from '../database/database.ts'
import { onBothEngines } from '../testing/database.ts'
import { findLiveKey, touchKey } from './api-keys.ts'
import { insertOrganization } from './organizations.ts'

const NOW = Date.UTC(2026, 0, 1)

onBothEngines('when a key was last used', (fresh) => {
  test('is written once for a crowd of requests, and not again within a minute', async () => {
    const db = await fresh()
    const { key } = await insertOrganization(db, { name: 'Test', email: 'a@example.com', passwordHash: '' }, NOW)
    let writes = 0
    const touch = touchKey(watched(db, () => writes++))
    const use = async (now: number) => await touch((await findLiveKey(db, key, now))!, now)

    await Promise.all(Array.from({ length: 20 }, () => use(NOW)))
    await use(NOW + 59_999)
    expect(writes).toBe(1)

    await use(NOW + 60_000)
    expect(writes).toBe(2)
    expect((await findLiveKey(db, key, NOW))?.last_used_at).toBe(NOW + 60_000)
  })
})

/** The same database, with a look at every statement. */
function watched(db: Database, onStatement: () => void): Database {
  return db.withPlugin({
    transformQuery: ({ node }) => {
      onStatement()
      return node
    },
    transformResult: async ({ result }) => result,
  })
}
