import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createFolder, type Workspace } from '../workspace.ts'
import { HINTS } from '../zones/root.ts'
import type { Recursive } from './recursive.ts'
import { type Server, startServer } from './server.ts'

/** BIND as a validating recursive server that starts at the test root. */
export async function startBind(workspace: Workspace, recursive: Recursive): Promise<Server> {
  const folder = await createFolder(workspace, `bind-${recursive.ip}`)
  const config = join(folder, 'named.conf')
  await writeFile(join(folder, 'root.hints'), HINTS)
  await writeFile(join(folder, 'refused.zone'), '$TTL 300\n@ SOA . . 1 3600 600 86400 300\n@ NS .\n')
  await writeFile(config, configText(folder, workspace.port, recursive))
  return await startServer({
    name: 'BIND',
    command: 'named',
    args: ['-f', '-c', config, '-n', '1'],
    address: { ip: recursive.ip, port: workspace.port },
    ready: { name: recursive.zones[0]!.name, type: 'SOA' },
  })
}

// BIND queries other servers on `port` too.
function configText(folder: string, port: number, { ip, anchors, refused }: Recursive): string {
  return `
options {
    directory "${folder}";
    port ${port};
    listen-on { ${ip}; };
    listen-on-v6 { none; };
    pid-file none;
    lock-file none;
    session-keyfile none;
    recursion yes;
    allow-recursion { 127.0.0.0/8; };
    empty-zones-enable no;
    dnssec-validation yes;
    max-cache-size 16M;
};
controls { };
logging {
    channel output { stderr; severity warning; };
    category default { output; };
};
trust-anchors {
${anchors.map(({ key }) => `    ${anchorText(key)}`).join('\n')}
};
zone "." { type hint; file "root.hints"; };
zone "${refused}" { type primary; file "refused.zone"; allow-query { none; }; };
`
}

function anchorText(key: string): string {
  const [, name, flags, protocol, algorithm, octets] = key.match(/^(\S+).*\bDNSKEY (\d+) (\d+) (\d+) (.+)$/) ?? []
  return `${name} static-key ${flags} ${protocol} ${algorithm} "${octets?.replaceAll(' ', '')}";`
}
