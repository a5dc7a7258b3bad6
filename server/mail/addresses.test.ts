import { expect, test } from 'vitest'
import { givenSignedInBrowser, givenUser } from '../testing/accounts.ts'
import { onBothEngines } from '../testing/database.ts'
import type { Settings } from '../testing/server-process.ts'
import { type MailServer, startMailServer } from '../testing/smtp.ts'
import { givenApp } from '../testing/test-app.ts'
import { DAY_MS, HOUR_MS } from '../times.ts'
import { notifyAboutWebhook } from './notifications.ts'
import { createMailSender } from './smtp.ts'
import { sendDueMails } from './worker.ts'

const STRANGER = 'stranger@example.org'
const PAUSED = { kind: 'webhook_paused', url: 'https://hooks.example.com/', error: 'no', statusCode: null } as const

onBothEngines('the addresses of an organization', (_fresh, engine) => {
  test('receive no alerts before their holder confirms them, and none after unsubscribing', async () => {
    const { world, mail, addChannel, testChannel, linkFrom, post } = await givenMail(engine)
    const channel = await addChannel(['Stranger@Example.org', 'owner@first.example'])
    expect(await testChannel(channel)).toEqual(['owner@first.example'])

    const confirm = await linkFrom(STRANGER, 'confirm')
    expect((await world.call(confirm, { key: null })).body).toMatchObject({ email: STRANGER })
    expect(await testChannel(channel)).toEqual(['owner@first.example'])
    expect(await post(confirm)).toBe(200)
    expect(await testChannel(channel)).toEqual(['owner@first.example', STRANGER])

    const unsubscribe = await linkFrom(STRANGER, 'unsubscribe')
    expect(await post(unsubscribe.replace(/.$/, 'A').replace('adr_', 'adr_0'))).toBe(404)
    expect(await post(unsubscribe)).toBe(200)
    expect(await testChannel(channel)).toEqual(['owner@first.example'])
    expect(mail.received.map(({ source }) => source).join()).not.toContain('dashboard/invitations')
  })

  test('are not subscribed again by a link from before they unsubscribed', async () => {
    const { world, addChannel, testChannel, linkFrom, post } = await givenMail(engine)
    const channel = await addChannel([STRANGER])
    const confirm = await linkFrom(STRANGER, 'confirm')
    await post(confirm)
    await testChannel(channel)
    await post(await linkFrom(STRANGER, 'unsubscribe'))

    expect((await world.call(confirm, { method: 'POST', key: null })).body.error).toContain('expired or was replaced')
    expect(await testChannel(channel)).toEqual([])
  })

  test('are asked once a day, and a month after they unsubscribed; only the last link works, for a week', async () => {
    const { world, addChannel, linkFrom, post, asks } = await givenMail(engine)
    const channel = await addChannel([STRANGER])
    const save = () =>
      world.call(`/channels/${channel}`, { method: 'PATCH', body: { settings: { addresses: [STRANGER] } } })
    const first = await linkFrom(STRANGER, 'confirm')
    for (const [hours, count] of [
      [1, 1],
      [24, 2],
      [1, 2],
    ] as const) {
      world.pass(hours * HOUR_MS)
      await save()
      expect([hours, await asks(STRANGER)]).toEqual([hours, count])
    }
    expect(await post(first)).toBe(404)
    const second = await linkFrom(STRANGER, 'confirm')
    world.pass(7 * DAY_MS)
    expect(await post(second)).toBe(404)

    await save()
    expect(await post(await linkFrom(STRANGER, 'confirm'))).toBe(200)
    await world.call(`/channels/${channel}/test`, { method: 'POST' })
    await post(await linkFrom(STRANGER, 'unsubscribe'))
    world.pass(29 * DAY_MS)
    await save()
    expect(await asks(STRANGER)).toBe(3)
    world.pass(DAY_MS)
    await save()
    expect(await asks(STRANGER)).toBe(4)
  })

  test('have one state in any letter case, also those that an earlier version stored as written', async () => {
    const { world, addChannel, testChannel, linkFrom, post } = await givenMail(engine)
    const { db } = world.deps
    await addChannel([STRANGER])
    await post(await linkFrom(STRANGER, 'confirm'))
    const channel = await addChannel([STRANGER, 'STRANGER@example.org'])
    expect(await testChannel(channel)).toEqual([STRANGER])

    const { id } = await world.organization()
    const old = { organization_id: id, id: 'adr_old', created_at: 0, email: 'Stranger@Example.org' }
    await db
      .insertInto('alert_addresses')
      .values({ ...old, unsubscribed_at: 1 })
      .execute()
    expect(await testChannel(channel)).toEqual([])
    expect((await world.call('/alert-addresses')).body.data.map(({ state }: { state: string }) => state)).toEqual([
      'unsubscribed',
      'confirmed',
    ])
  })

  test('are asked at most three times a day by all organizations together', async () => {
    const { world, asks } = await givenMail(engine)
    for (const name of ['First', 'Second', 'Third', 'Fourth']) {
      const { key } = await world.organization(name)
      const body = { name: 'Mail', type: 'email', settings: { addresses: [STRANGER] } }
      expect((await world.call('/channels', { method: 'POST', key, body })).status).toBe(201)
    }
    expect(await asks(STRANGER)).toBe(3)
  })

  test('notification_email and alert_emails receive notices after they are confirmed; the owner does meanwhile', async () => {
    const { world, mail, pass, linkFrom, post } = await givenMail(engine)
    const { id: organizationId } = await world.organization()
    const notice = async () => {
      const before = mail.received.length
      await notifyAboutWebhook(world.deps.db, { organizationId, webhookId: 'whk_1' }, PAUSED, world.deps.clock.now())
      await pass()
      const notices = mail.received.slice(before).filter(({ source }) => source.includes('webhooks/whk_1'))
      return notices.map(({ to }) => to[0]!).sort()
    }
    const [{ id: agent }] = (await world.call('/agents')).body.data
    await world.call(`/agents/${agent}`, { method: 'PATCH', body: { notification_email: 'Pager@Example.org' } })
    await world.call('/organization', { method: 'PATCH', body: { settings: { alert_emails: [STRANGER] } } })
    expect(await notice()).toEqual(['owner@first.example'])

    await post(await linkFrom('pager@example.org', 'confirm'))
    expect(await notice()).toEqual(['pager@example.org'])
    await post(await linkFrom(STRANGER, 'confirm'))
    expect(await notice()).toEqual(['pager@example.org', STRANGER])

    await post(await linkFrom('pager@example.org', 'unsubscribe'))
    expect(await notice()).toEqual([STRANGER])
    expect((await world.call('/alert-addresses')).body).toMatchObject({
      data: expect.arrayContaining([
        { email: 'pager@example.org', state: 'unsubscribed', confirmation_sent: null },
        { email: STRANGER, state: 'confirmed', confirmation_sent: expect.any(String) },
      ]),
    })
  })

  test('at most 20 of them are unconfirmed, wherever they are entered', async () => {
    const { world } = await givenMail(engine)
    const addresses = Array.from({ length: 20 }, (_, number) => `a${number}@example.org`)
    const settings = { alert_emails: addresses }
    expect((await world.call('/organization', { method: 'PATCH', body: { settings } })).status).toBe(200)
    const [{ id }] = (await world.call('/agents')).body.data
    const more = await world.call(`/agents/${id}`, { method: 'PATCH', body: { notification_email: STRANGER } })
    expect(more.body.errors).toEqual({ notification_email: expect.stringContaining('more than 20 addresses') })
    const others = { settings: { alert_emails: [STRANGER] } }
    const organization = await world.call('/organization', { method: 'PATCH', body: others })
    expect(Object.keys(organization.body.errors)).toEqual(['settings.alert_emails'])
  })

  test('requests at the same time do not add up to more unconfirmed addresses', async () => {
    const { world } = await givenMail(engine)
    const [{ id }] = (await world.call('/agents')).body.data
    const addresses = (prefix: string) => Array.from({ length: 15 }, (_, number) => `${prefix}${number}@example.org`)
    const channel = (prefix: string) =>
      world.call('/channels', {
        ...{ method: 'POST', body: { name: prefix, type: 'email', settings: { addresses: addresses(prefix) } } },
      })
    const settings = { alert_emails: addresses('c') }
    await Promise.all([
      ...['a', 'b'].map(channel),
      world.call('/organization', { method: 'PATCH', body: { settings } }),
      world.call(`/agents/${id}`, { method: 'PATCH', body: { notification_email: STRANGER } }),
    ])
    expect((await world.call('/alert-addresses')).body.data.length).toBeLessThanOrEqual(20)
  })

  test('are asked at most 50 times a day by the organizations of one owner, all or none of a channel', async () => {
    const { world } = await givenMail(engine)
    const organizations = ['First', 'Second', 'Third']
    await givenUser(world, { name: 'Spammer', role: 'owner', organizations })
    const ask = async (name: string, from: number, count: number) => {
      const { key } = await world.organization(name)
      const addresses = Array.from({ length: count }, (_, number) => `a${from + number}@example.org`)
      return await world.call('/channels', {
        ...{ method: 'POST', key, body: { name: 'Mail', type: 'email', settings: { addresses } } },
      })
    }
    expect((await ask('First', 0, 20)).status).toBe(201)
    expect((await ask('Second', 20, 20)).status).toBe(201)
    const refused = await ask('Third', 40, 11)
    expect([refused.status, refused.body.error]).toEqual([429, expect.stringContaining('50 addresses')])
    expect((await ask('Third', 40, 10)).status).toBe(201)
    expect((await ask('Third', 50, 1)).status).toBe(429)
    world.pass(DAY_MS)
    expect((await ask('Third', 50, 1)).status).toBe(201)
  })

  test('links of mails are shown to nobody but the recipient', async () => {
    const { world, addChannel, linkFrom } = await givenMail(engine)
    await addChannel([STRANGER])
    await world.call('/agents/invitations', { method: 'POST', body: { email: 'grace@example.org', role: 'viewer' } })
    const { id: organizationId } = await world.organization()
    await notifyAboutWebhook(world.deps.db, { organizationId, webhookId: 'whk_1' }, PAUSED, world.deps.clock.now())
    const token = (await linkFrom(STRANGER, 'confirm')).split('.').at(-1)!
    const owner = await givenSignedInBrowser(world, { name: 'Ada', role: 'owner' })

    const { data, text } = await owner.call('/dashboard/api/mails').then(({ body, text }) => ({ ...body, text }))
    expect(data).toHaveLength(3)
    expect(token).toMatch(/^[\w-]{22}$/)
    expect(text).not.toContain(token)
    expect(text).not.toMatch(/[\w-]{22}(?=\\n)/)
  })
})

onBothEngines('mails of organizations', (_fresh, engine) => {
  test('have a limit for each address, which counts every way to send them again', async () => {
    const { world, mail, addChannel, pass } = await givenMail(engine, { MAIL_ADDRESS_LIMIT: '5', ALERTS_PER_HOUR: '0' })
    const channel = await addChannel(['owner@first.example'])
    const { id: organizationId } = await world.organization()
    for (let number = 0; number < 8; number++) {
      await world.call(`/channels/${channel}/test`, { method: 'POST' })
      await notifyAboutWebhook(world.deps.db, { organizationId, webhookId: 'whk_1' }, PAUSED, world.deps.clock.now())
      await pass()
    }
    expect(mail.received).toHaveLength(5)
    expect((await world.call('/alerts')).text).toContain('MAIL_ADDRESS_LIMIT')

    // The notices waited.
    world.pass(HOUR_MS)
    await pass()
    expect(mail.received).toHaveLength(10)
  })

  test('have a limit for each organization and for the server', async () => {
    const settings = { MAIL_ORGANIZATION_LIMIT: '2', MAIL_SERVER_LIMIT: '3' }
    const { world, mail, pass } = await givenMail(engine, settings)
    for (const name of ['First', 'Second']) {
      const { id: organizationId } = await world.organization(name)
      for (let number = 0; number < 3; number++)
        await notifyAboutWebhook(world.deps.db, { organizationId, webhookId: 'whk_1' }, PAUSED, world.deps.clock.now())
      await pass()
    }
    expect(mail.received.map(({ to }) => to[0])).toEqual([
      'owner@first.example',
      'owner@first.example',
      'owner@second.example',
    ])
  })
})

/** A server that sends mail. `linkFrom`: the path of a link in the newest mail to an address. */
async function givenMail(engine: 'sqlite' | 'postgres', settings: Settings = {}) {
  const mail = await startMailServer()
  const world = await givenApp(engine, { SMTP_URL: mail.url, MAIL_FROM: 'zonewatch@example.com', ...settings })
  await world.organization()
  const sendMail = createMailSender(world.deps.config.smtp!)
  const pass = () => sendDueMails({ ...world.deps, process: 1 }, sendMail, new AbortController().signal)
  return {
    ...{ world, mail, pass },
    async addChannel(addresses: string[]): Promise<string> {
      const body = { name: 'Mail', type: 'email', settings: { addresses } }
      return (await world.call('/channels', { method: 'POST', body })).body.id
    },
    /** Who received a test. */
    async testChannel(id: string): Promise<string[]> {
      const before = mail.received.length
      await world.call(`/channels/${id}/test`, { method: 'POST' })
      return mail.received
        .slice(before)
        .map(({ to }) => to[0]!)
        .sort()
    },
    async linkFrom(address: string, page: 'confirm' | 'unsubscribe'): Promise<string> {
      await pass()
      const toAddress = mail.received.filter(({ to }) => to[0] === address).map(unfolded)
      const path = toAddress.findLast((source) => source.includes(`/${page}/`))
      const token = new RegExp(`/${page}/([\\w.~-]+)`).exec(path ?? '')?.[1]
      if (token === undefined) throw new Error(`${address} received no link to ${page}.`)
      return `/alert-addresses/${page}/${token}`
    },
    async post(path: string): Promise<number> {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      return (await world.call(path, { method: 'POST', key: null, headers, raw: 'List-Unsubscribe=One-Click' })).status
    },
    /** The confirmations that were queued for an address. */
    async asks(address: string): Promise<number> {
      const rows = await world.deps.db.selectFrom('mails').select('content').where('recipient', '=', address).execute()
      return rows.filter(({ content }) => JSON.parse(content).kind === 'alert_address').length
    },
  }
}

const unfolded = ({ source }: MailServer['received'][number]): string =>
  source.replaceAll(/=\r\n|\r\n /g, '').replaceAll('=3D', '=')
