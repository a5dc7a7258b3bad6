import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BIND, KNOT, NSD, ROOT, UNBOUND } from './addresses.ts'
import { startBind } from './servers/bind.ts'
import { startKnot } from './servers/knot.ts'
import { startNsd } from './servers/nsd.ts'
import type { AuthoritativeServer, Server } from './servers/server.ts'
import { startUnbound } from './servers/unbound.ts'
import { createFolder, createWorkspace, type Workspace } from './workspace.ts'
import { CHANGING, CONTENTS, LAME, REFUSED, SIGNED, UNLOADED } from './zones/contents.ts'
import { rootText } from './zones/root.ts'
import { forge, type SignedZone, signZone } from './zones/sign.ts'
import { writeZone, type Zone } from './zones/zone.ts'

export const SERVERS = ['knot', 'nsd', 'unbound', 'bind'] as const
export type ServerName = (typeof SERVERS)[number]

/** A small DNS on loopback: a root, two authoritative servers and two recursive ones. */
export type DnsNetwork = {
  workspace: Workspace
  knot: AuthoritativeServer
  nsd: AuthoritativeServer
  unbound: Server
  bind: Server
  /** Stops every server and removes all files. */
  end(): Promise<void>
}

/** Stops and removes everything if a server does not start. */
export async function startDnsNetwork(): Promise<DnsNetwork> {
  await using cleanup = new AsyncDisposableStack()
  const workspace = await createWorkspace()
  cleanup.defer(workspace.remove)
  const started = async <T extends Server>(starting: Promise<T>): Promise<T> => {
    const server = await starting
    cleanup.defer(server.stop)
    return server
  }
  const { plain, signed } = await writeZones(workspace)
  const zones = [...plain, ...signed]
  const zonesOf = (ip: string) => zones.filter(({ servers }) => servers.includes(ip))
  const missing = [UNLOADED.name]
  const root = { name: '', file: join(workspace.folder, 'root.zone') }
  await writeFile(root.file, rootText([...zones, UNLOADED]))
  await started(startKnot(workspace, { ip: ROOT, zones: [root] }))
  const knot = await started(startKnot(workspace, { ip: KNOT, zones: zonesOf(KNOT), missing }))
  const nsd = await started(startNsd(workspace, { ip: NSD, zones: zonesOf(NSD), missing }))
  const recursive = { zones: [...zones, UNLOADED, LAME], anchors: signed, refused: REFUSED }
  const unbound = await started(startUnbound(workspace, { ...recursive, ip: UNBOUND }))
  const bind = await started(startBind(workspace, { ...recursive, ip: BIND }))
  const stack = cleanup.move()
  return { workspace, knot, nsd, unbound, bind, end: () => stack.disposeAsync() }
}

async function writeZones(workspace: Workspace): Promise<{ plain: Zone[]; signed: SignedZone[] }> {
  const folder = await createFolder(workspace, 'zones')
  const plain = await Promise.all([...CONTENTS, ...CHANGING].map((content) => writeZone(folder, content)))
  const signed = await Promise.all(SIGNED.map(async (content) => sign(folder, await writeZone(folder, content))))
  return { plain, signed }
}

async function sign(folder: string, zone: Zone): Promise<SignedZone> {
  const ended = { from: '20200101000000', to: '20200201000000' }
  const signed = await signZone(folder, zone, zone.name === 'expired.test' ? ended : undefined)
  if (zone.name === 'forged.test') await forge(zone, '192.0.2.80', '192.0.2.66')
  return signed
}
