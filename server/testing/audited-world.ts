import type { AuditEntry } from '#contract/audit-log.ts'
import type { Engine } from '../database/database.ts'
import { givenSignedIn, PASSWORD } from './accounts.ts'
import type { Answer, AppWorld, Call } from './app-world.ts'
import type { Browser } from './browser.ts'
import { givenShop } from './shop.ts'

type Shop = Awaited<ReturnType<typeof givenShop>>

/** What the requests of a script know of each other. */
export type AuditWorld = {
  world: AppWorld
  shop: Shop
  /** Olga, an owner. */
  owner: Browser
  ids: Record<string, string>
  /** Whatever must stand nowhere in the audit log. */
  secrets: string[]
  /** With the first organization's key. */
  send: (method: string, path: string, body?: unknown) => Promise<Answer>
}

/** From where the key's requests come, and from where Olga's. */
export const KEY_ADDRESS = '192.0.2.7'
export const OWNER_ADDRESS = '192.0.2.1'

export async function givenAuditWorld(engine: Engine): Promise<AuditWorld> {
  const settings = { SIGN_UP: 'open', SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'zonewatch@example.com' }
  const shop = await givenShop(engine, settings)
  const { world } = shop
  const { key } = await world.organization()
  const owner = await givenSignedIn(world, { name: 'Olga', role: 'owner' }, OWNER_ADDRESS)
  const call = (path: string, given: Call) => world.call(path, { ...given, from: KEY_ADDRESS })
  return {
    world,
    shop,
    owner,
    ids: {},
    secrets: [key, PASSWORD],
    send: (method, path, body) => call(path, { method, ...(body === undefined ? {} : { body }) }),
  }
}

export type ExpectedEntry = Partial<Pick<AuditEntry, 'before' | 'after' | 'object_count'>> & {
  action: AuditEntry['action']
  /** The key unless said. */
  by?: AuditEntry['actor']['type']
  label?: string | null
}

/** A request, the route that it is for, and the one entry that it makes. */
export type AuditedRequest = {
  route: string
  /** What comes before it; its entries do not count. */
  prepare?: (given: AuditWorld) => Promise<unknown>
  request: (given: AuditWorld) => Promise<Answer>
  entry: ExpectedEntry
}

/** Remembers the id of what was made. */
export const keep = (given: AuditWorld, name: string, answer: Answer) => {
  given.ids[name] = answer.body?.id
  return answer
}

/** A request for the object of this kind that was made last. */
export const on =
  (kind: string, path = '') =>
  (method: string, body?: unknown) =>
  (given: AuditWorld) =>
    given.send(method, `/${kind}s/${given.ids[kind]}${path}`, body)
