import { expect, test } from 'vitest'
import { createSeal } from '../seal.ts'
import { onBothEngines } from '../testing/database.ts'
import { isOwnSecret } from './secret-check.ts'

const OWN = 'the secret that the database was made with'
const OTHER = 'another secret, which opens nothing of it at all'

onBothEngines('the SECRET of a database', (fresh) => {
  test('is that of its first start; no other one is taken from then on', async () => {
    const db = await fresh()
    expect(await isOwnSecret(db, OWN)).toBe(true)
    expect(await isOwnSecret(db, OTHER)).toBe(false)
    expect(await isOwnSecret(db, OWN)).toBe(true)
  })

  test('is, in a database of before, that which sealed what is in it', async () => {
    const db = await fresh()
    await db.insertInto('organizations').values({ id: 'org_1', created_at: 0, name: 'One', slug: 'one' }).execute()
    const sealed = (text: string) => createSeal(OWN).close(text, 'any')
    const webhook = { id: 'whk_1', organization_id: 'org_1', created_at: 0, url: 'https://receiver.example/' }
    const values = {
      ...webhook,
      secret: sealed('a'),
      headers: sealed('{}'),
      is_active: 1 as const,
      state: 'active' as const,
    }
    await db.insertInto('webhooks').values(values).execute()
    expect(await isOwnSecret(db, OTHER)).toBe(false)
    expect(await isOwnSecret(db, OWN)).toBe(true)
  })

  test('is one for all processes that start at once', async () => {
    const db = await fresh()
    const taken = await Promise.all([OWN, OTHER, OWN, OTHER].map((secret) => isOwnSecret(db, secret)))
    expect([taken[0], taken[1]].sort()).toEqual([false, true])
    expect([taken[2], taken[3]]).toEqual([taken[0], taken[1]])
  })
})
