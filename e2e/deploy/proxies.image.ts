import { execFileSync } from 'node:child_process'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '#server/clock.ts'
import { PROJECT, run } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, eventually } from '#server/testing/test-server.ts'
import { installDebian } from './debian.ts'
import {
  type Authority,
  type BareMachine,
  block,
  installProxies,
  ok,
  packagesOf,
  startAuthority,
} from './installation.ts'
import { type Lab, type Machine, startLab } from './lab.ts'

/** The addresses are those of the guide, on a network of its own. */
const NETWORK = '10.0.0'
const [SHARED, NAME] = ['10.0.0.31', 'zonewatch.example.com']
const NODES = [11, 12] // 10.0.0.21 and 10.0.0.22
const PROXIES = [22, 23] // 10.0.0.32 and 10.0.0.33
/** Until requests are answered again. The guide says 4 to 6 seconds; two slow cores may take longer. */
const RESUMED_MS = 15_000
const CERTIFICATE = `/var/lib/caddy/.local/share/caddy/certificates/*/${NAME}/${NAME}.crt`

type Proxy = BareMachine

let lab: Lab
let proxies: Proxy[]
let authority: Authority

beforeAll(async () => {
  lab = startLab({ network: NETWORK, isApart: true })
  for (const number of NODES) startNode(lab.addMachine(number))
  const first = installDebian(packagesOf('keepalived'))
  proxies = [first, first.copy()].map((debian, index) => ({ debian, machine: lab.addMachine(PROXIES[index]!) }))
  authority = await startAuthority(lab, first, NAME, SHARED)
  for (const { debian, machine } of proxies) {
    appendFileSync(join(debian.folder, 'etc/hosts'), `${lab.hub.address} acme-v02.api.letsencrypt.org\n`)
    writeFileSync(
      join(debian.folder, 'usr/local/share/ca-certificates/authority.crt'),
      readFileSync(authority.certificate),
    )
    await debian.boot(machine.space)
    await ok({ debian }, 'update-ca-certificates')
  }
})

afterAll(async () => {
  await Promise.all(proxies?.map(({ debian }) => debian.remove()) ?? [])
  await lab?.end()
})

function startNode(machine: Machine): void {
  const folder = join(lab.folder, machine.address)
  const env = {
    ...ADMIN,
    DATA_DIR: folder,
    HOST: machine.address,
    BASE_URL: `https://${NAME}`,
    TRUSTED_PROXIES: /^TRUSTED_PROXIES=(.*)$/m.exec(block('TRUSTED_PROXIES'))![1]!,
    DNS_SERVERS: '127.0.0.1:9',
    DNS_ROOTS: 'off',
    DNS_CANARIES: 'off',
    READ_LIMIT: '0',
  }
  machine.service(`node ${machine.address}`, [process.execPath, join(PROJECT, 'server/main.ts'), 'serve'], { env })
}

test('the guide sets up two proxies that share an address, each with its own certificate', async () => {
  const [first, second] = proxies as [Proxy, Proxy]
  await installProxies([first, second])
  for (const { debian } of proxies) {
    await eventually(
      () => debian.sh(`ls ${CERTIFICATE}`),
      ({ code }) => code === 0,
    )
  }
  await answered()
  expect(await holders()).toEqual([first])

  // The nodes see the client, and neither of the proxies.
  await curl('-X', 'POST', '--json', '{"name":"From outside"}', `https://${NAME}/groups`)
  const log = await eventually(
    () => curl(`https://${NAME}/audit-log?action=group.created`), // each node has its own database here
    ({ stdout }) => stdout.includes('From outside'),
  )
  expect(JSON.parse(log.stdout).data[0]).toMatchObject({ address: lab.hub.address })
  const redirect = await curl('--head', `http://${NAME}/monitors`)
  expect(redirect.stdout).toMatch(/^HTTP\/1.1 308 [\s\S]*^Location: https:\/\/zonewatch.example.com\/monitors\r$/m)
})

test('requests are answered again after Caddy is killed on one machine', async () => {
  const { holder } = await roles()
  const from = systemClock.elapsed()
  await ok(holder, 'systemctl kill --signal=KILL --kill-whom=main caddy')
  await resumed(from)
  await eventually(
    () => holder.debian.sh('systemctl is-active caddy'),
    ({ stdout }) => stdout === 'active\n',
  )
})

test('the other machine takes over the address from a frozen Caddy, and keeps it afterwards', async () => {
  const { holder, other } = await roles()
  const from = systemClock.elapsed()
  await ok(holder, 'systemctl kill --signal=STOP --kill-whom=main caddy')
  await holds(other)
  await resumed(from)
  await ok(holder, 'systemctl kill --signal=CONT --kill-whom=main caddy')
  await isReady(holder)
  expect(await holders()).toEqual([other])
})

test('exactly one machine has the address after keepalived is killed', async () => {
  const { holder } = await roles()
  const from = systemClock.elapsed()
  await ok(holder, 'kill -9 $(cat /run/keepalived/*.pid /run/keepalived*.pid)')
  await resumed(from)
  await eventually(
    () => holder.debian.sh('systemctl is-active keepalived'),
    ({ stdout }) => stdout === 'active\n',
  )
  await roles()
  await answered()
})

test('the other machine takes over the address of a disconnected machine, and keeps it afterwards', async () => {
  const { holder, other } = await roles()
  const from = systemClock.elapsed()
  holder.machine.cutOff()
  await holds(other)
  await resumed(from)
  holder.machine.reconnect()
  await isReady(holder)
  expect(await holders()).toEqual([other])
  await answered()
})

test('requests are answered while one machine, and later the other, is lost', async () => {
  const { holder, other } = await roles()
  for (const [lost, remaining] of [
    [holder, other],
    [other, holder],
  ] as const) {
    const from = systemClock.elapsed()
    await lost.debian.powerOff()
    // The addresses that a kernel was given are gone with it.
    execFileSync('ip', ['-n', lost.machine.space!, 'address', 'delete', `${SHARED}/32`, 'dev', 'eth0'])
    await holds(remaining)
    await resumed(from)
    await lost.debian.boot(lost.machine.space)
    await isReady(lost)
    expect(await holders()).toEqual([remaining])
  }
})

/** Through the shared address, as any client on the network. */
const curl = (...args: string[]) =>
  run(
    [
      ...['ip', 'netns', 'exec', lab.hub.space!],
      ...[
        'curl',
        '--silent',
        '--fail',
        '--max-time',
        '2',
        '--cacert',
        authority.certificate,
        '--header',
        `X-Api-Key: ${ADMIN_KEY}`,
      ],
      ...['--resolve', `${NAME}:443:${SHARED}`, '--resolve', `${NAME}:80:${SHARED}`, ...args],
    ],
    {},
  ).ended

const answered = () =>
  eventually(
    () => curl(`https://${NAME}/monitors`),
    ({ code }) => code === 0,
  )

async function resumed(from: number): Promise<void> {
  await answered()
  const ms = systemClock.elapsed() - from
  process.stdout.write(`Requests are answered again after ${Math.round(ms)} ms.\n`)
  expect(ms).toBeLessThan(RESUMED_MS)
  for (let count = 0; count < 10; count++) expect(await curl(`https://${NAME}/monitors`)).toMatchObject({ code: 0 })
}

async function holders(): Promise<Proxy[]> {
  const lists = await Promise.all(proxies.map(({ debian }) => debian.sh('ip -brief address show dev eth0')))
  return proxies.filter((_, index) => lists[index]!.stdout.includes(`${SHARED}/`))
}

/** Waits until exactly one of the machines has the address. */
async function roles(): Promise<{ holder: Proxy; other: Proxy }> {
  const [holder] = await eventually(holders, ({ length }) => length === 1)
  return { holder: holder!, other: proxies.find((proxy) => proxy !== holder)! }
}

const holds = (proxy: Proxy) => eventually(holders, (found) => found.includes(proxy))

/** By the check of keepalived, which has said so twice. */
const isReady = ({ debian }: Proxy) =>
  eventually(
    () => debian.sh('journalctl --boot --unit keepalived --output cat | grep VRRP_Script | tail -n 1'),
    ({ stdout }) => stdout.includes('VRRP_Script(ready) succeeded'),
  )
