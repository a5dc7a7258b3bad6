import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '#server/clock.ts'
import { type DnsServer, startDnsServer } from '#server/testing/dns-server.ts'
import { type Receiver, startReceiver } from '#server/testing/receiver.ts'
import { PROJECT } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, serverSettings } from '#server/testing/test-server.ts'
import { type Daemon, HUB, type Lab, type Machine, startLab } from './lab.ts'
import {
  type DatabaseNode,
  PASSWORD,
  type PostgresCluster,
  startPostgresCluster,
  startProxies,
  until,
} from './postgres-cluster.ts'
import { Workload } from './workload.ts'

/** FAULTS=kill,freeze runs these alone; .ci/run has time for one of them. */
const chosen = process.env.FAULTS?.split(',')
/** From the new primary on, until a write is acknowledged, checked and reported again. */
const RESUMED_MS = 30_000

const DIRECT = `postgres://postgres:${PASSWORD}@${HUB}:5000/zonewatch`
/** PgBouncer in transaction mode. */
const POOLED = `postgres://postgres@${HUB}:6432/zonewatch`

let lab: Lab
let cluster: PostgresCluster
let dns: DnsServer
let receiver: Receiver
let farMachine: Machine
let servers: Daemon[]
let workload: Workload

beforeAll(async () => {
  lab = startLab()
  cluster = await startPostgresCluster(lab)
  startProxies(lab, [8081, 8082])
  ;[dns, receiver] = await Promise.all([startDnsServer({ ip: HUB }), startReceiver({ ip: HUB })])
  await until('a database', cluster.output, () =>
    createDatabase().then(
      () => true,
      () => false,
    ),
  )
  farMachine = lab.addMachine(10)
  servers = [
    startNode(lab.hub, 'api1', { ROLES: 'api', PORT: '8081', DATABASE_URL: DIRECT }),
    startNode(lab.hub, 'api2', { ROLES: 'api', PORT: '8082', DATABASE_URL: POOLED }),
    startNode(lab.hub, 'worker1', { ROLES: 'checker,delivery', WORKERS: '1', DATABASE_URL: POOLED }),
    startNode(farMachine, 'worker2', { ROLES: 'checker,delivery', WORKERS: '1', DATABASE_URL: DIRECT }),
  ]
  const url = `http://${HUB}:8080`
  await until('a ready API', logs, () =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  )
  workload = new Workload({ url, key: ADMIN_KEY, dns, receiver })
  await workload.start({ zones: 10, writers: 2 })
  await workload.roundTrip()
})

afterAll(async () => {
  await Promise.all([dns?.close(), receiver?.close()])
  await lab?.end()
})

test.each(scenarios().filter(({ name }) => chosen === undefined || chosen.includes(name)))('$name: $what', ({ run }) =>
  run(),
)

type Scenario = { name: string; what: string; run: () => Promise<void> }

function scenarios(): Scenario[] {
  const takeover = 'another node becomes the primary, and work goes on by itself'
  return [
    {
      name: 'kill',
      what: takeover,
      run: () =>
        loseThePrimary(
          ({ machine }) => machine.powerOff(),
          ({ machine }) => machine.boot(),
        ),
    },
    {
      name: 'freeze',
      what: takeover,
      run: () =>
        loseThePrimary(
          ({ machine }) => machine.signal('SIGSTOP'),
          // Without a watchdog: the former primary goes on where it was, until Patroni stops it.
          ({ machine }) => machine.signal('SIGCONT'),
        ),
    },
    {
      name: 'cut',
      what: takeover,
      run: () =>
        loseThePrimary(
          ({ machine }) => machine.cutOff(),
          ({ machine }) => machine.reconnect(),
        ),
    },
    {
      name: 'disk',
      what: 'the disk of the primary is full for 15 s, and work goes on when it is not',
      async run() {
        // Nothing may need a new file of the log, and then the primary stays and takes no writes.
        const primary = (await cluster.primary())!
        primary.fillDisk()
        await systemClock.sleep(15_000)
        primary.freeDisk()
        await resumed()
        await cluster.whole()
      },
    },
    {
      name: 'etcd',
      what: 'all of it restarts, and the primary stays',
      async run() {
        const primary = (await cluster.primary())!
        for (const { etcd } of cluster.nodes) etcd.signal('SIGKILL')
        await resumed()
        await cluster.whole()
        expect((await cluster.primary())!.name).toBe(primary.name)
      },
    },
    {
      name: 'node',
      what: 'a Zonewatch node is cut off for 10 s, and the others do its work',
      async run() {
        farMachine.cutOff()
        await resumed()
        await systemClock.sleep(10_000)
        farMachine.reconnect()
        await workload.roundTrip()
      },
    },
  ]
}

async function loseThePrimary(strike: (primary: DatabaseNode) => void, repair: (primary: DatabaseNode) => void) {
  const primary = (await cluster.primary())!
  const from = systemClock.elapsed()
  strike(primary)
  await until('another primary', cluster.output, () => cluster.primary(primary))
  process.stdout.write(`Another primary after ${Math.round(systemClock.elapsed() - from)} ms.\n`)
  await resumed()
  repair(primary)
  await cluster.whole()
  await workload.roundTrip()
}

test('every event exists exactly once, every request keeps its id and body, and no acknowledged write is lost', async () => {
  await workload.stop()
  const result = await workload.verify(DIRECT).catch((error: Error) => {
    throw new Error(`${error.message}\n${logs()}`)
  })
  process.stdout.write(`${JSON.stringify({ ...result, refused: workload.refused() })}\n`)
  expect(logs()).not.toContain('A process ended unexpectedly')
  expect(logs()).not.toMatch(/worker\d ended|api\d ended/)
})

async function resumed(): Promise<void> {
  const from = systemClock.elapsed()
  await workload.roundTrip()
  const ms = systemClock.elapsed() - from
  process.stdout.write(`Written, checked and reported again after ${Math.round(ms)} ms.\n`)
  expect(ms, logs()).toBeLessThan(RESUMED_MS)
}

function startNode(machine: Machine, name: string, settings: Record<string, string>): Daemon {
  const common = serverSettings({ dns, databaseUrl: '', folder: join(lab.folder, name) })
  const env = {
    ...common,
    ...ADMIN,
    HOST: HUB,
    WEBHOOK_ALLOWED_NETWORKS: '10.99.0.0/24',
    LOG_FORMAT: 'json',
    ...settings,
  }
  return machine.service(name, [process.execPath, join(PROJECT, 'server/main.ts'), 'serve'], { env })
}

async function createDatabase(): Promise<void> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: DIRECT.replace('/zonewatch', '/postgres') })
  await client.connect()
  try {
    await client.query('create database zonewatch')
  } finally {
    await client.end()
  }
}

function logs(): string {
  return servers.map((server) => server.output().slice(-6_000)).join('\n')
}
