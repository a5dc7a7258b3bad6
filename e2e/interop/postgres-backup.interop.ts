import { appendFile, chmod, cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Delivery, Event } from '#contract/events.ts'
import type { Monitor } from '#contract/monitors.ts'
import type { Webhook } from '#contract/webhooks.ts'
import { systemClock } from '#server/clock.ts'
import type { Finding } from '#server/doctor/finding.ts'
import { createApi } from '#server/testing/api-client.ts'
import { type DnsServer, startDnsServer } from '#server/testing/dns-server.ts'
import { type Received, type Receiver, startReceiver } from '#server/testing/receiver.ts'
import { runCommand } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, eventually, givenFolder, givenServer, serverSettings } from '#server/testing/test-server.ts'
import { giveToPostgres, Postgres } from './postgres.ts'
import { createFolder, createWorkspace, type Workspace } from './workspace.ts'

const GUIDE = 'docs/guides/back-up-and-restore.md'
const NAME = 'www.example.com'
const [FIRST, SECOND, LOST, NEW] = ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4'] as const

let workspace: Workspace
let folder: string
let dns: DnsServer
let receiver: Receiver
const running: Postgres[] = []
beforeAll(async () => {
  workspace = await createWorkspace()
  await chmod(workspace.folder, 0o755)
  folder = await createFolder(workspace, 'postgres')
  for (const name of ['archive', 'backups']) await createFolder({ ...workspace, folder }, name)
  ;[dns, receiver] = await Promise.all([startDnsServer(), startReceiver()])
})
afterAll(async () => {
  for (const postgres of running) await postgres.stop()
  await Promise.all([dns.close(), receiver.close(), workspace.remove()])
})

test('the guide restores a dump and a point in time with the events, requests and secrets of that time', {
  timeout: 300_000,
}, async () => {
  const [archiving = '', recovering = ''] = await blocksOf('ini')
  const [dump = '', , restoreDump = '', takeBase = ''] = (await blocksOf('sh')).slice(-4)
  expect([archiving, recovering, dump, restoreDump, takeBase].every((block) => /archive|backups/.test(block))).toBe(
    true,
  )
  const postgres = await Postgres.create(folder, archiving)
  running.push(postgres)
  await postgres.query('create database zonewatch')
  const sh = (script: string) =>
    postgres.run('sh', ['-ec', script], {
      DATABASE_URL: postgres.url('zonewatch'),
      RESTORED_URL: postgres.url('zonewatch_restored'),
      REPLICATION_URL: postgres.url('zonewatch'),
      PATH: `${Postgres.binaries}:${process.env.PATH}`,
    })

  receiver.answers(({ path }) => (path === '/down' ? 500 : 200))
  dns.set(NAME, 'A', [FIRST])
  const settings = {
    ...serverSettings({ dns, databaseUrl: postgres.url('zonewatch'), folder: await givenFolder() }),
    ...ADMIN,
  }
  const server = await givenServer(settings)
  const { post } = createApi(server.url, ADMIN_KEY)
  const [, down] = await Promise.all(
    ['/up', '/down'].map(
      async (path) => (await post<Webhook>('/webhooks', { url: receiver.url + path, groups: ['default'] })).body,
    ),
  )
  const { id } = (await post<Monitor>('/monitors', { full_domain: NAME, record_type: 'A', expected_value: FIRST })).body
  await reported('/up', FIRST)
  await reported('/down', FIRST)

  await sh(dump)
  await sh(takeBase)
  const findings = JSON.parse((await runCommand(['doctor', '--json'], settings)).stdout) as Finding[]
  expect(findings.find(({ check }) => check === 'backup')?.detail).toMatch(
    /^PostgreSQL archives its log, the last at 20/,
  )
  dns.set(NAME, 'A', [SECOND])
  await post(`/monitors/${id}/check`)
  await reported('/up', SECOND)
  const [moment] = await postgres.query<{ at: string }>('select clock_timestamp()::text as at')
  await systemClock.sleep(50)
  dns.set(NAME, 'A', [LOST])
  await post(`/monitors/${id}/check`)
  await reported('/up', LOST)
  await postgres.query('truncate events cascade', 'zonewatch')

  await server.kill()
  await postgres.stop()
  const pending = idsOf(received('/down', FIRST))
  receiver.reset()
  dns.set(NAME, 'A', [NEW])
  await cp(join(folder, 'backups/base'), join(folder, 'restored'), { recursive: true })
  const lines = recovering.replace(/(recovery_target_time = )'.*'/, `$1'${moment!.at}'`)
  await appendFile(join(folder, 'restored/postgresql.auto.conf'), lines)
  await writeFile(join(folder, 'restored/recovery.signal'), '')
  giveToPostgres(folder)
  const restored = await Postgres.open(join(folder, 'restored'))
  running.push(restored)
  await eventually(
    () => restored.query<{ pg_is_in_recovery: boolean }>('select pg_is_in_recovery()'),
    ([row]) => row?.pg_is_in_recovery === false,
  )
  await continues(restored.url('zonewatch'), [FIRST, SECOND], pending)

  receiver.reset()
  await postgres.start()
  await sh(restoreDump)
  await continues(postgres.url('zonewatch_restored'), [FIRST], pending)

  /** Starts a node on what was restored: it has these values and no later ones, and goes on where they end. */
  async function continues(databaseUrl: string, values: string[], pending: Set<string>): Promise<void> {
    const node = await givenServer({ ...settings, DATABASE_URL: databaseUrl })
    onTestFinished(() => node.kill())
    const { get, post } = createApi(node.url, ADMIN_KEY)
    const eventsOf = async () => (await get<{ data: Event[] }>('/events?limit=100')).body.data
    const before = await eventsOf()
    expect(before.map(({ current_value }) => current_value?.join())).toEqual(values)
    expect((await post(`/monitors/${id}/check`)).status).toBe(202)
    await reported('/up', NEW)
    expect((await eventsOf()).map(({ current_value }) => current_value?.join())).toEqual([...values, NEW])
    // What the webhook that was down did not get is still pending, under the old id.
    const [request] = pending
    await post(`/webhooks/${down!.id}/requests/${request}/retry`)
    await reported('/down', FIRST)
    expect(idsOf(received('/down', FIRST))).toEqual(pending)
    expect(received('/up', LOST)).toEqual([])
    await node.kill()
  }
})

/** The blocks of the guide for this language, with the folders of this test. */
async function blocksOf(language: string): Promise<string[]> {
  const text = await readFile(GUIDE, 'utf8')
  const blocks = [...text.matchAll(new RegExp(`^( *)\`\`\`${language}\\n([\\s\\S]*?)^ *\`\`\``, 'gm'))]
  return blocks.map(([, indent = '', block = '']) =>
    block.replaceAll(new RegExp(`^${indent}`, 'gm'), '').replaceAll(/\/(archive|backups)\b/g, `${folder}/$1`),
  )
}

const deliveryOf = ({ body }: Received) => JSON.parse(body.toString()) as Delivery
const received = (path: string, value: string) =>
  receiver.received.filter((one) => one.path === path && deliveryOf(one).event.current_value?.[0] === value)
const idsOf = (requests: Received[]) => new Set(requests.map((one) => deliveryOf(one).id))

const reported = (path: string, value: string) =>
  eventually(
    async () => received(path, value).length,
    (count) => count > 0,
    120_000,
  )
