import { expect, test } from 'vitest'
import { givenSignedInBrowser, signIn } from '../testing/accounts.ts'
import { openBrowser } from '../testing/browser.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp } from '../testing/test-app.ts'
import { eventually } from '../testing/test-server.ts'
import { countAttempt } from './attempt-limits.ts'
import { pruneAccess } from './prune.ts'

const DAY = 24 * 60 * 60_000

onBothEngines('expired sessions, links and attempts', (_fresh, engine) => {
  test('are deleted, and the others stay', async () => {
    const world = await givenApp(engine)
    const { db, clock } = world.deps
    await givenSignedInBrowser(world, { name: 'Ada' })
    const request = { body: { email: 'ada@example.com' } }
    await openBrowser(world).call('/dashboard/auth/request-password-reset', request)
    const tables = ['sessions', 'account_tokens', 'attempts'] as const
    const counts = () =>
      Promise.all(tables.map(async (table) => (await db.selectFrom(table).selectAll().execute()).length))
    await eventually(counts, ([, links]) => links === 1)
    const before = await counts()

    expect(await pruneAccess(db, clock.now())).toBe(false)
    expect(await counts()).toEqual(before)
    world.pass(29 * DAY)
    await countAttempt(db, { subject: 'account eve', free: 5 }, clock.now())
    await pruneAccess(db, clock.now())
    expect(await counts()).toEqual([1, 0, 1])
    world.pass(DAY)
    await pruneAccess(db, clock.now())
    expect((await counts())[0]).toBe(0)
    await signIn(openBrowser(world), 'ada@example.com')
  })
})
