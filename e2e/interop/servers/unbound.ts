import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from '../addresses.ts'
import { createFolder, type Workspace } from '../workspace.ts'
import type { Recursive } from './recursive.ts'
import { type Server, startServer } from './server.ts'

/** Unbound as a validating recursive server. It queries delegated servers only on port 53, so each zone is a stub zone. */
export async function startUnbound(workspace: Workspace, recursive: Recursive): Promise<Server> {
  const folder = await createFolder(workspace, `unbound-${recursive.ip}`)
  const config = join(folder, 'unbound.conf')
  await writeFile(config, configText(folder, workspace.port, recursive))
  return await startServer({
    name: 'Unbound',
    command: 'unbound',
    args: ['-d', '-p', '-c', config],
    address: { ip: recursive.ip, port: workspace.port },
    ready: { name: recursive.zones[0]!.name, type: 'SOA' },
  })
}

function configText(folder: string, port: number, { ip, zones, anchors, refused }: Recursive): string {
  const stubs = [{ name: '', servers: [ROOT] }, ...zones]
  return `
server:
    interface: ${ip}@${port}
    access-control: 127.0.0.0/8 allow
    username: ""
    chroot: ""
    directory: "${folder}"
    pidfile: ""
    use-syslog: no
    logfile: ""
    do-ip6: no
    do-not-query-localhost: no
    ede: yes
    trust-anchor-signaling: no
    local-zone: "${refused}." refuse
${['test', ...zones.map(({ name }) => name)].map(ordinary).join('\n')}
${anchors.map(({ key }) => `    trust-anchor: "${key}"`).join('\n')}
remote-control:
    control-enable: no
${stubs.map((stub) => stubText(stub, port)).join('\n')}
`
}

// By default Unbound itself answers for special-use names. RFC 6303, RFC 6761.
function ordinary(name: string): string {
  return `    local-zone: "${name}." nodefault`
}

function stubText({ name, servers }: { name: string; servers: readonly string[] }, port: number): string {
  return `stub-zone:\n    name: "${name}."\n${servers.map((ip) => `    stub-addr: ${ip}@${port}`).join('\n')}`
}
