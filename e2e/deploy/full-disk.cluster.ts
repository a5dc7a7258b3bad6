import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import type { Delivery } from '#contract/events.ts'
import type { Monitor } from '#contract/monitors.ts'
import { backUp } from '#server/backup/back-up.ts'
import { createApi } from '#server/testing/api-client.ts'
import { startDnsServer } from '#server/testing/dns-server.ts'
import { startReceiver } from '#server/testing/receiver.ts'
import { runCommand } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, eventually, givenFolder, givenServer, serverSettings } from '#server/testing/test-server.ts'

const NAME = 'www.example.com'

test('with a full data disk writes get 503 and reads work, and everything works again once there is space', async () => {
  const disk = givenDisk(16)
  const { server, api, dns, receiver, settings } = await givenRunning(disk.folder)
  const id = await monitored(api, receiver)

  disk.fill()
  const acknowledged: string[] = []
  const refused = await eventually(
    async () => {
      const names = Array.from(
        { length: 100 },
        (_, index) => `${'x'.repeat(50)}-${acknowledged.length + index}.example.net`,
      )
      const monitors = names.map((full_domain) => ({ full_domain, record_type: 'A', expected_value: '192.0.2.1' }))
      const answer = await api.post('/monitors/bulk', { monitors })
      if (answer.status < 300) acknowledged.push(...names)
      return answer
    },
    ({ status }) => status >= 300,
  )
  expect(refused).toMatchObject({ status: 503, body: { code: 503 } })
  expect(refused.headers.get('retry-after')).toBe('5')
  expect((await api.get(`/monitors/${id}`)).status).toBe(200)
  expect((await api.get('/healthz')).status).toBe(200)
  dns.set(NAME, 'A', ['192.0.2.2'])
  await api.post(`/monitors/${id}/check`)
  const found = JSON.parse((await runCommand(['doctor', '--json'], settings)).stdout) as Record<string, string>[]
  expect(found.find(({ check }) => check === 'free disk')).toMatchObject({ status: 'failure' })

  disk.free()
  await eventually(
    () => api.post(`/monitors/${id}/check`),
    ({ status }) => status === 202,
  )
  await eventually(
    async () => valuesIn(receiver),
    (values) => values.includes('192.0.2.2'),
    150_000, // what was claimed before may have to wait for its lease
  )
  expect(valuesIn(receiver)).toEqual(['192.0.2.1', '192.0.2.2'])
  expect(server.stdout()).not.toContain('A process ended unexpectedly')
  server.send('SIGTERM')
  expect(await server.ended).toMatchObject({ code: 0, stderr: '' })

  const database = new DatabaseSync(join(settings.DATA_DIR, 'zonewatch.db'))
  onTestFinished(() => database.close())
  expect(database.prepare('pragma integrity_check').get()).toEqual({ integrity_check: 'ok' })
  const { count } = database.prepare("select count(*) as count from monitors where owner like '%.example.net'").get()!
  expect(count).toBe(acknowledged.length)
})

test('a full backup disk is reported, leaves no partial file, and does not stop the server', async () => {
  const disk = givenDisk(4)
  const { server, api, receiver, settings } = await givenRunning(await givenFolder(), { BACKUP_DIR: disk.folder })
  await monitored(api, receiver)
  const backups = () => readdirSync(disk.folder).filter((name) => name !== 'filler')
  await eventually(
    async () => backups(),
    ([name]) => name?.endsWith('.backup') === true,
  )

  disk.fill()
  const before = backups()
  const file = join(disk.folder, 'now.backup')
  const failed = await runCommand(['backup', file], settings)
  expect(failed.code).toBe(1)
  expect(failed.stderr).toMatch(
    / has .* free, and the backup takes up to .*\. Free some space, or use another folder\./,
  )
  // There was room at the start.
  const source = join(settings.DATA_DIR, 'zonewatch.db')
  const freeBytes = () => Number.POSITIVE_INFINITY
  await expect(backUp({ source, target: file, secret: null, version: '1', now: 0, freeBytes })).rejects.toThrow(
    `${disk.folder} is full. Free some space, or use another folder.`,
  )
  expect(backups()).toEqual(before)
  const found = JSON.parse((await runCommand(['doctor', '--json'], settings)).stdout) as Record<string, string>[]
  expect(found.find(({ check }) => check === 'backup')).toMatchObject({ status: 'failure' })
  expect((await api.post('/groups', { name: 'Still here' })).status).toBe(201)

  disk.free()
  expect(await runCommand(['backup', file], settings)).toMatchObject({ code: 0, stderr: '' })
  const folder = join(disk.folder, 'restored')
  const restore = () => runCommand(['restore', file], { ...settings, DATA_DIR: folder })
  disk.fill()
  const refused = await restore()
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(refused.stderr).toMatch(/has .* free, and the database takes .*\. Free some space\./)
  // Enough for the copy, and not for the work on it.
  disk.fill({ leave: statSync(file).size + 4_096 })
  expect(await restore()).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`${folder} is full. Free some space.`),
  })
  expect(readdirSync(folder)).toEqual([])
  disk.free()
  expect(await restore()).toMatchObject({ code: 0, stderr: '' })
  expect(server.stderr()).toBe('')
})

type Disk = {
  folder: string /** `leave`: octets that stay free. */
  fill(options?: { leave: number }): void
  free(): void
}

/** A file system of its own, which goes away with the namespace of this run at the latest. */
function givenDisk(megabytes: number): Disk {
  const folder = mkdtempSync(join(tmpdir(), 'zonewatch-disk-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0700`, 'tmpfs', folder])
  const filler = join(folder, 'filler')
  onTestFinished(() => {
    execFileSync('umount', ['--lazy', folder])
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    folder,
    fill({ leave } = { leave: 0 }) {
      execFileSync('sh', ['-c', `cat /dev/zero > ${filler} 2>/dev/null || true`])
      truncateSync(filler, Math.max(0, statSync(filler).size - leave))
    },
    free: () => rmSync(filler, { force: true }),
  }
}

async function givenRunning(dataDir: string, more: Record<string, string> = {}) {
  const [dns, receiver] = await Promise.all([startDnsServer(), startReceiver()])
  onTestFinished(async () => {
    await Promise.all([dns.close(), receiver.close()])
  })
  const { DATABASE_URL: _, ...own } = serverSettings({ dns, databaseUrl: '', folder: join(dataDir, 'data') })
  const settings = { ...own, ...ADMIN, ...more }
  dns.set(NAME, 'A', ['192.0.2.1'])
  const server = await givenServer(settings)
  return { server, api: createApi(server.url, ADMIN_KEY), dns, receiver, settings }
}

type Running = Awaited<ReturnType<typeof givenRunning>>

async function monitored(api: Running['api'], receiver: Running['receiver']): Promise<string> {
  await api.post('/webhooks', { url: receiver.url, groups: ['default'] })
  const monitor = { full_domain: NAME, record_type: 'A', expected_value: '192.0.2.1' }
  const { id } = (await api.post<Monitor>('/monitors', monitor)).body
  await receiver.waitFor(1)
  return id
}

/** Of the monitor, each request once. */
function valuesIn({ received }: Running['receiver']): (string | undefined)[] {
  const deliveries = received.map(({ body }) => JSON.parse(body.toString()) as Delivery)
  const own = new Map(deliveries.filter(({ event }) => event.domain.subdomain === 'www').map((one) => [one.id, one]))
  return [...own.values()].map(({ event }) => event.current_value?.[0] as string | undefined)
}
