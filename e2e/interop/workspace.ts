import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Where a run keeps its files, and the one port that all of its servers use, each on a loopback address of its own. */
export type Workspace = { folder: string; port: number; remove(): Promise<void> }

/** Below the ports that systems hand out by themselves, so that no client socket sits on one. */
const FIRST_PORT = 20_000
const PORTS = 10_000

export async function createWorkspace(): Promise<Workspace> {
  const port = await freePort()
  const folder = await mkdtemp(join(tmpdir(), 'zonewatch-interop-'))
  const removeWithUs = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', removeWithUs)
  return {
    folder,
    port,
    async remove() {
      await rm(folder, { recursive: true, force: true })
      process.off('exit', removeWithUs)
    },
  }
}

/** A new folder of its own for one server. */
export async function createFolder(workspace: Workspace, name: string): Promise<string> {
  const folder = join(workspace.folder, name)
  await mkdir(folder)
  return folder
}

/** A port that is free over UDP and TCP on every address. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS)
    if ((await isFreeOverUdp(port)) && (await isFreeOverTcp(port))) return port
  }
  throw new Error('no port is free')
}

async function isFreeOverUdp(port: number): Promise<boolean> {
  const socket = createSocket('udp4')
  socket.bind(port, '0.0.0.0')
  const isFree = await once(socket, 'listening').then(...freeOrNot)
  socket.close()
  return isFree
}

async function isFreeOverTcp(port: number): Promise<boolean> {
  const server = createServer().listen(port, '0.0.0.0')
  const isFree = await once(server, 'listening').then(...freeOrNot)
  server.close()
  return isFree
}

const freeOrNot = [() => true, () => false] as const
