import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { eventually } from '#server/testing/test-server.ts'
import { blockWith, type Debian, guideText } from './debian.ts'
import type { Lab, Machine } from './lab.ts'

/** Only for a test that hangs: a standby becomes the primary within 30 seconds. */
export const TIMEOUT_MS = 150_000

export type BareMachine = { machine: Machine; debian: Debian }
export type DatabaseServer = BareMachine & { name: string }

export const block = (text: string) => blockWith(text, 'several-nodes')
/** The packages that the block with this text installs. */
export const packagesOf = (text: string) => /^apt-get install -y (.+)$/m.exec(block(text))![1]!.split(' ')

export async function ok({ debian }: { debian: Debian }, script: string): Promise<string> {
  const { code, stdout, stderr } = await debian.sh(`set -eu\n${script}`)
  expect(code, `${script}\n${stdout}${stderr}`).toBe(0)
  return stdout
}

/** All shell blocks of a section, including those of numbered steps. */
export function blocksOf(section: string): string[] {
  const text = guideText('several-nodes')
    .split(/^## /m)
    .find((each) => each.startsWith(section))!
  return [...text.matchAll(/^( *)```sh\n([\s\S]*?)^ *```/gm)].map(([, indent, shell]) =>
    shell!.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  )
}

/** PostgreSQL servers with Patroni and etcd. */
export class DatabaseServers {
  readonly all: readonly DatabaseServer[]

  constructor(machines: readonly BareMachine[]) {
    this.all = machines.map((each, index) => ({ ...each, name: `n${index + 1}` }))
  }

  async install(password: string): Promise<void> {
    const given = /^NAME=n1 ADDRESS=10\.0\.0\.11 PASSWORD=…$/m
    expect(block('patroni etcd-server')).toMatch(given)
    await Promise.all(
      this.all.map((server) => {
        const own = `NAME=${server.name} ADDRESS=${server.machine.address} PASSWORD=${password}`
        return ok(server, block('patroni etcd-server').replace(given, own))
      }),
    )
    await this.waitUntilComplete()
  }

  /** Waits for a leader, a synchronous standby and a replica. */
  async waitUntilComplete(): Promise<void> {
    const isRunning = (state: string) => state === 'running' || state === 'streaming'
    await eventually(
      () => this.#members(),
      (found) =>
        found
          .map(({ Role }) => Role)
          .sort()
          .join() === 'Leader,Replica,Sync Standby' && found.every(({ State }) => isRunning(State)),
      TIMEOUT_MS,
    )
  }

  async withRole(role: 'Leader' | 'Sync Standby' | 'Replica'): Promise<DatabaseServer> {
    const found = await eventually(
      async () => (await this.#members()).find(({ Role }) => Role === role),
      (member) => member !== undefined,
      TIMEOUT_MS,
    )
    return this.all.find(({ name }) => name === found!.Member)!
  }

  /** Lists the members with the command of the guide. */
  async #members(): Promise<{ Member: string; Role: string; State: string }[]> {
    const list = 'patronictl -c /etc/patroni/config.yml list --format json'
    const answers = await Promise.all(this.all.map(({ debian }) => debian.sh(list)))
    for (const { code, stdout } of answers) if (code === 0) return JSON.parse(stdout)
    return []
  }
}

/** Creates the role and the database. `psql` needs the password of postgres. */
export async function createDatabase(
  node: BareMachine,
  passwords: { postgres: string; zonewatch: string },
): Promise<void> {
  const create = block('create role zonewatch').replace('…', passwords.zonewatch)
  await eventually(
    () => node.debian.sh(`PGPASSWORD=${passwords.postgres}\nexport PGPASSWORD\n${create}`),
    ({ stderr, code }) => code === 0 || !/could not|closed/.test(stderr),
  )
}

/** Installs Zonewatch with the settings of the guide and `overrides`. */
export async function installNode(
  node: BareMachine,
  password: string,
  overrides: Record<string, string>,
): Promise<void> {
  await ok(node, blockWith('systemctl enable', 'install'))
  const given = block('TRUSTED_PROXIES=').replaceAll(':…@', `:${password}@`)
  const own = { HOST: node.machine.address, ...overrides }
  const lines = Object.entries(own).map(([name, value]) => `${name}='${value}'\n`)
  writeFileSync(join(node.debian.folder, 'etc/zonewatch/environment'), given + lines.join(''))
  await ok(node, 'systemctl restart zonewatch')
}

/** A certificate authority for Caddy. It verifies names by an HTTP challenge, as the real one does. */
const AUTHORITY = `{
  admin off
  skip_install_trust
  auto_https disable_redirects
}
https://acme-v02.api.letsencrypt.org {
  tls internal
  route {
    rewrite /directory /acme/local/directory
    acme_server
  }
}
`

export type Authority = { certificate: string; hosts: string }

/** Starts the authority at the hub, where `name` has this address. `certificate` and `hosts` are file paths. */
export async function startAuthority(lab: Lab, withCaddy: Debian, name: string, address: string): Promise<Authority> {
  const folder = join(lab.folder, 'authority')
  mkdirSync(folder)
  writeFileSync(join(folder, 'Caddyfile'), AUTHORITY)
  const hosts = join(folder, 'hosts')
  writeFileSync(hosts, `127.0.0.1 localhost\n${address} ${name}\n`)
  const caddy = [join(withCaddy.folder, 'usr/bin/caddy'), 'run', '--config', join(folder, 'Caddyfile')]
  lab.hub.service('authority', withHosts(hosts, caddy), {
    env: { HOME: folder, XDG_DATA_HOME: folder },
  })
  const certificate = join(folder, 'caddy/pki/authorities/local/root.crt')
  await eventually(async () => existsSync(certificate), Boolean)
  return { certificate, hosts }
}

/** Runs the command with another /etc/hosts. */
export const withHosts = (hosts: string, command: string[]) => [
  ...['unshare', '--mount', 'sh', '-euc', 'mount --bind "$0" /etc/hosts; exec "$@"', hosts],
  ...command,
]

/** Runs the block of the guide on both proxies. */
export async function installProxies([first, second]: readonly [BareMachine, BareMachine]): Promise<void> {
  const shell = block('keepalived')
  const addresses = /^ADDRESS=(\S+) OTHER=(\S+)/
  const [, address, other] = addresses.exec(shell)!
  expect([address, other]).toEqual([first.machine.address, second.machine.address])
  await ok(first, shell)
  await ok(second, shell.replace(addresses, `ADDRESS=${other} OTHER=${address}`))
}
