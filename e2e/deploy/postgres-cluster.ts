import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { systemClock } from '#server/clock.ts'
import { PROJECT } from '#server/testing/server-process.ts'
import { type Daemon, HUB, type Lab, type Machine, machineAddress, mountDisk } from './lab.ts'

/** PostgreSQL on three machines with Patroni and etcd: a primary, a synchronous standby and a replica. */
export type PostgresCluster = {
  nodes: readonly DatabaseNode[]
  /** The current primary by Patroni's API, or undefined without one. `other`: a node that is not the primary. */
  primary(other?: DatabaseNode): Promise<DatabaseNode | undefined>
  /** Waits for all three, with a synchronous standby. */
  whole(): Promise<void>
  output(): string
}

export type DatabaseNode = {
  name: string
  machine: Machine
  etcd: Daemon
  patroni: Daemon
  fillDisk(): void
  freeDisk(): void
}

const NODES = [1, 2, 3]
/**
 * With etcd's API v3 Patroni before 3.0.3, as in Debian 12, overwrites the lock of a new primary after a network cut, which
 * loses acknowledged writes (patroni/patroni pull request 2689). With API v2 it compares first.
 */
const HAS_SAFE_LOCK = isAtLeast([3, 0, 3], execFileSync('patroni', ['--version'], { encoding: 'utf8' }))
const DISK_MB = 600
export const PASSWORD = 'SyntheticPassword'

export async function startPostgresCluster(lab: Lab): Promise<PostgresCluster> {
  const nodes = NODES.map((number) => startNode(lab, number))
  const cluster: PostgresCluster = {
    nodes,
    async primary(other) {
      const candidates = nodes.filter((node) => node !== other)
      const answers = await Promise.all(
        candidates.map(async (node) => ((await statusOf(node, 'primary')) === 200 ? node : undefined)),
      )
      return answers.find((node) => node !== undefined)
    },
    async whole() {
      await until('three nodes with a synchronous standby', cluster.output, async () => {
        const [primary, ...replicas] = [
          await cluster.primary(),
          ...(await Promise.all(nodes.map((node) => statusOf(node, 'replica')))),
        ]
        const synchronous = await Promise.all(nodes.map((node) => statusOf(node, 'synchronous')))
        return primary && replicas.filter((status) => status === 200).length === 2 && synchronous.includes(200)
      })
    },
    output: () =>
      nodes
        .map(
          ({ name, patroni, etcd }) => `== ${name}\n${etcd.output().slice(-1_500)}\n${patroni.output().slice(-4_000)}`,
        )
        .join('\n'),
  }
  await cluster.whole()
  return cluster
}

/** Patroni answers 200 only on nodes with this role. */
async function statusOf({ machine }: DatabaseNode, role: string): Promise<number> {
  const answer = await fetch(`http://${machine.address}:8008/${role}`, { signal: AbortSignal.timeout(1_000) }).catch(
    () => undefined,
  )
  await answer?.body?.cancel().catch(() => {})
  return answer?.status ?? 0
}

function startNode(lab: Lab, number: number): DatabaseNode {
  const name = `n${number}`
  const machine = lab.addMachine(number)
  const folder = join(lab.folder, name)
  mkdirSync(folder)
  execFileSync('chown', ['postgres', folder])
  const disk = join(folder, 'disk')
  mountDisk(disk, DISK_MB, 'postgres')
  const etcd = machine.service(`etcd ${name}`, ['etcd', '--data-dir', join(folder, 'etcd'), '--log-level', 'warn'], {
    user: 'postgres',
    env: environmentIn(fileFor('etcd', number)),
  })
  const file = join(folder, 'patroni.yaml')
  writeFileSync(file, JSON.stringify(patroniSettings(number, disk, folder), null, 2))
  const patroni = machine.service(`patroni ${name}`, ['patroni', file], { user: 'postgres' })
  const filler = join(disk, 'filler')
  return {
    name,
    machine,
    etcd,
    patroni,
    fillDisk: () => void execFileSync('sh', ['-c', `cat /dev/zero > ${filler} 2>/dev/null || true`]),
    freeDisk: () => rmSync(filler, { force: true }),
  }
}

/** A file of deploy/ with the values of the guide, on the lab's network. */
function fileFor(path: string, number: number): string {
  const values: Record<string, string> = { NAME: `n${number}`, ADDRESS: machineAddress(number), PASSWORD }
  return readFileSync(join(PROJECT, 'deploy/postgres-cluster', path), 'utf8')
    .replaceAll(/@([A-Z]+)@/g, (_, name: string) => values[name]!)
    .replaceAll('10.0.0.', '10.99.0.')
}

const environmentIn = (text: string) =>
  Object.fromEntries([...text.matchAll(/^([A-Z_0-9]+)=(.*)$/gm)].map(([, name, value]) => [name!, value!]))

/** The file of deploy/ as JSON, which is YAML, with the folders of the test and a small disk. */
function patroniSettings(number: number, disk: string, folder: string) {
  const [version] = readdirSync('/usr/lib/postgresql').sort((a, b) => Number(b) - Number(a))
  const { etcd, ...given } = parse(fileFor('patroni.yml', number))
  Object.assign(given.bootstrap.dcs.postgresql.parameters, {
    shared_buffers: '64MB',
    max_wal_size: '128MB',
    min_wal_size: '32MB',
    wal_keep_size: '64MB',
  })
  Object.assign(given.postgresql, {
    bin_dir: `/usr/lib/postgresql/${version}/bin`,
    data_dir: join(disk, 'data'),
    pgpass: join(folder, 'pgpass'),
    parameters: { unix_socket_directories: folder },
  })
  return { ...given, [HAS_SAFE_LOCK ? 'etcd3' : 'etcd']: etcd }
}

function isAtLeast(minimum: readonly number[], text: string): boolean {
  const version = /\d+(\.\d+)+/.exec(text)![0].split('.').map(Number)
  const index = minimum.findIndex((part, position) => part !== (version[position] ?? 0))
  return index === -1 || (version[index] ?? 0) > minimum[index]!
}

/** At the hub: port 5000 is the primary, 5001 a standby, 8080 a ready Zonewatch, 6432 PgBouncer. */
export function startProxies(lab: Lab, apis: readonly number[]): { haproxy: Daemon; pgbouncer: Daemon } {
  writeFileSync(
    join(lab.folder, 'haproxy.cfg'),
    `${fileFor('haproxy.cfg', 0).replaceAll('127.0.0.1', HUB)}
listen zonewatch
  mode http
  bind ${HUB}:8080
  option httpchk GET /readyz
  option redispatch
  timeout client 60s
  timeout server 60s
  default-server inter 1s fall 2 rise 1
${apis.map((port) => `  server api${port} ${HUB}:${port} check`).join('\n')}
`,
  )
  writeFileSync(
    join(lab.folder, 'pgbouncer.ini'),
    `[databases]
* = host=${HUB} port=5000 user=postgres password=${PASSWORD}
[pgbouncer]
listen_addr = ${HUB}
listen_port = 6432
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 200
default_pool_size = 20
server_login_retry = 1
`,
  )
  return {
    haproxy: lab.hub.service('haproxy', ['haproxy', '-db', '-f', join(lab.folder, 'haproxy.cfg')]),
    pgbouncer: lab.hub.service('pgbouncer', ['pgbouncer', join(lab.folder, 'pgbouncer.ini')], { user: 'postgres' }),
  }
}

export async function until(
  what: string,
  output: () => string,
  isSo: () => Promise<unknown>,
  timeoutMs = 240_000,
): Promise<void> {
  const giveUpAt = systemClock.elapsed() + timeoutMs
  while (!(await isSo())) {
    if (systemClock.elapsed() > giveUpAt) throw new Error(`${what}: not so within ${timeoutMs} ms\n${output()}`)
    await systemClock.sleep(200)
  }
}
