import { pino } from 'pino'
import { expect, test } from 'vitest'
import { insertOrganization } from '../accounts/organizations.ts'
import { systemClock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { createKeyring } from '../keyring.ts'
import { LoopHealth } from '../loop-health.ts'
import { Metrics } from '../metrics/metrics.ts'
import { repairAfterClockStep } from '../queue/lease-queue.ts'
import { createWakeUps } from '../queue/wake-up.ts'
import { onBothEngines } from '../testing/database.ts'
import { type MailServer, startMailServer } from '../testing/smtp.ts'
import { notifyAboutWebhook } from './notifications.ts'
import { cancelMails, deleteOldMails, queueMail, RETRY_WAITS } from './outbox.ts'
import { createMailSender } from './smtp.ts'
import { sendDueMails } from './worker.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const url = 'https://hooks.example.com/dns'
const PAUSED = { kind: 'webhook_paused' as const, url, error: 'It answered 500.', statusCode: 500 }

onBothEngines('mail', (fresh) => {
  test('a mail is sent once, with user and password, in text and HTML', async () => {
    const server = await startMailServer({ password: 'a secret' })
    const { queue, pass, rows } = await givenOutbox(await fresh(), server)
    await queue()

    expect(await pass()).toBe(1)
    expect(await pass({ afterMs: 90 * MINUTE_MS })).toBe(0)

    expect(server.received).toMatchObject([
      { from: 'alerts@example.com', to: ['owner@example.com'], user: 'zonewatch' },
    ])
    const { source } = server.received[0]!
    expect(source).toContain('From: Zonewatch <alerts@example.com>')
    expect(source).toContain('Date: Sat, 21 Nov 2026 09:30:00 +0000')
    expect(source).toContain(`Message-ID: <${(await rows())[0]!.id}@example.com>`)
    expect(source).toMatch(/text\/plain[\s\S]*text\/html/)
    expect(await rows()).toMatchObject([{ status: 'sent', attempts: 1, error: null }])
  })

  test('a mail that is deferred with 450 is retried a minute later', async () => {
    const server = await startMailServer()
    const { queue, pass, rows, counted } = await givenOutbox(await fresh(), server)
    await queue()
    server.rejects({ code: 450, message: 'Try later' })

    await pass()
    expect(await rows()).toMatchObject([{ status: 'waiting', attempts: 1, error: expect.stringContaining('450') }])
    expect(await pass({ afterMs: MINUTE_MS - 1 })).toBe(0)
    expect(await pass({ afterMs: 1 })).toBe(1)

    expect(server.received).toHaveLength(1)
    expect(await rows()).toMatchObject([{ status: 'sent', attempts: 2, error: null }])
    expect(counted()).toEqual({ waiting: 1, sent: 1, kept: 0, failed: 0 })
  })

  test('after the clock was set back by a day, a deferred mail is still retried a minute later', async () => {
    const server = await startMailServer()
    const db = await fresh()
    const { queue, pass, rows, setBack } = await givenOutbox(db, server)
    await queue()
    server.rejects({ code: 450, message: 'Try later' })
    await pass()
    await queue()

    const now = setBack(24 * 60 * MINUTE_MS)
    await repairAfterClockStep(db, 'due_mails', { now, process: 1 }, RETRY_WAITS)

    const due = await db.selectFrom('due_mails').select('due_at').orderBy('due_at').execute()
    expect(due.map(({ due_at }) => due_at)).toEqual([now, now + MINUTE_MS])
    expect(await pass({ afterMs: MINUTE_MS })).toBe(2)
    expect(await rows()).toMatchObject([{ status: 'sent' }, { status: 'sent' }])
  })

  test('a mail that the server refuses with 550 is not retried', async () => {
    const server = await startMailServer()
    const { queue, pass, rows, logged } = await givenOutbox(await fresh(), server)
    await queue()
    server.rejects({ code: 550, message: 'No such user' })

    await pass()

    expect(await rows()).toMatchObject([{ status: 'failed', error: expect.stringContaining('No such user') }])
    expect(JSON.parse(logged())).toMatchObject({ level: 50, msg: 'An email could not be sent. No more retries.' })
    expect(await pass({ afterMs: 3 * 24 * 60 * MINUTE_MS })).toBe(0)
  })

  test('a mail is retried while the mail server is unavailable, and fails after two and a half days', async () => {
    const server = await startMailServer()
    await server.close()
    const { queue, pass, rows } = await givenOutbox(await fresh(), server)
    await queue()

    const delays = [0, 1, 5, 15, 60, 240, 480, 960, 1_440]
    for (const [index, minutes] of delays.entries()) {
      expect(await rows()).toMatchObject([{ status: 'waiting', attempts: index }])
      expect(await pass({ afterMs: minutes * MINUTE_MS })).toBe(1)
    }

    expect(await rows()).toMatchObject([
      { status: 'failed', attempts: 9, error: expect.stringContaining('ECONNREFUSED') },
    ])
    expect(await pass({ afterMs: 1_440 * MINUTE_MS })).toBe(0)
  })

  test('a mail is retried after a wrong password', async () => {
    const server = await startMailServer({ password: 'right' })
    const { queue, pass, rows } = await givenOutbox(await fresh(), {
      ...server,
      url: server.url.replace('right', 'wrong'),
    })
    await queue()

    await pass()

    expect(await rows()).toMatchObject([{ status: 'waiting', attempts: 1 }])
  })

  test('two processes send each mail once', async () => {
    const server = await startMailServer()
    const { queue, pass } = await givenOutbox(await fresh(), server)
    await queue(...Array.from({ length: 12 }, (_, index) => `agent-${index}@example.com`))

    await Promise.all([pass({ process: 1 }), pass({ process: 2 })])

    expect(new Set(server.received.flatMap(({ to }) => to)).size).toBe(12)
    expect(server.received).toHaveLength(12)
  })

  test('a mail is sent by another process when the lease of a dead one expires', async () => {
    const server = await startMailServer()
    const db = await fresh()
    const { queue, pass, rows } = await givenOutbox(db, server)
    await queue()
    server.hang()
    const dying = new AbortController()
    setTimeout(() => dying.abort(), 300)
    await pass({ abandon: dying.signal })
    expect(await rows()).toMatchObject([{ status: 'waiting', attempts: 0 }])

    const other = await startMailServer()
    const again = await givenOutbox(db, other, { organization: false })
    expect(await again.pass({ afterMs: 59_000 })).toBe(0)
    expect(await again.pass({ afterMs: 1_000 })).toBe(1)

    expect(other.received).toHaveLength(1)
  })

  test('without a mail server the text is in the log, and the status of the mail is kept', async () => {
    const { queue, pass, rows, logged } = await givenOutbox(await fresh(), null)
    await queue()

    expect(await pass()).toBe(1)

    expect(logged().trim().split('\n')).toHaveLength(1)
    expect(logged()).toContain('Email not sent because SMTP_URL is not set.')
    expect(logged()).toContain('is paused')
    expect(await rows()).toMatchObject([{ status: 'kept', recipient: 'owner@example.com' }])
    expect(await pass({ afterMs: 90 * MINUTE_MS })).toBe(0)
  })

  test('a mail that is canceled before it is sent is not sent', async () => {
    const server = await startMailServer()
    const db = await fresh()
    const { queue, pass, organizationId } = await givenOutbox(db, server)
    await queue()

    await cancelMails(db, organizationId, 'whk_1')

    expect(await pass()).toBe(0)
    expect(server.received).toHaveLength(0)
  })

  test('owners, at the address that they chose, and the alert addresses are each notified once', async () => {
    const db = await fresh()
    const { organizationId, now, rows } = await givenOutbox(db, null)
    await db.updateTable('agents').set({ notification_email: 'pager@example.com' }).execute()
    const alerts = JSON.stringify(['team@example.com', 'pager@example.com'])
    await db.updateTable('organizations').set({ alert_emails: alerts }).execute()
    for (const email of ['pager@example.com', 'team@example.com'])
      await db
        .insertInto('alert_addresses')
        .values({ organization_id: organizationId, id: `adr_${email}`, created_at: now, email, confirmed_at: now })
        .execute()

    const webhook = { organizationId, webhookId: 'whk_1' }
    await notifyAboutWebhook(db, webhook, PAUSED, now)
    await notifyAboutWebhook(db, webhook, { kind: 'webhook_active', url }, now)

    const reports = (await rows()).map(({ recipient, content }) => [recipient, JSON.parse(content).kind])
    expect(reports.sort()).toEqual([
      ['pager@example.com', 'webhook_active'],
      ['pager@example.com', 'webhook_paused'],
      ['team@example.com', 'webhook_active'],
      ['team@example.com', 'webhook_paused'],
    ])
  })

  test('a transaction that fails notifies nobody', async () => {
    const db = await fresh()
    const { organizationId, now, rows } = await givenOutbox(db, null)

    const broken = db.transaction().execute(async (transaction) => {
      await notifyAboutWebhook(transaction, { organizationId, webhookId: 'whk_1' }, PAUSED, now)
      throw new Error('the pause could not be written')
    })

    await expect(broken).rejects.toThrow('the pause could not be written')
    expect(await rows()).toEqual([])
  })

  test('old mails are deleted, except those that wait', async () => {
    const { queue, pass, rows, forget } = await givenOutbox(await fresh(), null)
    await queue()
    await pass()
    await queue()

    await forget({ afterMs: 91 * DAY_MS })
    expect(await rows()).toMatchObject([{ status: 'waiting' }])
  })

  test('a mail is deleted after 90 days', async () => {
    const { queue, pass, rows, forget } = await givenOutbox(await fresh(), null)
    await queue()
    await pass()

    await forget({ afterMs: 90 * DAY_MS - MINUTE_MS })
    expect(await rows()).toHaveLength(1)
    await forget({ afterMs: 2 * MINUTE_MS })
    expect(await rows()).toEqual([])
  })
})

async function givenOutbox(
  db: Database,
  server: Pick<MailServer, 'url'> | null,
  { organization = true, mailLimits = {} } = {},
) {
  let now = Date.UTC(2026, 10, 21, 9, 30)
  const lines: string[] = []
  const smtp = server ? { url: server.url, from: 'Zonewatch <alerts@example.com>' } : null
  const deps = {
    config: {
      baseUrl: 'https://dns.example.com',
      smtp,
      mailLimits: { address: 0, organization: 0, server: 0, ...mailLimits },
    },
    db,
    clock: { ...systemClock, now: () => now },
    log: pino({ level: 'info' }, { write: (line: string) => void lines.push(line) }),
    keyring: createKeyring('x'.repeat(32)),
    loopHealth: new LoopHealth(),
    metrics: new Metrics(),
    wakeUps: createWakeUps(),
  }
  const given = { name: 'Acme', email: 'owner@example.com', passwordHash: '' }
  const organizationId = organization ? (await insertOrganization(db, given, now)).id : ''
  const sendMail = smtp && createMailSender(smtp)
  return {
    db,
    now,
    organizationId,
    /** Attempts by their result. */
    counted: () => {
      const { values } = deps.metrics.collect().find(({ name }) => name === 'zonewatch_mails_total')!
      return Object.fromEntries(values.map(({ labels, value }) => [labels.result, value]))
    },
    queue: (...recipients: string[]) =>
      queueMail(
        db,
        organizationId,
        {
          about: 'whk_1',
          recipients: recipients.length > 0 ? recipients : ['owner@example.com'],
          content: { ...PAUSED, organization: 'Acme' },
        },
        now,
      ),
    /** Lets time pass, then sends what is due. */
    pass({ afterMs = 0, process = 1, abandon = new AbortController().signal } = {}) {
      now += afterMs
      return sendDueMails({ ...deps, process }, sendMail, abandon)
    },
    /** Lets time pass, then deletes what is old. */
    async forget({ afterMs }: { afterMs: number }) {
      now += afterMs
      await deleteOldMails(deps, new AbortController().signal)
    },
    /** Sets the clock back. Returns the time that it shows then. */
    setBack: (ms: number) => (now -= ms),
    rows: () => db.selectFrom('mails').selectAll().orderBy('id').execute(),
    logged: () => lines.join(''),
  }
}
