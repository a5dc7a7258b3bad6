import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The folder of a test run, and the port of all its DNS servers, each of which has its own loopback address. */
export type Workspace = { folder: string; port: number; remove(): Promise<void> }

/** Below the ports of outgoing connections, so that no client socket uses one. */
const FIRST_PORT = 20_000
const PORTS = 10_000

export async function createWorkspace(): Promise<Workspace> {
  const port = await freePort()
  const folder = await mkdtemp(join(tmpdir(), 'zonewatch-interop-'))
  const removeOnExit = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', removeOnExit)
  return {
    folder,
    port,
    async remove() {
      await rm(folder, { recursive: true, force: true })
      process.off('exit', removeOnExit)
    },
  }
}

/** Creates the folder of a server. */
export async function createFolder(workspace: Workspace, name: string): Promise<string> {
  const folder = join(workspace.folder, name)
  await mkdir(folder)
  return folder
}

/** A port that is free for UDP and TCP on every address. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
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
