import { hashPassword } from 'better-auth/crypto'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { givenApp } from '../../testing/app-world.ts'
import { openBrowser } from '../../testing/browser.ts'
import { newDatabaseUrl, onBothEngines } from '../../testing/database.ts'
import { openDatabase } from '../database.ts'
import { migrate } from '../migrate.ts'

onBothEngines('a database from before there were accounts', (_fresh, engine) => {
  test('keeps its people with their passwords, and its mails that wait', async () => {
    const { url, drop } = await newDatabaseUrl(engine)
    onTestFinished(drop)
    const before = openDatabase(url)
    await migrate(before, 0, 4)
    const content = JSON.stringify({ kind: 'webhook_active', organization: 'Acme', url: 'https://example.com' })
    const password = await hashPassword('correct horse')
    for (const statement of [
      sql`insert into organizations (id, created_at, name, slug) values ('org_1', 1, 'Acme', 'acme')`,
      sql`insert into people (id, created_at, email, name, password_hash) values
        ('usr_1', 1, 'ada@example.com', 'Ada', ${password}), ('usr_2', 2, 'eve@example.com', 'Eve', null),
        ('usr_3', 3, 'old@example.com', 'Old', '')`,
      sql`insert into agents (id, organization_id, person_id, created_at, name, email, role)
        values ('agt_1', 'org_1', 'usr_1', 1, 'Ada', 'ada@example.com', 'owner')`,
      sql`insert into mails (id, organization_id, created_at, about, recipient, content, status)
        values ('mail_1', 'org_1', 1, 'inv_1', 'eve@example.com', ${content}, 'waiting')`,
      sql`insert into due_mails (mail_id, organization_id, due_at) values ('mail_1', 'org_1', 1)`,
    ]) {
      await statement.execute(before)
    }
    await before.destroy()

    const world = await givenApp(engine, {}, url)

    const { db } = world.doors
    expect(await db.selectFrom('credentials').select(['id', 'person_id', 'password']).execute()).toEqual([
      { id: 'crd_1', person_id: 'usr_1', password },
    ])
    expect(await db.selectFrom('due_mails').select(['mail_id', 'due_at']).execute()).toEqual([
      { mail_id: 'mail_1', due_at: 1 },
    ])
    const browser = openBrowser(world)
    const body = { email: 'ada@example.com', password: 'correct horse' }
    expect((await browser.call('/dashboard/auth/sign-in/email', { body })).status).toBe(200)
    expect((await browser.call('/dashboard/api/mails')).status).toBe(200)
    await db.deleteFrom('mails').execute()
    expect(await db.selectFrom('due_mails').selectAll().execute()).toEqual([])
  })
})
