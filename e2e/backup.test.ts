import { chownSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Delivery, Event } from '#contract/events.ts'
import type { Monitor } from '#contract/monitors.ts'
import type { Webhook, WebhookRequest } from '#contract/webhooks.ts'
import { findLastBackup } from '#server/backup/last-backup.ts'
import { openDatabase } from '#server/database/open.ts'
import { type Api, createApi } from '#server/testing/api-client.ts'
import type { Received } from '#server/testing/receiver.ts'
import { runCommand, type Settings } from '#server/testing/server-process.ts'
import {
  ADMIN,
  ADMIN_KEY,
  eventually,
  givenEnvironment,
  givenFolder,
  givenServer,
} from '#server/testing/test-server.ts'

const MONITORS = 8

/** Settings of a server with its database and secret in one folder, as with `npm start`. */
async function givenDataFolder(overrides: Settings = {}) {
  const { dns, receiver, settings } = await givenEnvironment('sqlite', { isMigrated: false })
  const { SECRET: _, DATABASE_URL: __, ...common } = settings
  const data = join(common.DATA_DIR!, 'data')
  return { dns, receiver, data, settings: { ...common, ...ADMIN, DATA_DIR: data, ...overrides } }
}

const idOf = ({ body }: Received) => (JSON.parse(body.toString()) as Delivery).id
const list = async <T>(api: Api, path: string) => (await api.get<{ data: T[] }>(`${path}?limit=100`)).body.data

test('a backup made under load restores every event and request, and deliveries continue with the same ids', async () => {
  const { dns, receiver, data, settings } = await givenDataFolder()
  receiver.answers(({ path }) => (path === '/down' ? 500 : 200))
  const server = await givenServer(settings)
  const api = createApi(server.url, ADMIN_KEY)
  const createWebhook = async (path: string) =>
    (await api.post<Webhook>('/webhooks', { url: `${receiver.url}${path}`, groups: ['default'] })).body
  const [up, down] = [await createWebhook('/up'), await createWebhook('/down')]
  const names = Array.from({ length: MONITORS }, (_, index) => `m${index}.example.com`)
  for (const name of names) dns.set(name, 'A', ['192.0.2.1'])
  const monitors = await Promise.all(
    names.map(
      async (name) =>
        (await api.post<Monitor>('/monitors', { full_domain: name, record_type: 'A', expected_value: ['192.0.2.1'] }))
          .body,
    ),
  )
  const notifiedUp = (count: number) =>
    eventually(
      async () => receiver.received.filter(({ path }) => path === '/up').length,
      (notified) => notified >= count,
    )
  await notifiedUp(MONITORS)

  let isLoaded = true
  const load = (async () => {
    for (let round = 2; isLoaded; round++) {
      const value = `192.0.2.${round}`
      for (const name of names) dns.set(name, 'A', [value])
      await Promise.all(monitors.map(({ id }) => api.post(`/monitors/${id}/check`)))
      // A record that changes during its confirmation would be checked again only half a minute later.
      await eventually(
        () => list<Monitor>(api, '/monitors'),
        (all) => all.every(({ current_value }) => current_value?.join() === value),
      )
    }
  })()
  const before = { events: await list<Event>(api, '/events'), notified: await notifiedUp(0) }
  const file = join(settings.DATA_DIR, '..', 'one.backup')
  const backup = await runCommand(['backup', file, '--json'], settings)
  expect(backup).toMatchObject({ code: 0, stderr: '' })
  const { rows } = JSON.parse(backup.stdout)
  expect(rows.monitors).toBe(MONITORS)
  expect(rows.events).toBeGreaterThanOrEqual(before.events.length)
  // Deliveries continue during and after the backup.
  await notifiedUp(before.notified + MONITORS)
  isLoaded = false
  await load
  await server.kill()
  const received = [...receiver.received]
  const upIds = received.filter(({ path }) => path === '/up').map(idOf)
  expect(new Set(upIds).size).toBe(upIds.length)

  // Only the backup file remains.
  await rm(data, { recursive: true })
  const restored = await runCommand(['restore', file], settings)
  expect(restored).toMatchObject({ code: 0, stderr: '' })
  expect(restored.stdout).toContain(`It holds 1 organization, ${MONITORS} monitors`)
  expect(readdirSync(data).sort()).toEqual(['secret', 'zonewatch.db'])
  receiver.reset()
  receiver.answers(({ path }) => (path === '/down' ? 500 : 200))
  const database = openDatabase(`sqlite:${join(data, 'zonewatch.db')}`)
  const undelivered = await database
    .selectFrom('webhook_requests')
    .select('id')
    .where('webhook_id', '=', up.id)
    .where('status', '!=', 'DELIVERED')
    .execute()
  await database.destroy()
  const second = await givenServer(settings)
  const restoredApi = createApi(second.url, ADMIN_KEY)
  const events = new Map((await list<Event>(restoredApi, '/events')).map((event) => [event.id, event]))
  for (const event of before.events) expect(events.get(event.id)).toEqual(event)
  const requests = await eventually(
    () => list<WebhookRequest>(restoredApi, `/webhooks/${up.id}/requests`),
    (all) => all.every(({ status }) => status === 'DELIVERED'),
  )
  const known = new Set(requests.map(({ id }) => id))
  for (const id of upIds.slice(0, before.notified)) expect(known).toContain(id)
  // Of the requests before the backup, it sends only those that were not delivered at that time.
  const resent = receiver.received.filter(({ path }) => path === '/up').map(idOf)
  for (const id of resent.filter((id) => upIds.includes(id))) expect(undelivered).toContainEqual({ id })

  // The webhook's secret is readable, and a waiting request is sent unchanged with its id.
  receiver.answers(200)
  const [waiting] = await list<WebhookRequest>(restoredApi, `/webhooks/${down.id}/requests`)
  const first = received.find((request) => request.path === '/down' && idOf(request) === waiting!.id)!
  expect((await restoredApi.post(`/webhooks/${down.id}/requests/${waiting!.id}/retry`)).status).toBe(200)
  const sent = await eventually(
    async () => receiver.received.find((request) => request.path === '/down' && idOf(request) === waiting!.id),
    (request) => request !== undefined,
  )
  expect(sent!.body.equals(first.body)).toBe(true)
  expect(sent!.headers['x-service-signature']).toBe(first.headers['x-service-signature'])
})

test('a manual backup deletes what a killed one left in its folder', async () => {
  const { settings } = await givenDataFolder()
  const folder = await givenFolder()
  await writeFile(join(folder, '.old.backup.partial-999999999'), '')
  expect(await runCommand(['migrate'], settings)).toMatchObject({ code: 0 })
  expect(await runCommand(['backup', join(folder, 'new.backup')], settings)).toMatchObject({ code: 0, stderr: '' })
  expect(readdirSync(folder)).toEqual(['new.backup'])
})

test('backups run on schedule while the server works, and a failed backup is logged with its reason while checks continue', async () => {
  const backups = await givenFolder()
  const { dns, receiver, data, settings } = await givenDataFolder({ BACKUP_DIR: join(backups, 'kept') })
  const server = await givenServer(settings)
  const names = () => readdirSync(join(backups, 'kept')).filter((name) => name.endsWith('.backup'))
  await eventually(
    async () => server.stdout(),
    (text) => text.includes('Created and verified a backup.'),
  )
  const [name] = names()
  expect(name).toMatch(/^zonewatch-\d{8}T\d{6}Z\.backup$/)
  const recorded = async () => {
    const db = openDatabase(`sqlite:${join(data, 'zonewatch.db')}`)
    return await findLastBackup(db).finally(() => db.destroy())
  }
  expect(await recorded()).toMatchObject({ error: null, made: { path: join(backups, 'kept', name!) } })
  server.send('SIGTERM')
  expect(await server.ended).toMatchObject({ code: 0, stderr: '' })

  // Restores the backup on another server.
  const { SECRET: _, ...other } = { ...settings, DATA_DIR: await givenFolder(), SECRET: '' }
  // As root, the folder belongs to the user of the service.
  if (process.getuid?.() === 0) chownSync(other.DATA_DIR, 12_345, 12_345)
  expect(await runCommand(['restore', join(backups, 'kept', name!)], other)).toMatchObject({ code: 0 })
  for (const file of ['secret', 'zonewatch.db']) {
    expect([file, statSync(join(other.DATA_DIR, file)).uid]).toEqual([file, statSync(other.DATA_DIR).uid])
  }
  expect(readFileSync(join(other.DATA_DIR, 'secret'), 'utf8')).toBe(readFileSync(join(data, 'secret'), 'utf8'))

  await writeFile(join(backups, 'a file'), '')
  const second = await givenServer({ ...settings, BACKUP_DIR: join(backups, 'a file') })
  await eventually(
    async () => second.stdout(),
    (text) => text.includes('The backup failed.'),
  )
  const line = second
    .stdout()
    .split('\n')
    .find((text) => text.includes('The backup failed.'))
  expect(JSON.parse(line!)).toMatchObject({
    level: 'error',
    reason: expect.stringMatching(/a file cannot be created \(EEXIST.*\)\. Set it to a writable folder\.$/),
    msg: 'The backup failed. Checks and deliveries continue. Retrying.',
  })
  await eventually(recorded, (last) => last?.error != null)
  expect(await recorded()).toMatchObject({
    error: expect.stringContaining('a file cannot be created'),
    made: { path: join(backups, 'kept', name!) },
  })
  const api = createApi(second.url, ADMIN_KEY)
  await api.post('/webhooks', { url: receiver.url, groups: ['default'] })
  dns.set('www.example.com', 'A', ['192.0.2.1'])
  await api.post('/monitors', { full_domain: 'www.example.com', record_type: 'A', expected_value: ['192.0.2.1'] })
  await receiver.waitFor(1)
})

test('a refused backup or restore says why and changes nothing', async () => {
  const { data, settings } = await givenDataFolder()
  const server = await givenServer(settings)
  const folder = await givenFolder()
  const file = join(folder, 'one.backup')
  const bare = join(folder, 'bare.backup')
  expect((await runCommand(['backup', file], settings)).stdout).toContain('The file contains SECRET')
  expect((await runCommand(['backup', bare, '--without-secret'], settings)).stdout).toContain('The secret is not in it')
  const refusal = async (args: string[], overrides: Settings) => {
    const { code, stdout, stderr } = await runCommand(args, { ...settings, ...overrides })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    return stderr
  }
  expect(await refusal(['backup', file], {})).toContain('already exists')
  expect(await refusal(['backup', join(folder, 'none', 'x')], {})).toContain('is not a folder')
  const database = openDatabase(`sqlite:${join(data, 'zonewatch.db')}`)
  expect(await findLastBackup(database)).toMatchObject({ error: null })
  await database.destroy()
  expect(await refusal(['backup', join(folder, 'x')], { SECRET: 'y'.repeat(40) })).toContain(
    'The secret is not the one of the database.',
  )
  expect(await refusal(['restore', file], {})).toContain('is in use by a running server. Stop that server')
  await server.kill()
  const other = { DATA_DIR: join(folder, 'other') }
  expect(await refusal(['restore', join(folder, 'none')], other)).toContain('There is no file')
  expect(await refusal(['restore', folder], other)).toContain('is not a file')
  await writeFile(join(folder, 'damaged.db'), 'SQLite format 3\0 and nothing else')
  const damaged = { DATABASE_URL: `sqlite:${join(folder, 'damaged.db')}` }
  const refused = await refusal(['backup', join(folder, 'y')], damaged)
  expect(refused).toContain('damaged.db is damaged')
  expect(refused.trimEnd().split('\n')).toHaveLength(1)
  expect(await refusal(['restore', bare], other)).toContain('This backup was made without the secret. Set SECRET')
  expect(await refusal(['restore', file], { ...other, SECRET: 'y'.repeat(40) })).toContain(
    'SECRET is not the one of the backup.',
  )
  await mkdir(other.DATA_DIR, { recursive: true })
  await writeFile(join(other.DATA_DIR, 'secret'), 'z'.repeat(40))
  expect(await refusal(['restore', file], other)).toContain(
    'secret is not the secret of the backup. Move that file away',
  )
  expect(readdirSync(other.DATA_DIR)).toEqual(['secret'])
  await writeFile(join(other.DATA_DIR, 'secret'), readFileSync(join(data, 'secret')))
  expect(await runCommand(['restore', bare], { ...settings, ...other })).toMatchObject({ code: 0, stderr: '' })
  const restored = await givenServer({ ...settings, ...other })
  expect((await createApi(restored.url, ADMIN_KEY).get('/monitors')).status).toBe(200)

  const postgres = { DATABASE_URL: 'postgres://zonewatch@127.0.0.1:1/none', SECRET: 'x'.repeat(40) }
  expect(await refusal(['backup', file], postgres)).toContain('Back up PostgreSQL with pg_dump')
  expect(await refusal(['restore', file], postgres)).toContain('Restore PostgreSQL with pg_restore')
  expect(await refusal(['config'], { ...postgres, BACKUP_DIR: folder })).toContain('BACKUP_DIR is for SQLite')
})
