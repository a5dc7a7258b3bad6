import { expect, test } from 'vitest'
import { insertOrganization } from '../accounts/organizations.ts'
import { secondFactorContext } from '../accounts/second-factor.ts'
import { channelContext } from '../alerts/channel.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { findStoredRequest, storeRequest } from '../http/idempotency-store.ts'
import { createKeyring, type Keyring } from '../keyring.ts'
import { onBothEngines } from '../testing/database.ts'
import { headersContext, openHeaders, secretContext } from '../webhooks/webhook.ts'
import { adoptKey, needsPrevious } from './current-key.ts'
import { reencrypt } from './reencrypt.ts'
import { rotate } from './rotate.ts'

const OLD = 'the secret that the database was made with'
const NEW = 'the secret that is used from now on, for all'
const NOW = Date.UTC(2026, 10, 22)
const WEBHOOKS = 230

/** Time passes while somebody waits, and `onSleep` is what happens meanwhile. */
function givenClock(onSleep: () => Promise<void> = async () => {}): Clock {
  let passed = 0
  return {
    now: () => NOW + passed,
    elapsed: () => passed,
    async sleep(ms) {
      passed += ms
      await onSleep()
    },
  }
}

async function givenEncrypted(db: Database) {
  const old = createKeyring(OLD)
  expect(await adoptKey(db, old)).toBe('ok')
  const given = { name: 'Test', email: 'owner@example.com', passwordHash: '' }
  const { id: organizationId, ownerId } = await insertOrganization(db, given, NOW)
  const ids = Array.from({ length: WEBHOOKS }, (_, index) => `whk_${String(index).padStart(3, '0')}`)
  const rows = ids.map((id, index) => ({
    ...{ id, organization_id: organizationId, created_at: NOW, url: 'http://127.0.0.1/' },
    secret: old.encrypt(`secret ${index}`, secretContext(id)),
    previous_secret: index === 0 ? old.encrypt('before', secretContext(id)) : null,
    headers: old.encrypt(JSON.stringify({ 'x-a': `h${index}` }), headersContext(id)),
    ...{ is_active: 1 as const, state: 'active' as const },
  }))
  await db.insertInto('webhooks').values(rows).execute()
  const request = { organizationId, owner: 'org_1', name: 'a'.repeat(64), fingerprint: 'f' }
  const response = { status: 201, headers: {}, body: 'the answer' }
  await storeRequest(db, old, request, { result: undefined, response, maxBytes: 1e9 }, NOW)
  const { person_id } = await db
    .selectFrom('agents')
    .select('person_id')
    .where('id', '=', ownerId)
    .executeTakeFirstOrThrow()
  const sealed = old.encrypt('the factor', secondFactorContext(person_id))
  await db.insertInto('second_factors').values({ person_id, sealed }).execute()
  const channel = {
    organization_id: organizationId,
    id: 'chn_1',
    created_at: NOW,
    name: 'A',
    type: 'http',
    settings: '{}',
  }
  const secrets = old.encrypt('the channel', channelContext('chn_1'))
  await db
    .insertInto('channels')
    .values({ ...channel, secrets })
    .execute()
  /** Everything, as a process that knows these keys reads it. */
  const read = async (keyring: Keyring) => {
    const found = await db.selectFrom('webhooks').selectAll().orderBy('id').execute()
    for (const [index, row] of found.entries()) {
      expect(openHeaders(row, keyring)).toEqual({ 'x-a': `h${index}` })
      expect(keyring.decrypt(row.secret, secretContext(row.id))).toBe(`secret ${index}`)
    }
    expect(keyring.decrypt(found[0]!.previous_secret!, secretContext(found[0]!.id))).toBe('before')
    expect(await findStoredRequest(db, keyring, request, NOW)).toEqual({ kind: 'responded', response })
    const factor = await db.selectFrom('second_factors').select('sealed').executeTakeFirstOrThrow()
    expect(keyring.decrypt(factor.sealed, secondFactorContext(person_id))).toBe('the factor')
    const row = await db.selectFrom('channels').select('secrets').where('id', '=', 'chn_1').executeTakeFirstOrThrow()
    expect(keyring.decrypt(row.secrets!, channelContext('chn_1'))).toBe('the channel')
  }
  return { old, ids, read }
}

onBothEngines('a rotation of SECRET', (fresh) => {
  test('leaves nothing that needs the key before, and everything can be read after each batch of it', async () => {
    const db = await fresh()
    const { read, old } = await givenEncrypted(db)
    await read(old)
    const keyring = createKeyring(NEW, OLD)
    expect(await adoptKey(db, keyring)).toBe('ok')
    let batches = 0
    const onBatch = async () => {
      batches++
      if (batches <= 4) await read(createKeyring(NEW, OLD))
    }
    const count = await rotate({ db, keyring, clock: givenClock(), say: () => {}, onBatch }, createKeyring(NEW).keyId)
    // A secret and headers of each webhook, the secret before of one, a channel, an answer, a second factor.
    expect(count).toBe(2 * WEBHOOKS + 4)
    expect(batches).toBeGreaterThan(4)
    await read(createKeyring(NEW))
    expect(await needsPrevious(db)).toBe(false)
    expect(await adoptKey(db, createKeyring(NEW))).toBe('ok')
    expect(await reencrypt(db, keyring)).toBe(0)
  })

  test('waits for processes that do not know the new key, then for those that still use the old one', async () => {
    const db = await fresh()
    await adoptKey(db, createKeyring(OLD))
    const [oldId, newId] = [createKeyring(OLD).keyId, createKeyring(NEW).keyId]
    const set = (row: object) => db.updateTable('processes').set(row).execute()
    const row = { pid: 7, machine: 'm', started_at: 0, seen_at: NOW + 60_000, secret_keys: oldId, secret_key: oldId }
    await db.insertInto('processes').values(row).execute()
    const said: string[] = []
    const keyring = createKeyring(NEW, OLD)
    await adoptKey(db, keyring)
    const run = (clock: Clock) => rotate({ db, keyring, clock, say: (sentence) => void said.push(sentence) }, newId)
    await expect(run(givenClock())).rejects.toThrow(
      'Process 7 on m does not know the new SECRET yet. Start every node with both SECRET and SECRET_PREVIOUS, then run this again; nothing is lost.',
    )
    expect(said).toEqual([])
    expect(keyring.keyId).toBe(oldId)
    let sleeps = 0
    await run(
      givenClock(async () => {
        sleeps++
        if (sleeps === 3) await set({ secret_keys: `${oldId},${newId}` })
        if (sleeps === 6) expect(said).toHaveLength(1)
        if (sleeps === 6) await set({ secret_key: newId })
      }),
    )
    expect(sleeps).toBeGreaterThanOrEqual(6)
    expect(keyring.keyId).toBe(newId)
  })

  test('broken off in the middle it says that it is not over, and goes on where it is begun again', async () => {
    const db = await fresh()
    const { read } = await givenEncrypted(db)
    const next = createKeyring(NEW).keyId
    const run = async (onBatch = async () => {}) => {
      const keyring = createKeyring(NEW, OLD)
      expect(await adoptKey(db, keyring)).toBe('ok')
      return await rotate({ db, keyring, clock: givenClock(), say: () => {}, onBatch }, next)
    }
    const killed = run(async () => {
      throw new Error('killed')
    })
    await expect(killed).rejects.toThrow('killed')
    expect(await needsPrevious(db)).toBe(true)
    await read(createKeyring(NEW, OLD))
    expect(await adoptKey(db, createKeyring(NEW))).toBe('previous secret missing')
    expect(await run()).toBe(2 * (WEBHOOKS - 200) + 3)
    await read(createKeyring(NEW))
  })

  test('encrypts what an old process wrote meanwhile', async () => {
    const db = await fresh()
    const { old, ids, read } = await givenEncrypted(db)
    const keyring = createKeyring(NEW, OLD)
    await adoptKey(db, keyring)
    let isWritten = false
    const onBatch = async () => {
      if (isWritten) return
      isWritten = true
      const id = ids[0]!
      const { headers } = await db
        .selectFrom('webhooks')
        .select('headers')
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
      const text = keyring.decrypt(headers, headersContext(id))
      await db
        .updateTable('webhooks')
        .set({ headers: old.encrypt(text, headersContext(id)) })
        .where('id', '=', id)
        .execute()
    }
    await rotate({ db, keyring, clock: givenClock(), say: () => {}, onBatch }, createKeyring(NEW).keyId)
    await read(createKeyring(NEW))
  })
})

test('what was signed under the key before stays good while it is known', () => {
  const old = createKeyring(OLD)
  const keyring = createKeyring(NEW, OLD)
  const signature = old.sign('cursor')
  expect(keyring.verify('cursor', signature)).toBe(true)
  expect(keyring.verify('another', signature)).toBe(false)
  expect(createKeyring(NEW).verify('cursor', signature)).toBe(false)
  expect(keyring.sign('link', old.keyId).equals(old.sign('link'))).toBe(true)
  expect(keyring.sign('link', 'ffffffff').equals(createKeyring(NEW).sign('link'))).toBe(true)
})
