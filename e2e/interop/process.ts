import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'

/** A program in the foreground. `ended` says how it ended, undefined while it runs. `output` returns the last output. */
export type Running = { pid: number; ended(): string | undefined; output(): string; stop(): Promise<void> }

const MAX_OUTPUT_CHARACTERS = 4_000
const STOP_TIMEOUT_MS = 10_000

// Debian installs servers in folders that are not in the PATH of ordinary users.
const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin`, LC_ALL: 'C' }

export function startProcess(command: string, args: string[], variables: Record<string, string> = {}): Running {
  const child = spawn(command, args, { env: { ...env, ...variables }, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  let failure: string | undefined
  const append = (chunk: Buffer) => {
    output = (output + chunk).slice(-MAX_OUTPUT_CHARACTERS)
  }
  child.stdout.on('data', append)
  child.stderr.on('data', append)
  child.on('error', ({ message }) => {
    failure = message
  })
  const killOnExit = () => child.kill('SIGKILL')
  process.once('exit', killOnExit)
  return {
    pid: child.pid ?? 0,
    ended() {
      if (failure === undefined && !hasEnded(child)) return undefined
      return `${command} ended: ${failure ?? child.signalCode ?? child.exitCode}`
    },
    output: () => output,
    async stop() {
      await end(child)
      process.off('exit', killOnExit)
    },
  }
}

/** Runs a program to its end and returns its output. Rejects with the output if it fails. */
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
  child.kill('SIGCONT') // a stopped process could not end
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
  await exit
  clearTimeout(timer)
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}
