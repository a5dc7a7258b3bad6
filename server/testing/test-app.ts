import { tmpdir } from 'node:os'
import type { LogEvent } from 'kysely'
import { pino } from 'pino'
import { onTestFinished } from 'vitest'
import { insertKey, type KeyRole } from '../accounts/api-key-store.ts'
import { insertOrganization } from '../accounts/organizations.ts'
import { createApp } from '../app.ts'
import { type Clock, systemClock } from '../clock.ts'
import { readConfig } from '../config/config.ts'
import { operatorContext } from '../context.ts'
import type { Engine } from '../database/engine.ts'
import { migrate } from '../database/migrate.ts'
import { closeDeps, type Deps, openDeps } from '../deps.ts'
import { createCheapPasswords } from './cheap-passwords.ts'
import type { Settings } from './server-process.ts'
import { borrowDatabase } from './shared-databases.ts'

export type AppResponse = {
  status: number
  headers: Record<string, string | undefined>
  /** Undefined without a body. The caller knows its shape. */
  // biome-ignore lint/suspicious/noExplicitAny: the one place where a test trusts the shape of a response
  body: any
  text: string
}

export type Call = {
  method?: string
  /** Null sends no key. */
  key?: string | null
  body?: unknown
  /** A body that is sent unchanged. */
  raw?: string | Buffer
  headers?: Record<string, string>
  from?: string
}

/** The API without loops and without a port, on the test's own database, with a clock that the test advances. */
export async function givenApp(engine: Engine, settings: Settings = {}, sharedUrl?: string) {
  const statements = new Set<string>()
  const log = ({ query }: LogEvent) => void statements.add(query.sql)
  const borrowed = sharedUrl === undefined ? await borrowDatabase(engine, log) : undefined
  const url = borrowed?.url ?? sharedUrl
  let advancedMs = 0
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + advancedMs }
  const config = readConfig({
    DATA_DIR: tmpdir(),
    DATABASE_URL: url,
    SECRET: 'a secret of the test, longer than 32 characters',
    DNS_SERVERS: '127.0.0.1:1',
    DNS_ROOTS: 'off',
    DNS_CANARIES: 'off',
    READ_LIMIT: '0',
    WRITE_LIMIT: '0',
    CREATE_LIMIT: '0',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    ...settings,
  })
  const logged: string[] = []
  const logger = pino({ level: 'error' }, { write: (line: string) => void logged.push(line) })
  const deps: Deps = openDeps(config, config.secret!, logger, clock)
  if (borrowed) deps.db = borrowed.db
  else await migrate(deps.db, clock.now())
  const passwords = createCheapPasswords()
  const app = await createApp(deps, passwords)
  await app.ready()
  let isClosed = false
  const close = async () => {
    if (isClosed) return
    isClosed = true
    await app.close()
    await closeDeps(deps)
  }
  onTestFinished(async () => {
    await close()
    await borrowed?.release()
  })

  const organizations = new Map<string, Promise<{ id: string; key: string }>>()
  /** Creates the organization at the first call with its name. */
  const organization = (name = 'First') => {
    const input = { name, email: `owner@${name.toLowerCase()}.example`, passwordHash: '' }
    const created = organizations.get(name) ?? insertOrganization(deps.db, input, clock.now())
    organizations.set(name, created)
    return created
  }
  return {
    app,
    deps,
    url: config.databaseUrl,
    passwords,
    /** The logged errors, as JSON. */
    logged,
    /** The SQL of every statement so far. Empty with a `sharedUrl`. */
    statements,
    organization,
    close,
    pass: (ms: number) => {
      advancedMs += ms
    },
    async key(role: KeyRole, options: { expiresAt?: number; organizationName?: string } = {}) {
      const { id } = await organization(options.organizationName)
      const expiry = options.expiresAt === undefined ? {} : { expiresAt: options.expiresAt }
      return await insertKey(deps.db, operatorContext(id, clock.now()), { name: role, role, ...expiry })
    },
    async call(path: string, { method = 'GET', key, body, raw, headers = {}, from }: Call = {}): Promise<AppResponse> {
      const apiKey = key === undefined ? (await organization()).key : key
      const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body))
      const response = await app.inject({
        method: method as 'GET',
        url: path,
        headers: {
          ...(apiKey === null ? {} : { 'x-api-key': apiKey }),
          ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(payload === undefined ? {} : { payload }),
        ...(from === undefined ? {} : { remoteAddress: from }),
      })
      return {
        status: response.statusCode,
        headers: response.headers as AppResponse['headers'],
        body: response.body === '' ? undefined : parseJson(response.body),
        text: response.body,
      }
    },
  }
}

export type TestApp = Awaited<ReturnType<typeof givenApp>>

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
