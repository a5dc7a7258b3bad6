import { sql } from 'kysely'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import type { Seal } from '../seal.ts'
import type { AttemptTrigger } from './transition.ts'
import { headersContext, secretContext, type WebhookRow } from './webhook.ts'

/** Where a webhook's requests go, what they are signed with, and whether they may. `version` changes with any of it. */
export type Target = {
  version: number
  isActive: boolean
  isPaused: boolean
  url: string
  headers: Readonly<Record<string, string>>
  secret: string
  /** The secret before a rotation, and until when it signs too. */
  previousSecret: string | undefined
  previousSecretUntil: number
}

export const TARGET_COLUMNS = [
  'id',
  'target_version',
  'is_active',
  'state',
  'url',
  'secret',
  'previous_secret',
  'previous_secret_until',
  'headers',
] as const
export type TargetRow = Pick<WebhookRow, (typeof TARGET_COLUMNS)[number]>

export function toTarget({ id, url, secret, headers, ...row }: TargetRow, seal: Seal): Target {
  const { previous_secret } = row
  return {
    version: row.target_version,
    isActive: row.is_active === 1,
    isPaused: row.state === 'paused',
    url,
    headers: JSON.parse(seal.open(headers, headersContext(id))),
    secret: seal.open(secret, secretContext(id)),
    previousSecret: previous_secret === null ? undefined : seal.open(previous_secret, secretContext(id)),
    previousSecretUntil: row.previous_secret_until ?? 0,
  }
}

/** Whether what was claimed may still be sent. A person's own request always may. */
export function maySend({ isActive, isPaused }: Target, trigger: AttemptTrigger): boolean {
  switch (trigger) {
    case 'manual':
      return true
    case 'probe':
      return isActive
    case 'schedule':
      return isActive && !isPaused
  }
}

type Versions = ReadonlyMap<string, number>

/**
 * What webhooks are sent with, as it is in the database right before an attempt. One statement serves all attempts that
 * begin in one turn of the event loop.
 */
export class Targets {
  readonly #db: Database
  readonly #seal: Seal
  #asked = new Set<string>()
  #answer: Promise<Versions> | undefined

  constructor(db: Database, seal: Seal) {
    this.#db = db
    this.#seal = seal
  }

  /** `known` where it is still so, else what it is now. Undefined: the webhook is gone. */
  async current(webhookId: string, known: Target): Promise<Target | undefined> {
    if (await this.isCurrent(webhookId, known)) return known
    const row = await this.#db
      .selectFrom('webhooks')
      .select(TARGET_COLUMNS)
      .where('id', '=', webhookId)
      .executeTakeFirst()
    return row && toTarget(row, this.#seal)
  }

  async isCurrent(webhookId: string, { version }: Target): Promise<boolean> {
    this.#asked.add(webhookId)
    this.#answer ??= new Promise((resolve, reject) => {
      setImmediate(() => this.#read().then(resolve, reject))
    })
    return (await this.#answer).get(webhookId) === version
  }

  async #read(): Promise<Versions> {
    const ids = [...this.#asked]
    this.#asked = new Set()
    this.#answer = undefined
    const { rows } = await sql<Pick<WebhookRow, 'id' | 'target_version'>>`select id, target_version from webhooks
      where ${isOneOf(this.#db, 'id', ids)}`.execute(this.#db)
    return new Map(rows.map(({ id, target_version }) => [id, target_version]))
  }
}
