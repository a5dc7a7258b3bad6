import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from '../process.ts'
import { createFolder, type Workspace } from '../workspace.ts'
import type { Zone } from '../zones/zone.ts'
import { type AuthoritativeServer, inTurn, startServer } from './server.ts'

/** `missing`: configured zones without a zone file. */
export type Knot = { ip: string; zones: readonly Omit<Zone, 'servers'>[]; missing?: readonly string[] }

/** Knot as an authoritative server. `knotc` transactions change its records. */
export async function startKnot(workspace: Workspace, { ip, zones, missing = [] }: Knot): Promise<AuthoritativeServer> {
  const folder = await createFolder(workspace, `knot-${ip}`)
  const socket = join(folder, 'knot.sock')
  const files = [...zones, ...missing.map((name) => ({ name, file: join(folder, 'missing') }))]
  const config = join(folder, 'knot.conf')
  await writeFile(config, configText({ folder, socket, listen: `${ip}@${workspace.port}`, files }))
  const server = await startServer({
    name: 'Knot',
    command: 'knotd',
    args: ['-c', config],
    address: { ip, port: workspace.port },
    ready: { name: zones.at(-1)!.name, type: 'SOA' },
  })
  const control = (...args: string[]) => run('knotc', ['-s', socket, '-b', ...args])
  return {
    ...server,
    change: inTurn(async (zone, owner, type, rdata) => {
      await control('zone-begin', zone)
      await control('zone-unset', zone, owner, type)
      for (const each of rdata) await control('zone-set', zone, owner, '0', type, each)
      await control('zone-commit', zone)
    }),
  }
}

type Config = { folder: string; socket: string; listen: string; files: readonly { name: string; file: string }[] }

function configText({ folder, socket, listen, files }: Config): string {
  return `
server:
    rundir: "${folder}"
    listen: ${listen}
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
control:
    listen: "${socket}"
log:
  - target: stderr
    any: warning
database:
    storage: "${folder}"
template:
  - id: default
    storage: "${folder}"
    zonefile-sync: -1
zone:
${files.map(({ name, file }) => `  - domain: "${name}."\n    file: "${file}"`).join('\n')}
`
}
