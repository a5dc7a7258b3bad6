import { execFileSync, spawn } from 'node:child_process'
import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

/**
 * Machines on a private network: each is a network namespace with one address on one virtual switch. The test runs at `HUB`.
 * `npm run test:cluster` runs in its own namespace, so that the machine's network stays unchanged.
 */
export const HUB = '10.99.0.1'
export const machineAddress = (number: number, network = '10.99.0') => `${network}.${10 + number}`

type Options = {
  network?: string
  /** The hub is in a namespace too, and the test is not on the network. */
  isApart?: boolean
}

export type Daemon = {
  /** The last output. */
  output(): string
  /** Sends the signal to the process and all that it started. */
  signal(signal: NodeJS.Signals): void
}

export type Machine = {
  address: string
  /** The network namespace. The hub has none if the test runs at the hub. */
  space: string | undefined
  /** Starts a program, and restarts it a second after it ends, as a service manager does. */
  service(name: string, command: string[], options?: { user?: string; env?: Record<string, string> }): Daemon
  /** Sends the signal to all services and all that they started. */
  signal(signal: NodeJS.Signals): void
  /** Kills all processes at once, as a power failure does. `boot` starts them again. */
  powerOff(): void
  boot(): void
  /** Disconnects the machine from the network. */
  cutOff(): void
  reconnect(): void
}

export type Lab = {
  folder: string
  /** The machine that the test runs on. */
  hub: Machine
  addMachine(number: number): Machine
  end(): Promise<void>
}

const MAX_OUTPUT_CHARACTERS = 20_000
/** LAB_LOGS=folder stores the output of all programs. */
const LOGS = process.env.LAB_LOGS
// Debian installs servers in folders that are not in the PATH of ordinary users.
const WIDE_PATH = `${process.env.PATH}:/usr/sbin:/sbin`
const RESTART_MS = 1_000

export function startLab({ network = '10.99.0', isApart = false }: Options = {}): Lab {
  const folder = mkdtempSync(join(tmpdir(), 'zonewatch-lab-'))
  execFileSync('chmod', ['755', folder])
  const groups: ServiceGroup[] = []
  const spaces: string[] = []
  const addSpace = (name: string) => {
    const space = `${basename(folder)}-${name}`
    ip('netns', 'add', space)
    ip('-n', space, 'link', 'set', 'lo', 'up')
    spaces.push(space)
    return space
  }
  const hubSpace = isApart ? addSpace('hub') : undefined
  const atHub = (...args: string[]) => ip(...(hubSpace ? ['-n', hubSpace] : []), ...args)
  const hubAddress = `${network}.1`
  atHub('link', 'add', 'switch', 'type', 'bridge')
  atHub('addr', 'add', `${hubAddress}/24`, 'dev', 'switch')
  atHub('link', 'set', 'switch', 'up')

  const newMachine = (address: string, space?: string, port?: string): Machine => {
    const group = new ServiceGroup(space)
    groups.push(group)
    return {
      address,
      space,
      service: (name, command, options) => group.start(name, command, options),
      signal: (signal) => group.signal(signal),
      powerOff: () => group.powerOff(),
      boot: () => group.boot(),
      cutOff: () => port && atHub('link', 'set', port, 'down'),
      reconnect: () => port && atHub('link', 'set', port, 'up'),
    }
  }

  return {
    folder,
    hub: newMachine(hubAddress, hubSpace),
    addMachine(number) {
      const space = addSpace(String(number))
      const address = machineAddress(number, network)
      const port = `port${number}`
      atHub('link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', space)
      atHub('link', 'set', port, 'master', 'switch', 'up')
      ip('-n', space, 'link', 'set', 'eth0', 'up')
      ip('-n', space, 'addr', 'add', `${address}/24`, 'dev', 'eth0')
      return newMachine(address, space, port)
    },
    async end() {
      await Promise.all(groups.map((group) => group.end()))
      if (!isApart) ip('link', 'delete', 'switch')
      for (const space of spaces) ip('netns', 'delete', space)
      for (const mount of mounts.splice(0)) execFileSync('umount', ['--lazy', mount])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const mounts: string[] = []

/** Mounts a small disk at a folder of `user`, which a test can fill. */
export function mountDisk(folder: string, megabytes: number, user: string): void {
  mkdirSync(folder, { recursive: true })
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0700`, 'tmpfs', folder])
  mounts.push(folder)
  execFileSync('chown', [user, folder])
}

class ServiceGroup {
  readonly #space: string | undefined
  readonly #pids = new Set<number>()
  readonly #ends: Promise<void>[] = []
  /** Restarts the services that ended during the power failure. */
  readonly #pendingLaunches: (() => void)[] = []
  #isOff = false

  constructor(space: string | undefined) {
    this.#space = space
  }

  start(
    name: string,
    command: string[],
    { user, env = {} }: { user?: string; env?: Record<string, string> } = {},
  ): Daemon {
    const inSpace = this.#space ? ['ip', 'netns', 'exec', this.#space] : []
    const as = user ? ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--init-groups'] : []
    const [file = '', ...args] = [...inSpace, ...as, ...command]
    let output = ''
    let pid = 0
    const launch = () => {
      const child = spawn(file, args, {
        env: { PATH: WIDE_PATH, HOME: '/', LC_ALL: 'C', ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      pid = child.pid ?? 0
      this.#pids.add(pid)
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (chunk: Buffer) => {
          output = (output + chunk).slice(-MAX_OUTPUT_CHARACTERS)
          if (LOGS) appendFileSync(join(LOGS, `${name}.log`), chunk)
        })
      }
      const end = new Promise<void>((resolve) => {
        child.once('exit', (code, signal) => {
          output += `\n${name} ended: ${signal ?? code}\n`
          this.#pids.delete(child.pid ?? 0)
          resolve()
          setTimeout(() => (this.#isOff ? this.#pendingLaunches.push(launch) : launch()), RESTART_MS).unref()
        })
      })
      this.#ends.push(end)
    }
    launch()
    return { output: () => output, signal: (signal) => signalAll(treeOf([pid]), signal) }
  }

  signal(signal: NodeJS.Signals): void {
    signalAll(this.#space ? pidsIn(this.#space) : treeOf([...this.#pids]), signal)
  }

  powerOff(): void {
    this.#isOff = true
    this.signal('SIGKILL')
  }

  boot(): void {
    this.#isOff = false
    for (const launch of this.#pendingLaunches.splice(0)) launch()
  }

  async end(): Promise<void> {
    this.powerOff()
    await Promise.all(this.#ends)
    if (this.#space) this.signal('SIGKILL') // processes that were just started
  }
}

/** PostgreSQL leaves the process tree of its parent, but not the network namespace. */
function pidsIn(space: string): number[] {
  return ip('netns', 'pids', space).split('\n').filter(Boolean).map(Number)
}

/** Parents first, so that no parent restarts a child. */
function treeOf(roots: readonly number[]): number[] {
  const table = execFileSync('ps', ['-e', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')
  const children = Map.groupBy(
    table.map((line) => line.trim().split(/\s+/).map(Number) as [number, number]),
    ([, parent]) => parent,
  )
  const tree = [...roots]
  for (const pid of tree) tree.push(...(children.get(pid) ?? []).map(([child]) => child))
  return tree
}

function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {} // the process has ended
  }
}

function ip(...args: string[]): string {
  return execFileSync('ip', args, { encoding: 'utf8', env: { ...process.env, PATH: WIDE_PATH } })
}
