import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'

/** A program in the foreground. `ended` says how it ended; undefined while it runs. `output` is the last it printed. */
export type Running = { pid: number; ended(): string | undefined; output(): string; stop(): Promise<void> }

const MAX_OUTPUT_CHARACTERS = 4_000
const PATIENCE_MS = 10_000

// Debian keeps servers where an ordinary user's PATH does not look.
const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin`, LC_ALL: 'C' }

export function startProcess(command: string, args: string[], more: Record<string, string> = {}): Running {
  const child = spawn(command, args, { env: { ...env, ...more }, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  let failure: string | undefined
  const keep = (chunk: Buffer) => {
    output = (output + chunk).slice(-MAX_OUTPUT_CHARACTERS)
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  child.on('error', ({ message }) => {
    failure = message
  })
  const killWithUs = () => child.kill('SIGKILL')
  process.once('exit', killWithUs)
  return {
    pid: child.pid ?? 0,
    ended() {
      if (failure === undefined && !hasEnded(child)) return undefined
      return `${command} ended: ${failure ?? child.signalCode ?? child.exitCode}`
    },
    output: () => output,
    async stop() {
      await end(child)
      process.off('exit', killWithUs)
    },
  }
}

/** Runs a program to its end and gives what it printed. Rejects with that when it fails. */
export function run(command: string, args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(command, args, { env, timeout: 20_000 }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${command} ${args.join(' ')} failed: ${stdout}${stderr}`, { cause: error }))
      else resolve(stdout)
    })
  })
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || hasEnded(child)) return
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  child.kill('SIGCONT') // one that is held could not end
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS)
  await exit
  clearTimeout(timer)
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}
