import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  BIND,
  BIND_STALE,
  KNOT_RESOLVER,
  POWERDNS,
  UNBOUND,
  UNBOUND_FLOOR,
  UNBOUND_STALE,
} from '../../../simulator/dns/policies.ts'
import type { ResolverPolicy } from '../../../simulator/dns/policy.ts'
import { type Running, run, startProcess } from '../process.ts'
import { until } from '../until.ts'
import { createFolder, type Workspace } from '../workspace.ts'
import { queryResolver } from './scripted-servers.ts'

export const ROOT_IP = '127.0.54.1'

/** A resolver from Debian's packages, and the model of it. */
export type Software = {
  name: string
  ip: string
  policy: ResolverPolicy
  start(folder: string, ip: string): Promise<[string, string[]]>
}

export const SOFTWARE: readonly Software[] = [
  { name: 'Unbound', ip: '127.0.55.1', policy: UNBOUND, start: unbound() },
  {
    name: 'Unbound that serves stale records',
    ip: '127.0.55.2',
    policy: UNBOUND_STALE,
    start: unbound(
      'serve-expired: yes',
      'serve-expired-ttl: 86400',
      'serve-expired-reply-ttl: 30',
      'ede-serve-expired: yes',
    ),
  },
  {
    name: 'Unbound with a floor and a cap of TTLs, and prefetch',
    ip: '127.0.55.3',
    policy: UNBOUND_FLOOR,
    start: unbound('cache-min-ttl: 6', 'cache-max-ttl: 12', 'prefetch: yes'),
  },
  { name: 'BIND', ip: '127.0.55.4', policy: BIND, start: bind('stale-answer-enable no;') },
  {
    name: 'BIND that serves stale records',
    ip: '127.0.55.5',
    policy: BIND_STALE,
    start: bind(
      'stale-cache-enable yes; stale-answer-enable yes; stale-answer-ttl 30; max-stale-ttl 86400; stale-refresh-time 30;',
    ),
  },
  { name: 'Knot Resolver', ip: '127.0.55.6', policy: KNOT_RESOLVER, start: knot },
  { name: 'PowerDNS Recursor', ip: '127.0.55.7', policy: POWERDNS, start: powerdns },
]

export type RealResolver = Software & { stop(): Promise<void> }

/** Starts a resolver in the foreground, and waits until it answers. */
export async function startResolver(workspace: Workspace, software: Software): Promise<RealResolver> {
  const folder = await createFolder(workspace, `resolver-${software.ip}`)
  const [command, args] = await software.start(folder, software.ip)
  const running: Running = startProcess(command, args)
  try {
    await until(
      async () => {
        const ended = running.ended()
        if (ended !== undefined) throw new Error(`${ended}\n${running.output()}`)
        const answer = await queryResolver(software.ip, 'ready.demo', 'A', 1_000)
        return answer && answer.answer.length > 0 ? true : undefined
      },
      { withinMs: 40_000, failure: () => `${software.name} does not answer\n${running.output()}` },
    )
  } catch (error) {
    await running.stop()
    throw error
  }
  return { ...software, stop: running.stop }
}

const HINTS = `. 3600000 NS a.root.\na.root. 3600000 A ${ROOT_IP}\n`

function unbound(...settings: string[]) {
  return async (folder: string, ip: string): Promise<[string, string[]]> => {
    await writeFile(join(folder, 'root.hints'), HINTS)
    const lines = [
      `interface: ${ip}`,
      'access-control: 127.0.0.0/8 allow',
      'username: ""',
      'chroot: ""',
      `directory: "${folder}"`,
      'pidfile: ""',
      'use-syslog: no',
      'logfile: ""',
      'do-ip6: no',
      'do-not-query-localhost: no',
      'num-threads: 1',
      'module-config: "iterator"',
      'root-hints: "root.hints"',
      'ede: yes',
      ...settings,
    ]
    const config = join(folder, 'unbound.conf')
    await writeFile(
      config,
      `server:\n${lines.map((line) => `    ${line}\n`).join('')}remote-control:\n    control-enable: no\n`,
    )
    return ['unbound', ['-d', '-p', '-c', config]]
  }
}

function bind(settings: string) {
  return async (folder: string, ip: string): Promise<[string, string[]]> => {
    // BIND listens only on addresses of an interface. The suite has its own network namespace.
    await run('ip', ['address', 'add', `${ip}/32`, 'dev', 'lo'])
    await writeFile(join(folder, 'root.hints'), HINTS)
    const config = join(folder, 'named.conf')
    await writeFile(
      config,
      `options {
  directory "${folder}"; listen-on { ${ip}; }; listen-on-v6 { none; };
  pid-file none; lock-file none; session-keyfile none; recursion yes; allow-recursion { 127.0.0.0/8; };
  empty-zones-enable no; dnssec-validation no; max-cache-size 16M; ${settings}
};
controls { };
logging { channel output { stderr; severity warning; }; category default { output; }; };
zone "." { type hint; file "root.hints"; };
`,
    )
    return ['named', ['-4', '-f', '-c', config, '-n', '1']]
  }
}

async function knot(folder: string, ip: string): Promise<[string, string[]]> {
  const config = join(folder, 'kresd.conf')
  await writeFile(join(folder, 'root.hints'), HINTS)
  await writeFile(
    config,
    `net.listen('${ip}', 53)
net.ipv6 = false
modules.load('hints')
modules.unload('ta_update')
modules.unload('ta_signal_query')
modules.unload('priming')
modules.unload('detect_time_skew')
trust_anchors.remove('.')
option('ALLOW_LOCAL', true)
hints.root_file('${join(folder, 'root.hints')}')
cache.open(20 * MB, 'lmdb://${folder}')
`,
  )
  return ['kresd', ['-n', '-c', config, folder]]
}

async function powerdns(folder: string, ip: string): Promise<[string, string[]]> {
  await writeFile(join(folder, 'root.hints'), HINTS)
  const lines = [
    `local-address=${ip}`,
    'local-port=53',
    `hint-file=${join(folder, 'root.hints')}`,
    `socket-dir=${folder}`,
    'dont-query=',
    'dnssec=off',
    'threads=1',
    'security-poll-suffix=',
    'allow-from=127.0.0.0/8',
    'root-nx-trust=no',
    'disable-packetcache=yes',
    'extended-resolution-errors=yes',
  ]
  await writeFile(join(folder, 'recursor.conf'), lines.join('\n'))
  return ['pdns_recursor', [`--config-dir=${folder}`, '--daemon=no', '--write-pid=no']]
}
