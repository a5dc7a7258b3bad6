import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../clock.ts'

export const PROJECT = fileURLToPath(new URL('../..', import.meta.url))

/** Node keeps what it compiled, so that the hundreds of servers that tests start cost less. */
const COMPILED = `${PROJECT}node_modules/.cache/compiled`

/** The settings of a process. It gets these, PATH and HOME, and nothing else of the environment of the test. */
export type Settings = Readonly<Record<string, string>>

export type Ended = { code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string }

/** A child process and what it has printed so far. */
export type RunningProcess = {
  pid: number
  stdout(): string
  stderr(): string
  send(signal: NodeJS.Signals): void
  /** Resolves when the process has ended and its output was read to the end. */
  ended: Promise<Ended>
}

export type ServerProcess = RunningProcess & {
  /** Without a slash at its end. */
  url: string
  /** From start to ready, in milliseconds. */
  startMs: number
  /** Ends all its processes with SIGKILL if it still runs. */
  kill(): Promise<void>
}

/** Ports below those that the system gives to outgoing connections, so that a server can come back on its own port. */
const PORTS = { from: 20_000, count: 12_000 }
/** For one that hangs: on a busy machine a start may take half a minute. */
const READY_MS = 100_000

/** `npm start` itself, for what only shows there. */
export const NPM_START = ['npm', 'start']
const NODE_START = [process.execPath, 'server/main.ts', 'serve']

/** Starts the real server and waits until it is ready. Throws with what it printed when it ends before that. */
export async function startServer(
  settings: Settings,
  { command = NODE_START, cwd = PROJECT }: { command?: string[]; cwd?: string } = {},
): Promise<ServerProcess> {
  const port = settings.PORT ?? String(await freePort())
  const startedAt = systemClock.elapsed()
  const running = run(command, { LOG_FORMAT: 'json', ...settings, PORT: port }, { cwd })
  const kill = async () => {
    killGroup(running.pid)
    await running.ended
    while (runsInGroup(running.pid)) await systemClock.sleep(5)
  }
  const url = `http://127.0.0.1:${port}`
  const hasApi = (settings.ROLES ?? 'api').includes('api')
  const ready = () => (hasApi ? isReady(url) : Promise.resolve(running.stdout().includes('stores its data')))
  const ended = running.ended.then(() => 'ended' as const)
  while (!(await ready())) {
    const outcome = await Promise.race([ended, systemClock.sleep(25)])
    const isLate = systemClock.elapsed() - startedAt > READY_MS
    if (outcome !== 'ended' && !isLate) continue
    await kill()
    throw new Error(`The server ${isLate ? 'was not ready in time' : 'ended'}:\n${running.stdout()}${running.stderr()}`)
  }
  return { ...running, url, startMs: systemClock.elapsed() - startedAt, kill }
}

/** Runs one command of the command line to its end. */
export function runCommand(args: string[], settings: Settings, input?: string): Promise<Ended> {
  return run([process.execPath, 'server/main.ts', ...args], settings, input === undefined ? {} : { input }).ended
}

export type RunOptions = { cwd?: string /** What it reads from its standard input. */; input?: string }

/** Starts a process, in the project's folder unless another is given. */
export function run(
  [file = '', ...args]: string[],
  settings: Settings,
  { cwd = PROJECT, input }: RunOptions = {},
): RunningProcess {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(file, args, {
    cwd,
    env: { PATH, HOME, NODE_COMPILE_CACHE: COMPILED, ...settings },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    detached: true, // a process group of its own
  })
  child.stdin?.end(input)
  const stdout = textOf(child, 'stdout')
  const stderr = textOf(child, 'stderr')
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal, stdout: stdout(), stderr: stderr() }))
  })
  return { pid: child.pid ?? -1, stdout, stderr, send: (signal) => void child.kill(signal), ended }
}

/** The process and those that it started. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Whether a process of the group has not ended: one that was killed may still be dying after its output was closed. */
function runsInGroup(group: number): boolean {
  if (!existsSync('/proc')) return false
  return readdirSync('/proc').some((name) => {
    const { group: found, state } = /^\d+$/.test(name) ? statOf(Number(name)) : {}
    return Number(found) === group && state !== ENDED
  })
}

/** Whether a process of this machine still runs. One that ended stays in Linux's table until its parent asks for its end. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  return !existsSync('/proc') || (statOf(pid).state ?? ENDED) !== ENDED
}

const ENDED = 'Z'

/** From Linux's table of processes; nothing of one that is not there. */
function statOf(pid: number): { state?: string; group?: string } {
  try {
    const [state, , group] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')
    return { state: state!, group: group! }
  } catch {
    return {}
  }
}

/** A TCP port of 127.0.0.1 that nothing listens on. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = PORTS.from + Math.floor(Math.random() * PORTS.count)
    if (await canListen(port)) return port
  }
  throw new Error('no free port')
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

async function isReady(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/readyz`).catch(() => undefined)
  await answer?.body?.cancel()
  return answer?.status === 200
}

function textOf(child: ChildProcess, name: 'stdout' | 'stderr'): () => string {
  let text = ''
  child[name]?.setEncoding('utf8').on('data', (part: string) => {
    text += part
  })
  return () => text
}
