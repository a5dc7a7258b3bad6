import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { appendFile, mkdir, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { type Running, run, startProcess } from './process.ts'
import { until } from './until.ts'
import { freePort } from './workspace.ts'

const TIMEOUT_MS = 60_000
const isRoot = userInfo().uid === 0
const [version] = readdirSync('/usr/lib/postgresql').sort((a, b) => Number(b) - Number(a))

/** A PostgreSQL server of Debian's package, on 127.0.0.1. */
export class Postgres {
  readonly port: number
  readonly #data: string
  #running: Running | undefined

  /** The folder of the programs. */
  static readonly binaries = `/usr/lib/postgresql/${version}/bin`

  private constructor(data: string, port: number) {
    this.#data = data
    this.port = port
  }

  /** Creates a server in an existing folder. `settings` are lines of postgresql.conf. */
  static async create(folder: string, settings = ''): Promise<Postgres> {
    const postgres = new Postgres(join(folder, 'data'), await freePort())
    giveToPostgres(folder)
    const options = ['--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync']
    await postgres.run(binary('initdb'), [...options, `--pgdata=${postgres.#data}`])
    await appendFile(join(postgres.#data, 'postgresql.conf'), `\n${settings}\n`)
    await postgres.start()
    return postgres
  }

  /** Starts a server on an existing data folder. */
  static async open(data: string): Promise<Postgres> {
    const postgres = new Postgres(data, await freePort())
    await postgres.start()
    return postgres
  }

  url(database: string): string {
    return `postgres://postgres@127.0.0.1:${this.port}/${database}`
  }

  async start(): Promise<void> {
    const flags = ['-D', this.#data, '-p', String(this.port), '-h', '127.0.0.1', '-c', 'unix_socket_directories=']
    const [command = '', ...args] = asPostgres([binary('postgres'), ...flags])
    const running = startProcess(command, args)
    this.#running = running
    await until(async () => running.ended() ?? (await this.query('select 1').catch(() => undefined)), {
      withinMs: TIMEOUT_MS,
      failure: running.output,
    })
    if (running.ended() !== undefined) throw new Error(running.output())
  }

  /** Stops the server in fast mode: it ends connections and archives the rest of the WAL. */
  async stop(): Promise<void> {
    const running = this.#running
    if (!running || running.ended() !== undefined) return
    process.kill(running.pid, 'SIGINT')
    await until(async () => running.ended(), { withinMs: TIMEOUT_MS, failure: running.output })
  }

  async query<T>(text: string, database = 'postgres'): Promise<T[]> {
    const client = new pg.Client({ connectionString: this.url(database) })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query(text)).rows
    } finally {
      await client.end()
    }
  }

  /** Runs a program as the user that PostgreSQL runs as. */
  run(command: string, args: string[], env: Record<string, string> = {}): Promise<string> {
    const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`)
    const [file = '', ...rest] = asPostgres(['env', ...settings, command, ...args])
    return run(file, rest)
  }
}

/** PgBouncer in transaction mode, with fewer connections to PostgreSQL than a server opens to it. */
export async function startPgBouncer(folder: string, { port: server }: Postgres, poolSize: number) {
  const port = await freePort()
  await mkdir(folder, { recursive: true })
  const file = join(folder, 'pgbouncer.ini')
  await writeFile(
    file,
    `[databases]
* = host=127.0.0.1 port=${server} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
admin_users = postgres
pool_mode = transaction
max_client_conn = 200
default_pool_size = ${poolSize}
server_login_retry = 1
`,
  )
  giveToPostgres(folder)
  const [command = '', ...args] = asPostgres(['pgbouncer', file])
  const url = (database: string) => `postgres://postgres@127.0.0.1:${port}/${database}`
  let running = startProcess(command, args)
  return {
    url,
    async show<T>(what: string): Promise<T[]> {
      const client = new pg.Client({ connectionString: url('pgbouncer') })
      await client.connect()
      try {
        return (await client.query(`show ${what}`)).rows
      } finally {
        await client.end()
      }
    },
    async restart(): Promise<void> {
      process.kill(running.pid, 'SIGKILL')
      await running.stop()
      running = startProcess(command, args)
    },
    stop: () => running.stop(),
  }
}

const binary = (name: string) => join(Postgres.binaries, name)

/** PostgreSQL and PgBouncer refuse to run as root. */
const asPostgres = (command: string[]) =>
  isRoot ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups', ...command] : command

/** Changes the owner of a folder to the user of PostgreSQL. */
export function giveToPostgres(folder: string): void {
  if (isRoot) execFileSync('chown', ['-R', 'postgres', folder])
}
