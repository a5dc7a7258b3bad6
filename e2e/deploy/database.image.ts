import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '#server/clock.ts'
import { PROJECT, run } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, eventually } from '#server/testing/server-world.ts'
import { blockWith, type Debian, installDebian } from './debian.ts'
import { type Lab, type Machine, startLab } from './lab.ts'

/** The addresses are those of the guide, on a network of its own. */
const SERVERS = [1, 2, 3] // 10.0.0.11 to 10.0.0.13
const NODE = 11 // 10.0.0.21
const [PASSWORD, OTHER_PASSWORD] = [randomBytes(12).toString('hex'), randomBytes(12).toString('hex')]
/** A bound for what hangs: a standby becomes the primary within 30 seconds. */
const PATIENCE_MS = 150_000

type Server = { name: string; machine: Machine; debian: Debian }

let lab: Lab
let servers: Server[]
let node: { machine: Machine; debian: Debian }

beforeAll(async () => {
  lab = startLab({ network: '10.0.0', isApart: true })
  const first = installDebian(packagesOf('patroni etcd-server'))
  servers = [first, first.copy(), first.copy()].map((debian, index) => {
    const machine = lab.addMachine(SERVERS[index]!)
    return { name: `n${index + 1}`, machine, debian }
  })
  node = { machine: lab.addMachine(NODE), debian: installDebian(packagesOf('haproxy')) }
  for (const { debian, machine } of [...servers, node]) await debian.boot(machine.space)
})

afterAll(async () => {
  await Promise.all([...(servers ?? []), ...(node ? [node] : [])].map(({ debian }) => debian.remove()))
  await lab?.end()
})

const block = (text: string) => blockWith(text, 'several-nodes')
const packagesOf = (text: string) => /^apt-get install -y (.+)$/m.exec(block(text))![1]!.split(' ')

test('the guide makes a cluster of three bare machines, and a node that works with it', async () => {
  const given = /^NAME=n1 ADDRESS=10\.0\.0\.11 PASSWORD=…$/m
  expect(block('patroni etcd-server')).toMatch(given)
  await Promise.all(
    servers.map(({ debian, name, machine }) => {
      const own = `NAME=${name} ADDRESS=${machine.address} PASSWORD=${PASSWORD}`
      return ok(debian, `set -eu\n${block('patroni etcd-server').replace(given, own)}`)
    }),
  )
  await isWhole()

  await ok(node.debian, `set -eu\n${block('haproxy.cfg')}`)
  const create = block('create role zonewatch').replace('…', OTHER_PASSWORD)
  await eventually(
    () => node.debian.sh(`PGPASSWORD=${PASSWORD}\nexport PGPASSWORD\n${create}`),
    ({ stderr, code }) => code === 0 || !/could not|closed/.test(stderr),
  )
  startNode()
  await written()
})

test('the guide dumps the database every night, keeps 14, and each can be restored', async () => {
  const { debian } = node
  await ok(
    debian,
    `mkdir -p /etc/zonewatch && echo 'DATABASE_URL=${settings().DATABASE_URL}' > /etc/zonewatch/environment`,
  )
  await ok(debian, `set -eu\n${block('zonewatch-dump.timer')}`)
  expect((await debian.sh('systemctl is-active zonewatch-dump.timer')).stdout).toBe('active\n')
  const dumps = 'cd /var/lib/zonewatch-dumps'
  const [made = ''] = (await debian.sh(`${dumps}; ls`)).stdout.split('\n')
  expect(made).toMatch(/^zonewatch-\d{8}T\d{6}Z\.dump$/)
  const { stdout } = await debian.sh(
    `${dumps}; stat --format=%a ${made}; pg_restore --data-only --table=groups --file=- ${made}`,
  )
  expect(stdout).toMatch(/^600\n[\s\S]*\tGroup /)

  await ok(debian, `${dumps}; for day in $(seq 10 30); do touch zonewatch-202001\${day}T030000Z.dump; done`)
  await ok(debian, 'systemctl start zonewatch-dump')
  const kept = (await debian.sh(`${dumps}; ls`)).stdout.trim().split('\n')
  expect(kept).toHaveLength(14)
  expect(kept.some((name) => name >= made)).toBe(true)
  expect(kept).toContain('zonewatch-20200130T030000Z.dump')
  expect(kept).not.toContain('zonewatch-20200110T030000Z.dump')
})

test.each(['etcd', 'patroni'])(
  '%s ends on the primary, in order or not, and nothing has to be repaired',
  async (service) => {
    for (const signal of ['TERM', 'KILL']) {
      const { debian } = await primary()
      const mainProcess = async () => (await debian.sh(`systemctl show --property=MainPID --value ${service}`)).stdout
      const ended = await mainProcess()
      await ok(debian, `systemctl kill --signal=${signal} --kill-whom=main ${service}`)
      await eventually(mainProcess, (pid) => pid !== ended && pid !== '0\n')
      await written()
      await isWhole()
    }
  },
)

test('PostgreSQL is killed on the primary, and nothing has to be repaired', async () => {
  const { debian } = await primary()
  await ok(debian, 'kill -9 $(head -n 1 /var/lib/postgresql/15/zonewatch/postmaster.pid)')
  await written()
  await isWhole()
})

test('the machine of the primary is lost and comes back, and nothing has to be repaired', async () => {
  const lost = await primary()
  await lost.debian.powerOff()
  await written()
  expect((await primary()).name).not.toBe(lost.name)
  await lost.debian.boot(lost.machine.space)
  await isWhole()
  await written()
})

/** Of the guide. */
function settings(): Record<string, string> {
  const lines = block('TRUSTED_PROXIES=').replaceAll(':…@', `:${OTHER_PASSWORD}@`).trim().split('\n')
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)))
}

/** With the settings of the guide. In the network of its machine, where HAProxy is. */
function startNode(): void {
  const env = {
    ...ADMIN,
    ...settings(),
    SECRET: randomUUID(),
    DATA_DIR: join(lab.folder, 'node'),
    DNS_SERVERS: '127.0.0.1:9',
    DNS_ROOTS: 'off',
    DNS_CANARIES: 'off',
    WRITE_LIMIT: '0',
  }
  node.machine.service('node', [process.execPath, join(PROJECT, 'server/main.ts'), 'serve'], { env })
}

/** A write by the API of the node, which the caller repeats until it is acknowledged. */
async function written(): Promise<void> {
  const from = systemClock.elapsed()
  const headers = ['X-Api-Key', 'Content-Type', 'Idempotency-Key'].flatMap((name, at) => [
    ...['--header', `${name}: ${[ADMIN_KEY, 'application/json', randomUUID()][at]}`],
  ])
  const body = ['--data', JSON.stringify({ name: `Group ${randomUUID()}` })]
  const curl = ['curl', '--silent', '--fail', '--max-time', '5', ...headers, ...body]
  await eventually(
    () => run(['ip', 'netns', 'exec', lab.hub.space!, ...curl, `http://${node.machine.address}:8080/groups`], {}).ended,
    ({ code }) => code === 0,
    PATIENCE_MS,
  )
  process.stdout.write(`Written after ${Math.round(systemClock.elapsed() - from)} ms.\n`)
}

/** By the command of the guide: a leader, a synchronous standby and a replica. */
async function members(): Promise<{ Member: string; Role: string; State: string }[]> {
  const list = 'patronictl -c /etc/patroni/config.yml list --format json'
  const answers = await Promise.all(servers.map(({ debian }) => debian.sh(list)))
  for (const { code, stdout } of answers) if (code === 0) return JSON.parse(stdout)
  return []
}

async function isWhole(): Promise<void> {
  const isRunning = (state: string) => state === 'running' || state === 'streaming'
  await eventually(
    members,
    (found) =>
      found
        .map(({ Role }) => Role)
        .sort()
        .join() === 'Leader,Replica,Sync Standby' && found.every(({ State }) => isRunning(State)),
    PATIENCE_MS,
  )
}

async function primary(): Promise<Server> {
  const found = await eventually(
    async () => (await members()).find(({ Role }) => Role === 'Leader'),
    (member) => member !== undefined,
    PATIENCE_MS,
  )
  return servers.find(({ name }) => name === found!.Member)!
}

async function ok(debian: Debian, script: string): Promise<void> {
  const { code, stdout, stderr } = await debian.sh(script)
  expect(code, stdout + stderr).toBe(0)
}
