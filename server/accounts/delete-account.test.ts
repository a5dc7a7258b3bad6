import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { inTransaction } from '../database/database.ts'
import { readSchema } from '../database/table-schema.ts'
import { queueMail } from '../mail/outbox.ts'
import {
  currentCode,
  givenSecondFactor,
  givenSignedInBrowser,
  givenUser,
  nextCode,
  PASSWORD,
} from '../testing/accounts.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'
import { DAY_MS } from '../times.ts'
import { deleteAccount } from './delete-account.ts'
import { pruneAccess } from './prune.ts'
import { lockAccount } from './users.ts'

const DELETE = '/dashboard/auth/delete-account'

onBothEngines('the deletion of an account', (_, engine) => {
  test('leaves every organization and nothing about the person but the audit logs', async () => {
    const world = await givenApp(engine)
    const browser = await givenSignedInBrowser(world, {
      name: 'Ada',
      role: 'admin',
      organizations: ['First', 'Second'],
    })
    const { id: userId } = (await browser.call('/dashboard/api/me')).body.person
    const created = (await browser.call('/api-keys', { body: { name: 'of Ada', role: 'write' } })).body
    await browser.call('/agents/invitations', { body: { email: 'friend@example.com' } })
    expect((await world.call('/organization', { key: created.key })).status).toBe(200)
    const wrong = await browser.call(DELETE, { body: { password: 'a wrong password' } })
    expect(wrong.body.errors).toEqual({ password: 'is wrong.' })

    expect((await browser.call(DELETE, { body: { password: PASSWORD } })).body).toEqual({ status: true })
    expect((await browser.call('/dashboard/api/me')).status).toBe(401)
    const signedIn = await browser.call('/dashboard/auth/sign-in/email', {
      body: { email: 'ada@example.com', password: PASSWORD },
    })
    expect(signedIn.status).toBe(401)
    expect((await world.call('/organization', { key: created.key })).status).toBe(401)
    const invitations = (await world.call('/agents/invitations')).body.data
    expect(invitations.map(({ state }: { state: string }) => state)).toEqual(['revoked'])
    // It is deleted within minutes.
    expect(await tablesWith(world, userId)).toEqual(['rate_log.bucket'])
    expect(await tablesWith(world, 'ada@example.com')).toEqual(['audit_log.changed_from'])
    for (const name of ['First', 'Second']) {
      const { key } = await world.organization(name)
      const { data } = (await world.call('/audit-log?action=agent.removed', { key })).body
      expect(data).toHaveLength(1)
      expect(data[0]).toMatchObject({ actor: { type: 'person', label: 'Ada' }, object: { label: 'Ada' }, after: null })
    }
  })

  test('is refused for the last owner of an organization, and changes nothing then', async () => {
    const world = await givenApp(engine)
    const { db, clock } = world.deps
    const browser = await givenSignedInBrowser(world, { name: 'Ada', organizations: ['First', 'Second'] })
    const { id } = await world.organization('Second')
    await sql`delete from agents where organization_id = ${id} and role = 'owner'`.execute(db)
    await sql`update agents set role = 'owner' where organization_id = ${id}`.execute(db)
    const refused = await browser.call(DELETE, { body: { password: PASSWORD } })
    expect(refused.status).toBe(409)
    expect(refused.headers['x-error-code']).toBe('last_owner')
    expect(refused.body.error).toBe(
      'ada@example.com is the last owner of Second. Give another member the role owner there, or delete the organization first.',
    )
    expect((await browser.call('/dashboard/api/me')).body.organizations).toHaveLength(2)

    // Two owners who leave at the same time would each see the other.
    const other = await givenUser(world, { name: 'Bob', role: 'owner', organizations: ['Second'] })
    const me = (await browser.call('/dashboard/api/me')).body.person
    const leave = (userId: string) =>
      inTransaction(db, async (transaction) => {
        const account = (await lockAccount(transaction, userId))!
        return await deleteAccount(transaction, account, { requestId: null, address: null, now: clock.now() })
      })
    const results = await Promise.allSettled([leave(me.id), leave(other.id)])
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  test('needs a code with two-factor authentication', async () => {
    const { browser, uri } = await givenSecondFactor(await givenApp(engine))
    const refused = await browser.call(DELETE, { body: { password: PASSWORD } })
    expect(refused.status).toBe(400)
    expect(Object.keys(refused.body.errors)).toEqual(['code'])
    const used = await browser.call(DELETE, { body: { password: PASSWORD, code: currentCode(uri) } })
    expect(used.status).toBe(400)
    expect((await browser.call(DELETE, { body: { password: PASSWORD, code: nextCode(uri) } })).status).toBe(200)
  })
})

onBothEngines('the own data', (_, engine) => {
  test('is everything that is stored about the person, without secrets and without others', async () => {
    const world = await givenApp(engine)
    const { browser } = await givenSecondFactor(world)
    await givenSignedInBrowser(world, { name: 'Bob' })
    const response = await browser.call('/dashboard/api/me/data')
    expect(response.headers['content-disposition']).toMatch(/^attachment; filename="zonewatch-\d{4}-\d\d-\d\d\.json"$/)
    const { person, organizations, sessions } = response.body
    expect(person).toMatchObject({ name: 'Ada', email: 'ada@example.com', two_factor: true })
    expect(organizations).toHaveLength(1)
    expect(organizations[0]).toMatchObject({ name: 'First', role: 'member', notification_email: null })
    expect(organizations[0].audit_log.map(({ action }: { action: string }) => action)).toContain('agent.signed_in')
    expect(sessions).toHaveLength(1)
    expect(response.text).not.toMatch(/Bob|bob@/)
    const row = await world.deps.db
      .selectFrom('people')
      .select('password_hash')
      .where('email', '=', 'ada@example.com')
      .executeTakeFirstOrThrow()
    expect(response.text).not.toContain(row.password_hash!)
    expect((await world.call('/dashboard/api/me/data')).status).toBe(401)
  })

  test.each([
    ['shows and deletes no mails of other organizations to an address that was never confirmed', 0],
    ['has the mails of all organizations to a confirmed address', 1],
  ] as const)('%s', async (_, email_verified) => {
    const world = await givenApp(engine)
    const { db, clock } = world.deps
    const browser = await givenSignedInBrowser(world, { name: 'Ada' })
    await db.updateTable('people').set({ email_verified }).where('email', '=', 'ada@example.com').execute()
    for (const name of ['First', 'Second']) {
      const { id } = await world.organization(name)
      const content = { kind: 'organization_deletion', organization: name, by: 'Bob', at: clock.now() } as const
      await queueMail(db, id, { about: id, recipients: ['ada@example.com'], content }, clock.now())
    }
    const { mails } = (await browser.call('/dashboard/api/me/data')).body
    expect(mails).toHaveLength(1 + email_verified)
    expect((await browser.call(DELETE, { body: { password: PASSWORD } })).status).toBe(200)
    const left = await db.selectFrom('mails').select('organization_id').execute()
    expect(left).toEqual(email_verified ? [] : [{ organization_id: (await world.organization('Second')).id }])
  })

  test('of people who never accepted an invitation is deleted 30 days after it expired', async () => {
    const world = await givenApp(engine)
    const { db, clock } = world.deps
    await world.call('/agents/invitations', { method: 'POST', body: { email: 'never@example.com' } })
    const states = async () => (await world.call('/agents/invitations')).body.data
    world.pass(37 * DAY_MS - 60_000)
    await pruneAccess(db, clock.now())
    expect(await states()).toHaveLength(1)
    world.pass(120_000)
    await pruneAccess(db, clock.now())
    expect(await states()).toEqual([])
  })
})

/** Columns of all tables with this text. */
async function tablesWith({ deps: { db } }: TestApp, text: string): Promise<string[]> {
  const found: string[] = []
  for (const { name, columns } of await readSchema(db)) {
    for (const [column, type] of Object.entries(columns)) {
      if (type !== 'text') continue
      const { rows } = await sql`select 1 as one from ${sql.table(name)} where ${sql.ref(column)} like ${`%${text}%`}
        limit 1`.execute(db)
      if (rows.length > 0) found.push(`${name}.${column}`)
    }
  }
  return found
}
