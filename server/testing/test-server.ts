import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { systemClock } from '../clock.ts'
import type { Engine } from '../database/engine.ts'
import { formatServer } from '../dns/server-address.ts'
import { migratedDatabaseUrl, newDatabaseUrl } from './database.ts'
import { type DnsServer, startDnsServer } from './dns-server.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { type ServerProcess, type Settings, startServer } from './server-process.ts'

export const ADMIN_KEY = `zw_${'A'.repeat(43)}`
/** Settings that create an organization with the key `ADMIN_KEY` in an empty database. */
export const ADMIN: Settings = {
  ADMIN_EMAIL: 'owner@example.com',
  ADMIN_PASSWORD: 'a long password',
  ADMIN_API_KEY: ADMIN_KEY,
}

/** One process does all work: each costs as much to start as most tests. */
export const ONE_PROCESS: Settings = { WORKERS: '0' }
/** For tests of what passes between processes, and of their end: one for the API and one for checks and deliveries. */
export const SEVERAL_PROCESSES: Settings = { WORKERS: '1' }

/** A DNS server, a webhook receiver and a database for a server, on loopback only. All are removed after the test. */
export type TestEnvironment = { dns: DnsServer; receiver: Receiver; settings: Settings; databaseUrl: string }

/** `settings` start a server of one process on an empty database. If `isMigrated` is false, the server creates the tables. */
export async function givenEnvironment(engine: Engine, { isMigrated = true } = {}): Promise<TestEnvironment> {
  const [dns, receiver, database, folder] = await Promise.all([
    startDnsServer(),
    startReceiver(),
    isMigrated ? migratedDatabaseUrl(engine) : newDatabaseUrl(engine),
    givenFolder(),
  ])
  onTestFinished(async () => {
    await Promise.all([dns.close(), receiver.close()])
    await database.drop()
  })
  const settings = { ...serverSettings({ dns, databaseUrl: database.url, folder }), ...ONE_PROCESS }
  return { dns, receiver, settings, databaseUrl: database.url }
}

/** Settings of a server that uses only loopback and has no rate limits. */
export function serverSettings({ dns, databaseUrl, folder }: { dns: DnsServer; databaseUrl: string; folder: string }) {
  return {
    DATA_DIR: folder,
    DATABASE_URL: databaseUrl,
    SECRET: 'a secret of the test, longer than 32 characters',
    DNS_SERVERS: formatServer(dns.address),
    DNS_ROOTS: 'off',
    DNS_CANARIES: 'off',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    READ_LIMIT: '0',
    WRITE_LIMIT: '0',
    CREATE_LIMIT: '0',
  }
}

export async function givenFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'zonewatch-e2e-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** A server that is killed after the test if it still runs. */
export async function givenServer(
  settings: Settings,
  options: Parameters<typeof startServer>[1] = {},
): Promise<ServerProcess> {
  const server = await startServer(settings, options)
  onTestFinished(() => server.kill())
  return server
}

/** Repeats the query until the result is accepted. Throws with the last result after `timeoutMs`. */
export async function eventually<T>(
  query: () => Promise<T>,
  isAccepted: (result: T) => boolean,
  timeoutMs = 60_000,
): Promise<T> {
  const giveUpAt = systemClock.elapsed() + timeoutMs
  for (;;) {
    const result = await query()
    if (isAccepted(result)) return result
    if (systemClock.elapsed() > giveUpAt) {
      throw new Error(
        `Not accepted within ${timeoutMs} ms. The last result: ${JSON.stringify(result)?.slice(0, 2_000)}`,
      )
    }
    await systemClock.sleep(25)
  }
}
