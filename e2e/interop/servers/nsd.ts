import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from '../process.ts'
import { createFolder, type Workspace } from '../workspace.ts'
import type { Zone } from '../zones/zone.ts'
import { type AuthoritativeServer, inTurn, startServer } from './server.ts'

/** `missing`: configured zones without a zone file. */
export type Nsd = { ip: string; zones: readonly Zone[]; missing: readonly string[] }

/** NSD as an authoritative server. Changes are written to the zone file, and `nsd-control` reloads it. */
export async function startNsd(workspace: Workspace, { ip, zones, missing }: Nsd): Promise<AuthoritativeServer> {
  const folder = await createFolder(workspace, `nsd-${ip}`)
  const files = [...zones, ...missing.map((name) => ({ name, file: join(folder, 'missing') }))]
  const config = join(folder, 'nsd.conf')
  await writeFile(config, configText({ folder, listen: `${ip}@${workspace.port}`, files }))
  const server = await startServer({
    name: 'NSD',
    command: 'nsd',
    args: ['-d', '-c', config],
    address: { ip, port: workspace.port },
    ready: { name: zones.at(-1)!.name, type: 'SOA' },
  })
  let serial = 1
  return {
    ...server,
    change: inTurn(async (zone, owner, type, rdata) => {
      const found = zones.find(({ name }) => name === zone)
      if (!found) throw new Error(`NSD does not serve ${zone}`)
      serial++
      await writeFile(found.file, changed(await readFile(found.file, 'utf8'), { serial, owner, type, rdata }))
      await run('nsd-control', ['-c', config, 'reload', zone])
    }),
  }
}

type Replacement = { serial: number; owner: string; type: string; rdata: string[] }

function changed(text: string, { serial, owner, type, rdata }: Replacement): string {
  const kept = text
    .replace(/^(@ SOA \S+ \S+) \d+/m, `$1 ${serial}`)
    .split('\n')
    .filter((line) => !line.startsWith(`${owner} ${type} `))
  return [...kept, ...rdata.map((each) => `${owner} ${type} ${each}`), ''].join('\n')
}

type Config = { folder: string; listen: string; files: readonly { name: string; file: string }[] }

function configText({ folder, listen, files }: Config): string {
  return `
server:
    ip-address: ${listen}
    server-count: 1
    username: ""
    chroot: ""
    zonesdir: "${folder}"
    database: ""
    pidfile: "${join(folder, 'nsd.pid')}"
    zonelistfile: "${join(folder, 'zone.list')}"
    xfrdfile: "${join(folder, 'xfrd.state')}"
    xfrdir: "${folder}"
    rrl-ratelimit: 0
remote-control:
    control-enable: yes
    control-interface: "${join(folder, 'nsd.sock')}"
${files.map(({ name, file }) => `zone:\n    name: "${name}"\n    zonefile: "${file}"`).join('\n')}
`
}
