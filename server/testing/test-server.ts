import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { systemClock } from '../clock.ts'
import type { Engine } from '../database/database.ts'
import { formatServer } from '../dns/server-address.ts'
import { migratedDatabaseUrl, newDatabaseUrl } from './database.ts'
import { type DnsServer, startDnsServer } from './dns-server.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { type ServerProcess, type Settings, startServer } from './server-process.ts'

export const ADMIN_KEY = `zw_${'A'.repeat(43)}`
/** With these, an empty database gets an organization whose key is `ADMIN_KEY`. */
export const ADMIN: Settings = {
  ADMIN_EMAIL: 'owner@example.com',
  ADMIN_PASSWORD: 'a long password',
  ADMIN_API_KEY: ADMIN_KEY,
}

/** What a server needs around it, on loopback only. All of it goes away when the test is over. */
export type TestEnvironment = { dns: DnsServer; receiver: Receiver; settings: Settings; databaseUrl: string }

/** `settings` start a server on a database of the test's own, without rows. `isMigrated`: false, and the server creates its tables. */
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
  const settings = serverSettings({ dns, databaseUrl: database.url, folder })
  return { dns, receiver, settings, databaseUrl: database.url }
}

/** Of a server that uses nothing outside of the test's world, without limits. */
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

/** A server that is killed when the test is over, if it still runs then. */
export async function givenServer(
  settings: Settings,
  options: Parameters<typeof startServer>[1] = {},
): Promise<ServerProcess> {
  const server = await startServer(settings, options)
  onTestFinished(() => server.kill())
  return server
}

/** Asks again and again until the answer is accepted; throws with the last answer when that takes forever. */
export async function eventually<T>(
  ask: () => Promise<T>,
  isAccepted: (answer: T) => boolean,
  timeoutMs = 60_000,
): Promise<T> {
  const giveUpAt = systemClock.elapsed() + timeoutMs
  for (;;) {
    const answer = await ask()
    if (isAccepted(answer)) return answer
    if (systemClock.elapsed() > giveUpAt) {
      throw new Error(`not so within ${timeoutMs} ms, last was: ${JSON.stringify(answer)?.slice(0, 2_000)}`)
    }
    await systemClock.sleep(25)
  }
}
