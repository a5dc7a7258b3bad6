import { expect, test } from 'vitest'
import type { Database } from '../database/database.ts'
import { createSeal } from '../seal.ts'
import { onBothEngines } from '../testing/database.ts'
import { adoptKey, followKey, switchKey } from './current-key.ts'

const OWN = 'the secret that the database was made with'
const OTHER = 'another secret, which opens nothing of it at all'

const isOwnSecret = async (db: Database, secret: string) => (await adoptKey(db, createSeal(secret))) === 'ok'

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

  test('is that of the database where several are known, until it is switched for all processes', async () => {
    const db = await fresh()
    expect(await isOwnSecret(db, OWN)).toBe(true)
    const old = createSeal(OWN)
    const one = createSeal(OTHER, OWN)
    const two = createSeal(OTHER, OWN)
    for (const seal of [one, two]) expect(await adoptKey(db, seal)).toBe('ok')
    expect([one.keyId, two.keyId]).toEqual([old.keyId, old.keyId])
    const next = createSeal(OTHER).keyId
    await switchKey(db, one, next)
    expect([one.keyId, two.keyId]).toEqual([next, old.keyId])
    // Both open what either seals.
    expect(two.open(one.close('a', 'x'), 'x') + one.open(two.close('b', 'x'), 'x')).toBe('ab')
    expect(await followKey(db, two)).toBe(true)
    expect(two.keyId).toBe(next)
    expect(await followKey(db, old)).toBe(false)
    expect(await adoptKey(db, createSeal(OTHER))).toBe('previous secret missing')
    expect(await adoptKey(db, createSeal(OWN))).toBe('other secret')
  })
})
