import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newApiKey } from '../../accounts/api-key-store.ts'
import { systemClock } from '../../clock.ts'
import type { QuestionType } from '../../dns/outcome.ts'
import { formatServer } from '../../dns/server-address.ts'
import { type Api, createApi } from '../api-client.ts'
import { startDnsServer } from '../dns-server.ts'
import { type Receiver, startReceiver } from '../receiver.ts'
import { type ServerProcess, startServer } from '../server-process.ts'

/** Two name servers with the same records, a receiver, and a real Zonewatch, all on this machine. */
export type DemoEnvironment = {
  nameServers: string[]
  setRecord(name: string, type: QuestionType, values: string[]): void
  receiver: Receiver
  zonewatch: ServerProcess
  api: Api
}

const STOP_TIMEOUT_MS = 3_000

/** `stack` stops and removes everything, even if a later part does not start. */
export async function startEnvironment(stack: AsyncDisposableStack): Promise<DemoEnvironment> {
  const folder = await mkdtemp(join(tmpdir(), 'zonewatch-demo-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const nameServers = [await startDnsServer(), await startDnsServer()]
  for (const server of nameServers) stack.defer(() => server.close())
  const receiver = await startReceiver()
  stack.defer(() => receiver.close())

  const key = newApiKey()
  const addresses = nameServers.map(({ address }) => formatServer(address))
  const starting = startServer({
    DATA_DIR: folder,
    DNS_SERVERS: addresses.join(','),
    DNS_ROOTS: 'off', // no queries to the Internet
    DNS_CANARIES: 'off',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    READ_LIMIT: '0',
    WRITE_LIMIT: '0',
    ADMIN_EMAIL: 'you@shop.example',
    ADMIN_PASSWORD: newApiKey(),
    ADMIN_API_KEY: key,
    LOG_LEVEL: 'warn',
  })
  stack.defer(async () => {
    const started = await starting.catch(() => undefined)
    started?.send('SIGTERM')
    await Promise.race([started?.ended, systemClock.sleep(STOP_TIMEOUT_MS)])
    await started?.kill()
  })
  const zonewatch = await starting
  return {
    nameServers: addresses,
    setRecord(name, type, values) {
      for (const server of nameServers) server.set(name, type, values)
    },
    receiver,
    zonewatch,
    api: createApi(zonewatch.url, key),
  }
}
