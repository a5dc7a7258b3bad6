import { expect, test } from 'vitest'
import type { Database } from '../database/database.ts'
import { createKeyring } from '../keyring.ts'
import { onBothEngines } from '../testing/database.ts'
import { adoptKey, followKey, switchKey } from './current-key.ts'

const OWN = 'the secret that the database was made with'
const OTHER = 'another secret, which decrypts nothing of it at all'

const isOwnSecret = async (db: Database, secret: string) => (await adoptKey(db, createKeyring(secret))) === 'ok'

onBothEngines('the SECRET of a database', (fresh) => {
  test('is that of its first start; no other one is taken from then on', async () => {
    const db = await fresh()
    expect(await isOwnSecret(db, OWN)).toBe(true)
    expect(await isOwnSecret(db, OTHER)).toBe(false)
    expect(await isOwnSecret(db, OWN)).toBe(true)
  })

  test('is, in a database of before, that which encrypted what is in it', async () => {
    const db = await fresh()
    await db.insertInto('organizations').values({ id: 'org_1', created_at: 0, name: 'One', slug: 'one' }).execute()
    const encrypted = (text: string) => createKeyring(OWN).encrypt(text, 'any')
    const webhook = { id: 'whk_1', organization_id: 'org_1', created_at: 0, url: 'https://receiver.example/' }
    const values = {
      ...webhook,
      secret: encrypted('a'),
      headers: encrypted('{}'),
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
    const old = createKeyring(OWN)
    const one = createKeyring(OTHER, OWN)
    const two = createKeyring(OTHER, OWN)
    for (const keyring of [one, two]) expect(await adoptKey(db, keyring)).toBe('ok')
    expect([one.keyId, two.keyId]).toEqual([old.keyId, old.keyId])
    const next = createKeyring(OTHER).keyId
    await switchKey(db, one, next)
    expect([one.keyId, two.keyId]).toEqual([next, old.keyId])
    // Each decrypts what the other encrypts.
    expect(two.decrypt(one.encrypt('a', 'x'), 'x') + one.decrypt(two.encrypt('b', 'x'), 'x')).toBe('ab')
    expect(await followKey(db, two)).toBe(true)
    expect(two.keyId).toBe(next)
    expect(await followKey(db, old)).toBe(false)
    expect(await adoptKey(db, createKeyring(OTHER))).toBe('previous secret missing')
    expect(await adoptKey(db, createKeyring(OWN))).toBe('other secret')
  })
})
