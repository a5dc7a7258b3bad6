import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { formatServer } from '#server/dns/server-address.ts'
import { type Running, startProcess } from './process.ts'
import type { Server } from './servers/server.ts'
import { until } from './until.ts'
import { freePort } from './workspace.ts'

/** A Zonewatch process. `call` returns the body of a 2xx response and throws on any other status. */
export type Zonewatch = { call<T>(method: string, path: string, body?: object): Promise<T>; stop(): Promise<void> }

const MAIN = fileURLToPath(new URL('../../server/main.ts', import.meta.url))
const API_KEY = `zw_${'Interop'.repeat(7).slice(0, 43)}`

/** Starts Zonewatch with an SQLite database in a new folder below `folder`, with `dns` as its only resolver. */
export async function startZonewatch(folder: string, dns: Server): Promise<Zonewatch> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const dataDir = join(folder, `data-${port}`)
  await mkdir(dataDir)
  const running = startProcess(process.execPath, [MAIN, 'serve'], {
    ...NO_LIMITS,
    PORT: String(port),
    BASE_URL: url, // Vitest sets another one in the environment
    DATA_DIR: dataDir,
    DNS_SERVERS: formatServer(dns.address),
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    ADMIN_EMAIL: 'owner@zone.test',
    ADMIN_PASSWORD: 'not a secret',
    ADMIN_API_KEY: API_KEY,
  })
  const isUp = async () => {
    const ended = running.ended()
    if (ended !== undefined) throw new Error(`${ended}\n${running.output()}`)
    return (await fetch(`${url}/readyz`).catch(() => undefined))?.ok || undefined
  }
  try {
    await until(isUp, { withinMs: START_TIMEOUT_MS, failure: () => `the server does not answer\n${running.output()}` })
  } catch (error) {
    await running.stop()
    throw error
  }
  return { call: caller(url, running), stop: running.stop }
}

/** Only for a server that hangs: four start at once, on a machine that may be busy. */
const START_TIMEOUT_MS = 100_000
const NO_LIMITS = { READ_LIMIT: '0', WRITE_LIMIT: '0', CREATE_LIMIT: '0', DNS_ROOTS: 'off', DNS_CANARIES: 'off' }

function caller(url: string, { output }: Running): Zonewatch['call'] {
  return async <T>(method: string, path: string, body?: object) => {
    const headers = { 'x-api-key': API_KEY, ...(body ? { 'content-type': 'application/json' } : {}) }
    const response = await fetch(`${url}${path}`, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}\n${output()}`)
    return JSON.parse(text) as T // other tests compare the shape with the schemas
  }
}
