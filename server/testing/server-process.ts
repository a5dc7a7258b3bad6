import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../clock.ts'

export const PROJECT = fileURLToPath(new URL('../..', import.meta.url))

/** What the tests built to start servers from, as people install it: `e2e/prepare.ts`. Otherwise the sources. */
const MAIN = process.env.SERVER_OF_TESTS ?? 'server/main.ts'
/** Node's compile cache makes the hundreds of server starts cheaper. */
const COMPILE_CACHE = `${PROJECT}node_modules/.cache/compiled`

/** The environment of a process, besides PATH and HOME. */
export type Settings = Readonly<Record<string, string>>

export type Ended = { code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string }

/** A child process and its output so far. */
export type RunningProcess = {
  pid: number
  stdout(): string
  stderr(): string
  send(signal: NodeJS.Signals): void
  /** Resolves when the process has ended and all output was read. */
  ended: Promise<Ended>
}

export type ServerProcess = RunningProcess & {
  /** Without a trailing slash. */
  url: string
  /** From start to ready, in milliseconds. */
  startMs: number
  /** Kills all its processes if it still runs. */
  kill(): Promise<void>
}

/** Below the ports of outgoing connections, so that a server can restart on the same port. Each of the parallel workers has its own. */
const PORTS = { from: 20_000, workers: 16, perWorker: 750 }
/** Only for a server that hangs: on a busy machine a start can take half a minute. */
const READY_TIMEOUT_MS = 100_000

/** For tests that need `npm start` itself. */
export const NPM_START = ['npm', 'start']
const NODE_START = zonewatch('serve')

/** Starts the real server and waits until it is ready. Throws with its output if it ends before. */
export async function startServer(
  settings: Settings,
  { command = NODE_START, cwd = PROJECT }: { command?: string[]; cwd?: string } = {},
): Promise<ServerProcess> {
  const port = settings.PORT ?? String(await freePort())
  const startedAt = systemClock.elapsed()
  const running = run(command, { LOG_FORMAT: 'json', RDAP: 'off', ...settings, PORT: port }, { cwd })
  const kill = async () => {
    killGroup(running.pid)
    await running.ended
    while (hasRunningProcess(running.pid)) await systemClock.sleep(5)
  }
  const url = `http://127.0.0.1:${port}`
  const hasApi = (settings.ROLES ?? 'api').includes('api')
  const ready = () => (hasApi ? isReady(url) : Promise.resolve(running.stdout().includes('stores its data')))
  const ended = running.ended.then(() => 'ended' as const)
  while (!(await ready())) {
    const outcome = await Promise.race([ended, systemClock.sleep(25)])
    const isLate = systemClock.elapsed() - startedAt > READY_TIMEOUT_MS
    if (outcome !== 'ended' && !isLate) continue
    await kill()
    throw new Error(`The server ${isLate ? 'was not ready in time' : 'ended'}:\n${running.stdout()}${running.stderr()}`)
  }
  return { ...running, url, startMs: systemClock.elapsed() - startedAt, kill }
}

/** Runs a command of the command line to its end. */
export function runCommand(args: string[], settings: Settings, input?: string, userId?: number): Promise<Ended> {
  const options = { ...(input === undefined ? {} : { input }), ...(userId === undefined ? {} : { userId }) }
  return run(zonewatch(...args), settings, options).ended
}

/** The command line `zonewatch`. */
export function zonewatch(...args: string[]): string[] {
  return [process.execPath, MAIN, ...args]
}

/** `input`: standard input. `userId`: only root may start a process of another user. */
export type RunOptions = { cwd?: string; input?: string; userId?: number }

/** Starts a process, in the project's folder by default. */
export function run(
  [file = '', ...args]: string[],
  settings: Settings,
  { cwd = PROJECT, input, userId }: RunOptions = {},
): RunningProcess {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(file, args, {
    cwd,
    env: { PATH, HOME, NODE_COMPILE_CACHE: COMPILE_CACHE, ...settings },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    ...(userId === undefined ? {} : { uid: userId, gid: userId }),
    detached: true, // a process group of its own
  })
  child.stdin?.end(input)
  const stdout = collectOutput(child, 'stdout')
  const stderr = collectOutput(child, 'stderr')
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal, stdout: stdout(), stderr: stderr() }))
  })
  return { pid: child.pid ?? -1, stdout, stderr, send: (signal) => void child.kill(signal), ended }
}

/** Kills the process and all that it started. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** A killed process can still run after its output was closed. */
function hasRunningProcess(group: number): boolean {
  if (!existsSync('/proc')) return false
  return readdirSync('/proc').some((name) => {
    const { group: processGroup, state } = /^\d+$/.test(name) ? statOf(Number(name)) : {}
    return Number(processGroup) === group && state !== ZOMBIE
  })
}

/** Whether a process of this machine still runs. Zombies count as ended. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  return !existsSync('/proc') || (statOf(pid).state ?? ZOMBIE) !== ZOMBIE
}

const ZOMBIE = 'Z'

/** Reads /proc. Empty if the process does not exist. */
function statOf(pid: number): { state?: string; group?: string } {
  try {
    const [state, , group] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')
    return { state: state!, group: group! }
  } catch {
    return {}
  }
}

/** A TCP port of 127.0.0.1 that nothing listens on, and that no other test gets before its server listens. */
export async function freePort(): Promise<number> {
  const worker = Number(process.env.VITEST_POOL_ID ?? 0) % PORTS.workers
  for (let attempt = 0; attempt < PORTS.perWorker; attempt++) {
    const port = PORTS.from + worker * PORTS.perWorker + (nextPort++ % PORTS.perWorker)
    if (await canListen(port)) return port
  }
  throw new Error('no free port')
}

// Another run on this machine probably begins elsewhere.
let nextPort = Math.floor(Math.random() * PORTS.perWorker)

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

async function isReady(url: string): Promise<boolean> {
  const response = await fetch(`${url}/readyz`).catch(() => undefined)
  await response?.body?.cancel()
  return response?.status === 200
}

function collectOutput(child: ChildProcess, name: 'stdout' | 'stderr'): () => string {
  let text = ''
  child[name]?.setEncoding('utf8').on('data', (part: string) => {
    text += part
  })
  return () => text
}
