import { randomBytes, randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '#server/clock.ts'
import type { Finding } from '#server/doctor/finding.ts'
import { run } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, eventually } from '#server/testing/test-server.ts'
import { blockWith, copyPackage, fillNpmCache, installDebian } from './debian.ts'
import {
  type BareMachine,
  block,
  blocksOf,
  createDatabase,
  type DatabaseServer,
  DatabaseServers,
  installNode,
  ok,
  packagesOf,
  TIMEOUT_MS,
} from './installation.ts'
import { type Lab, startLab } from './lab.ts'

/** The addresses are those of the guide, on a network of its own. */
const SERVERS = [1, 2, 3] // 10.0.0.11 to 10.0.0.13
const NODE = 11 // 10.0.0.21
const [PASSWORD, OTHER_PASSWORD] = [randomBytes(12).toString('hex'), randomBytes(12).toString('hex')]

let lab: Lab
let servers: DatabaseServers
let node: BareMachine

beforeAll(async () => {
  lab = startLab({ network: '10.0.0', isApart: true })
  const first = installDebian(packagesOf('patroni etcd-server'))
  const archive = join(lab.folder, 'archive')
  mkdirSync(archive)
  servers = new DatabaseServers(
    [first, first.copy(), first.copy()].map((debian, index) => {
      debian.binds.push(`${archive}:/archive`)
      return { machine: lab.addMachine(SERVERS[index]!), debian }
    }),
  )
  node = { machine: lab.addMachine(NODE), debian: installDebian([...packagesOf('haproxy'), 'npm', 'libatomic1']) }
  copyPackage(node.debian)
  fillNpmCache(node.debian)
  for (const { debian, machine } of [...servers.all, node]) await debian.boot(machine.space)
})

afterAll(async () => {
  await Promise.all([...(servers?.all ?? []), ...(node ? [node] : [])].map(({ debian }) => debian.remove()))
  await lab?.end()
})

test('the guide turns three bare machines into a cluster that a node works with', async () => {
  await servers.install(PASSWORD)
  await ok(node, block('haproxy.cfg'))
  await createDatabase(node, { postgres: PASSWORD, zonewatch: OTHER_PASSWORD })
  // Without the network that the test does not have.
  const without = { DNS_SERVERS: '127.0.0.1:9', DNS_ROOTS: 'off', DNS_CANARIES: 'off', WRITE_LIMIT: '0' }
  await installNode(node, OTHER_PASSWORD, { ...ADMIN, ...without, SECRET: randomBytes(32).toString('base64') })
  await written()
})

test('the guide dumps the database every night and keeps 14 dumps, each of which can be restored', async () => {
  const { debian } = node
  await ok(node, block('zonewatch-dump.timer'))
  expect((await debian.sh('systemctl is-active zonewatch-dump.timer')).stdout).toBe('active\n')
  const dumps = 'cd /var/lib/zonewatch-dumps'
  const [made = ''] = (await debian.sh(`${dumps}; ls`)).stdout.split('\n')
  expect(made).toMatch(/^zonewatch-\d{8}T\d{6}Z\.dump$/)
  const { stdout } = await debian.sh(
    `${dumps}; stat --format=%a ${made}; pg_restore --data-only --table=groups --file=- ${made}`,
  )
  expect(stdout).toMatch(/^600\n[\s\S]*\tGroup /)

  await ok(node, `${dumps}; for day in $(seq 10 30); do touch zonewatch-202001\${day}T030000Z.dump; done`)
  await ok(node, 'systemctl start zonewatch-dump')
  const kept = (await debian.sh(`${dumps}; ls`)).stdout.trim().split('\n')
  expect(kept).toHaveLength(14)
  expect(kept.some((name) => name >= made)).toBe(true)
  expect(kept).toContain('zonewatch-20200130T030000Z.dump')
  expect(kept).not.toContain('zonewatch-20200110T030000Z.dump')
})

test('metrics and doctor show the last dump and a failed one', async () => {
  const metrics = `http://${node.machine.address}:9464/metrics`
  const isFailed = async (is: 0 | 1) =>
    eventually(
      () => atHub('curl', '--silent', metrics),
      ({ stdout }) => stdout.includes(`\nzonewatch_last_backup_failed ${is}\n`),
    )
  await isFailed(0)
  expect(await backupInDoctor()).toMatchObject({ status: 'ok', detail: expect.stringContaining('/zonewatch-20') })
  // It cannot be written, as on a full disk.
  await ok(node, 'mkdir /var/lib/zonewatch-dumps/unfinished; ! systemctl start zonewatch-dump')
  await isFailed(1)
  expect(await backupInDoctor()).toMatchObject({ status: 'failure', detail: expect.stringContaining('journalctl') })
  await ok(node, 'rmdir /var/lib/zonewatch-dumps/unfinished; systemctl restart zonewatch-dump')
  await isFailed(0)
})

test('the guide restores the cluster to the moment before groups were deleted', async () => {
  const [createFolders, turnOn, copy, moveAway, restore] = blocksOf('Restore the cluster to any moment')
  const [first, ...others] = servers.all as [DatabaseServer, ...DatabaseServer[]]
  await ok(first, createFolders!)
  for (const server of servers.all) await ok(server, turnOn!)
  await ok(first, copy!)
  await servers.waitUntilComplete()
  const groups = [await written()]
  // What another primary writes is archived too.
  await bringBack(await loseThePrimary())
  groups.push(await written())
  const moment = (await node.debian.sh('date --utc "+%F %T.%N+00"')).stdout.trim()
  await systemClock.sleep(100)
  for (const id of groups) expect(await call('-X', 'DELETE', `/groups/${id}`)).toMatchObject({ code: 0 })
  const lost = await written()

  await ok(node, 'systemctl stop zonewatch')
  const leader = await servers.withRole('Leader')
  for (const server of servers.all) if (server !== leader) await ok(server, 'systemctl stop patroni')
  await ok(leader, 'systemctl stop patroni')
  for (const server of servers.all) await ok(server, moveAway!)
  const base = (await first.debian.sh('ls -d /archive/base-*')).stdout.trim()
  const filled = restore!.replace(/MOMENT='.*?' BASE=\S+/, `MOMENT='${moment}' BASE=${base}`)
  expect(filled).not.toBe(restore)
  await ok(first, filled)
  for (const server of others) await ok(server, 'systemctl start patroni')
  await servers.waitUntilComplete()
  await ok(node, 'systemctl start zonewatch')
  await ok(first, 'systemctl start zonewatch-base')

  groups.push(await written())
  for (const id of groups) expect(await call(`/groups/${id}`)).toMatchObject({ code: 0 })
  expect(await call(`/groups/${lost}`)).toMatchObject({ code: 22 })
  await bringBack(await loseThePrimary())
  for (const id of groups) expect(await call(`/groups/${id}`)).toMatchObject({ code: 0 })
})

test.each(['etcd', 'patroni'])(
  'the cluster recovers by itself after %s is stopped or killed on the primary',
  async (service) => {
    for (const signal of ['TERM', 'KILL']) {
      const leader = await servers.withRole('Leader')
      const mainProcess = () => ok(leader, `systemctl show --property=MainPID --value ${service}`)
      const ended = await mainProcess()
      await ok(leader, `systemctl kill --signal=${signal} --kill-whom=main ${service}`)
      await eventually(mainProcess, (pid) => pid !== ended && pid !== '0\n')
      await written()
      await servers.waitUntilComplete()
    }
  },
)

test('the cluster recovers by itself after PostgreSQL is killed on the primary', async () => {
  await ok(await servers.withRole('Leader'), 'kill -9 $(head -n 1 /var/lib/postgresql/15/zonewatch/postmaster.pid)')
  await written()
  await servers.waitUntilComplete()
})

test('the cluster recovers by itself after the machine of the primary is lost and returns', async () => {
  const lost = await loseThePrimary()
  expect((await servers.withRole('Leader')).name).not.toBe(lost.name)
  await bringBack(lost)
  await written()
})

async function loseThePrimary(): Promise<DatabaseServer> {
  const lost = await servers.withRole('Leader')
  await lost.debian.powerOff()
  await written()
  return lost
}

async function bringBack({ debian, machine }: DatabaseServer): Promise<void> {
  await debian.boot(machine.space)
  await servers.waitUntilComplete()
}

/** A write by the API of the node, which the caller repeats until it is acknowledged. Returns the id of the group. */
async function written(): Promise<string> {
  const from = systemClock.elapsed()
  const request = ['--header', `Idempotency-Key: ${randomUUID()}`, '--json', `{"name":"Group ${randomUUID()}"}`]
  const { stdout } = await eventually(
    () => call(...request, '/groups'),
    ({ code }) => code === 0,
    TIMEOUT_MS,
  )
  process.stdout.write(`Written after ${Math.round(systemClock.elapsed() - from)} ms.\n`)
  return JSON.parse(stdout).id
}

/** The API of the node, by curl. The last argument is the path. */
function call(...args: string[]) {
  const url = `http://${node.machine.address}:8080${args.at(-1)}`
  const curl = ['curl', '--silent', '--fail', '--max-time', '5', '--header', `X-Api-Key: ${ADMIN_KEY}`]
  return atHub(...curl, ...args.slice(0, -1), url)
}

const atHub = (...command: string[]) => run(['ip', 'netns', 'exec', lab.hub.space!, ...command], {}).ended

async function backupInDoctor(): Promise<Finding> {
  const { stdout } = await node.debian.sh(`${blockWith('zonewatch() (', 'install')}\nzonewatch doctor --json`)
  return (JSON.parse(stdout) as Finding[]).find(({ check }) => check === 'backup')!
}
