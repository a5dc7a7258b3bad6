import { expect, test } from 'vitest'
import { givenSignedInBrowser } from '../testing/accounts.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp } from '../testing/test-app.ts'

onBothEngines('the mails of an organization', (_fresh, engine) => {
  const INVITE = { method: 'POST', body: { email: 'grace@example.com' } }

  test('are shown to admins, with links if the server sends no mail', async () => {
    const world = await givenApp(engine)
    await world.call('/agents/invitations', INVITE)
    const admin = await givenSignedInBrowser(world, { name: 'Ada', role: 'admin' })
    const member = await givenSignedInBrowser(world, { name: 'Mia' })
    const { data } = (await admin.call('/dashboard/api/mails')).body
    expect(data).toMatchObject([{ recipient: 'grace@example.com', status: 'waiting', error: null }])
    expect(data[0].text).toMatch(/\/dashboard\/invitations\/[\w-]{22}\n/)
    expect((await member.call('/dashboard/api/mails')).status).toBe(403)
  })

  test('are shown without links if the server sends mail', async () => {
    const world = await givenApp(engine, { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'zonewatch@example.com' })
    await world.call('/agents/invitations', INVITE)
    const admin = await givenSignedInBrowser(world, { name: 'Ada', role: 'admin' })
    const { data } = (await admin.call('/dashboard/api/mails')).body
    expect(data[0].text).not.toMatch(/\/dashboard\/invitations\/[\w-]{22}/)
  })
})
