import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '#server/clock.ts'
import type { Finding } from '#server/doctor/finding.ts'
import { PROJECT, run } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, eventually } from '#server/testing/test-server.ts'
import { blockWith, copyPackage, fillNpmCache, installDebian } from './debian.ts'
import {
  type Authority,
  type BareMachine,
  block,
  createDatabase,
  DatabaseServers,
  installNode,
  installProxies,
  ok,
  packagesOf,
  startAuthority,
  TIMEOUT_MS,
  withHosts,
} from './installation.ts'
import { type Lab, startLab } from './lab.ts'
import type { Command } from './workload-process.ts'

/** The addresses are those of the guide: 10.0.0.11 and so on. */
const [SERVERS, NODES, PROXIES, MONITORING] = [[1, 2, 3], [11, 12], [22, 23], 30] as const
const [SHARED, NAME] = ['10.0.0.31', 'zonewatch.example.com']
const [PASSWORD, OTHER_PASSWORD] = [randomBytes(12).toString('hex'), randomBytes(12).toString('hex')]
/** How long a write, its check and its report may take after a machine is lost. The guide has the usual times. */
const RESUMED_MS = { database: 60_000, node: 30_000, proxy: 20_000, monitoring: 10_000 }

let lab: Lab
let servers: DatabaseServers
let nodes: BareMachine[]
let proxies: [BareMachine, BareMachine]
let monitoring: BareMachine
let all: BareMachine[]
let authority: Authority
let workload: ChildProcess

beforeAll(async () => {
  lab = startLab({ network: '10.0.0', isApart: true })
  const given = (packages: string[], numbers: readonly number[], prepare = (_: BareMachine) => {}): BareMachine[] => {
    const first = installDebian([...packages, ...packagesOf('prometheus-node-exporter')])
    const bare = { machine: lab.addMachine(numbers[0]!), debian: first }
    prepare(bare)
    return [bare, ...numbers.slice(1).map((number) => ({ machine: lab.addMachine(number), debian: first.copy() }))]
  }
  servers = new DatabaseServers(given(packagesOf('patroni etcd-server'), SERVERS))
  nodes = given([...packagesOf('haproxy'), 'npm', 'libatomic1'], NODES, ({ debian }) => {
    copyPackage(debian)
    fillNpmCache(debian)
  })
  proxies = given(packagesOf('keepalived'), PROXIES) as [BareMachine, BareMachine]
  monitoring = given(packagesOf('several-nodes.yml'), [MONITORING])[0]!
  all = [...servers.all, ...nodes, ...proxies, monitoring]
  authority = await startAuthority(lab, proxies[0].debian, NAME, SHARED)
  for (const { debian } of proxies) {
    appendFileSync(join(debian.folder, 'etc/hosts'), `${lab.hub.address} acme-v02.api.letsencrypt.org\n`)
    const trusted = join(debian.folder, 'usr/local/share/ca-certificates/authority.crt')
    writeFileSync(trusted, readFileSync(authority.certificate))
  }
  for (const { debian, machine } of all) await debian.boot(machine.space)
  for (const proxy of proxies) await ok(proxy, 'update-ca-certificates')
  workload = startWorkload()
})

afterAll(async () => {
  workload?.disconnect()
  await Promise.all((all ?? []).map(({ debian }) => debian.remove()))
  await lab?.end()
})

test('the guides turn eight bare machines into an installation', async () => {
  await servers.install(PASSWORD)
  for (const node of nodes) await ok(node, block('haproxy.cfg'))
  await createDatabase(nodes[0]!, { postgres: PASSWORD, zonewatch: OTHER_PASSWORD })
  const settings = {
    ...ADMIN,
    SECRET: randomBytes(32).toString('base64'),
    DNS_SERVERS: `${lab.hub.address}:${await ask('dnsPort')}`,
    DNS_ROOTS: 'off',
    DNS_CANARIES: 'off',
    WEBHOOK_ALLOWED_NETWORKS: '10.0.0.0/24',
    READ_LIMIT: '0',
    WRITE_LIMIT: '0',
    CREATE_LIMIT: '0',
  }
  for (const node of nodes) await installNode(node, OTHER_PASSWORD, settings)
  await ok(nodes[0]!, block('zonewatch-dump.timer'))
  await installProxies(proxies)
  for (const each of all) await ok(each, block('prometheus-node-exporter'))
  await ok(monitoring, block('several-nodes.yml'))

  await ask('start')
  await ask('roundTrip')
  await eventually(
    () => query('up == 1'),
    (up) => up?.length === 13,
    TIMEOUT_MS,
  )
  const doctor = await nodes[0]!.debian.sh(`${blockWith('zonewatch() (', 'install')}\nzonewatch doctor --json`)
  const findings = JSON.parse(doctor.stdout) as Finding[]
  for (const name of ['settings', 'migrations', 'backup', 'instances', 'clocks', 'connections', 'read replica']) {
    expect(findings.find(({ check }) => check === name)).toMatchObject({ check: name, status: 'ok' })
  }
  // In minutes of the guide, a lost machine takes too long for a test.
  await ok(monitoring, 'sed -i "s/for: [12]m$/for: 15s/" /etc/prometheus/*.rules.yml; systemctl restart prometheus')
  await eventually(alerts, (found) => found.length === 0, TIMEOUT_MS)
})

test.each([
  ['the machine of the primary', 'database', () => servers.withRole('Leader')],
  ['the machine of the synchronous standby', 'database', () => servers.withRole('Sync Standby')],
  ['the machine of the other standby', 'database', () => servers.withRole('Replica')],
  ['the first node', 'node', async () => nodes[0]!],
  ['the second node', 'node', async () => nodes[1]!],
  ['the proxy with the address', 'proxy', async () => (await holder())!],
  ['the proxy without the address', 'proxy', async () => proxies.find((_, at) => at !== heldAt)!],
  ['the monitoring machine', 'monitoring', async () => monitoring],
] as const)('%s is lost and comes back, and nothing has to be repaired', async (_, kind, choose) => {
  await holder()
  const lost = await choose()
  const from = systemClock.elapsed()
  lost.machine.cutOff()
  await lost.debian.powerOff()
  await ask('roundTrip')
  const ms = Math.round(systemClock.elapsed() - from)
  process.stdout.write(`${kind} ${lost.machine.address}: written, checked and reported again after ${ms} ms.\n`)
  const { address, space } = lost.machine
  const expected = [`MachineDown ${address}:9100`]
  if (kind === 'node') expected.push(`ZonewatchDown ${address}:9464`)
  if (kind !== 'monitoring')
    await eventually(toBeMailed, (found) => expected.every((alert) => found.includes(alert)), TIMEOUT_MS)
  // The addresses that a kernel was given are gone with it.
  if (kind === 'proxy') await run(['ip', '-n', space!, 'address', 'delete', `${SHARED}/32`, 'dev', 'eth0'], {}).ended
  lost.machine.reconnect()
  await lost.debian.boot(lost.machine.space)
  await servers.waitUntilComplete()
  await ask('roundTrip')
  await eventually(alerts, (found) => found.length === 0, TIMEOUT_MS)
  expect(ms).toBeLessThan(RESUMED_MS[kind])
})

test('every event exists once, every request keeps its body, and no acknowledged write is lost', async () => {
  await ask('stop')
  const { machine } = await servers.withRole('Leader')
  const result = await ask('verify', `postgres://zonewatch:${OTHER_PASSWORD}@${machine.address}/zonewatch`)
  process.stdout.write(`${JSON.stringify({ ...(result as object), refused: await ask('refused') })}\n`)
})

/** At the hub, as any client of the shared address. */
function startWorkload(): ChildProcess {
  const file = join(PROJECT, 'e2e/deploy/workload-process.ts')
  const command = [process.execPath, file, lab.hub.address, `https://${NAME}`, ADMIN_KEY]
  return spawn('ip', ['netns', 'exec', lab.hub.space!, ...withHosts(authority.hosts, command)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, NODE_EXTRA_CA_CERTS: authority.certificate },
  })
}

let asked = 0
function ask(name: Command, argument = ''): Promise<unknown> {
  const number = ++asked
  return new Promise((resolve, reject) => {
    const onMessage = (answer: { number: number; result?: unknown; error?: string }) => {
      if (answer.number !== number) return
      workload.off('message', onMessage)
      if (answer.error) reject(new Error(answer.error))
      else resolve(answer.result)
    }
    workload.on('message', onMessage)
    workload.send({ number, name, argument })
  })
}

let heldAt = 0
async function holder(): Promise<BareMachine | undefined> {
  const shows = async () => {
    const lists = await Promise.all(proxies.map(({ debian }) => debian.sh('ip -brief address show dev eth0')))
    return lists.flatMap(({ stdout }, at) => (stdout.includes(`${SHARED}/`) ? [at] : []))
  }
  const [at] = await eventually(shows, ({ length }) => length === 1)
  heldAt = at!
  return proxies[heldAt]
}

type Sample = { metric: Record<string, string> }

/** Undefined: Prometheus does not answer. */
async function query(statement: string): Promise<Sample[] | undefined> {
  return (await read(`9090/api/v1/query?query=${encodeURIComponent(statement)}`))?.data?.result
}

/** Of the monitoring machine. */
async function read(path: string) {
  const curl = ['curl', '--silent', '--fail', '--max-time', '5', `http://${monitoring.machine.address}:${path}`]
  const { code, stdout } = await run(['ip', 'netns', 'exec', lab.hub.space!, ...curl], {}).ended
  return code === 0 ? JSON.parse(stdout) : undefined
}

/** What Alertmanager has. */
async function toBeMailed(): Promise<string[]> {
  const found: { labels: Record<string, string> }[] = (await read('9093/api/v2/alerts?active=true')) ?? []
  return found.map(({ labels }) => `${labels.alertname} ${labels.instance}`)
}

/** About machines and services: those that fire, and what does not answer at this moment. */
async function alerts(): Promise<string[]> {
  const names = 'Machine(Service)?Down|Zonewatch(Process)?Down|ZonewatchRoleMissing|DatabaseWithout.*'
  const found = await query(`ALERTS{alertstate="firing",alertname=~"${names}"} or up == 0`)
  return found?.map(({ metric }) => `${metric.alertname ?? 'up'} ${metric.instance}`) ?? ['Prometheus does not answer']
}
