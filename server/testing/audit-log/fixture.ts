import type { AuditEntry } from '#contract/audit-log.ts'
import type { Engine } from '../../database/engine.ts'
import { givenSignedInBrowser, PASSWORD } from '../accounts.ts'
import { givenBilling } from '../billing.ts'
import type { Browser } from '../browser.ts'
import type { AppResponse, TestApp } from '../test-app.ts'

/** What the requests share, among them the ids that earlier ones created. */
export type AuditFixture = {
  world: TestApp
  billing: Awaited<ReturnType<typeof givenBilling>>
  /** Olga, an owner. */
  owner: Browser
  ids: Record<string, string>
  /** Texts that the audit log must not contain. */
  secrets: string[]
  /** Sends a request with the key of the first organization. */
  send: (method: string, path: string, body?: unknown) => Promise<AppResponse>
}

/** The client addresses of the API key and of Olga. */
export const KEY_ADDRESS = '192.0.2.7'
export const OWNER_ADDRESS = '192.0.2.1'

export async function givenAuditFixture(engine: Engine): Promise<AuditFixture> {
  const settings = { SIGN_UP: 'open', SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'zonewatch@example.com' }
  const billing = await givenBilling(engine, settings)
  const { world } = billing
  const { key } = await world.organization()
  const owner = await givenSignedInBrowser(world, { name: 'Olga', role: 'owner' }, OWNER_ADDRESS)
  return {
    world,
    billing,
    owner,
    ids: {},
    secrets: [key, PASSWORD],
    send: (method, path, body) =>
      world.call(path, { method, from: KEY_ADDRESS, ...(body === undefined ? {} : { body }) }),
  }
}

export type ExpectedEntry = Partial<Pick<AuditEntry, 'before' | 'after' | 'object_count'>> & {
  action: AuditEntry['action']
  /** The type of the actor, `key` by default. */
  by?: AuditEntry['actor']['type']
  label?: string | null
}

/** A request, its route, and the one audit entry that it writes. */
export type AuditedRequest = {
  route: string
  /** Runs before the request. The test ignores the entries that it writes. */
  prepare?: (fixture: AuditFixture) => Promise<unknown>
  request: (fixture: AuditFixture) => Promise<AppResponse>
  entry: ExpectedEntry
}

/** Stores the id of the created object for later requests. */
export const rememberId = (fixture: AuditFixture, name: string, answer: AppResponse) => {
  fixture.ids[name] = answer.body?.id
  return answer
}

/** A request about the last created object of this kind. */
export const requestTo =
  (kind: string, path = '') =>
  (method: string, body?: unknown) =>
  (fixture: AuditFixture) =>
    fixture.send(method, `/${kind}s/${fixture.ids[kind]}${path}`, body)
