import { sql } from 'kysely'
import { isOneOfTenants, type TenantId } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import type { Keyring } from '../keyring.ts'
import type { AttemptTrigger } from './transition.ts'
import { headersContext, secretContext, type WebhookRow } from './webhook.ts'

/** Where a webhook's requests are sent, how they are signed, and whether they may be sent. Any change increments `version`. */
export type Target = {
  version: number
  isActive: boolean
  isPaused: boolean
  url: string
  headers: Readonly<Record<string, string>>
  secret: string
  /** The secret before a rotation, and until when requests carry its signature, too. */
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

export function toTarget({ id, url, secret, headers, ...row }: TargetRow, keyring: Keyring): Target {
  const { previous_secret } = row
  return {
    version: row.target_version,
    isActive: row.is_active === 1,
    isPaused: row.state === 'paused',
    url,
    headers: JSON.parse(keyring.decrypt(headers, headersContext(id))),
    secret: keyring.decrypt(secret, secretContext(id)),
    previousSecret: previous_secret === null ? undefined : keyring.decrypt(previous_secret, secretContext(id)),
    previousSecretUntil: row.previous_secret_until ?? 0,
  }
}

/** Whether a claimed request may still be sent. A manual one always may. */
export function mayAttempt({ isActive, isPaused }: Target, trigger: AttemptTrigger): boolean {
  switch (trigger) {
    case 'manual':
      return true
    case 'probe':
      return isActive
    case 'schedule':
      return isActive && !isPaused
  }
}

/** Reads the target right before an attempt. One statement serves all attempts that begin in one turn of the event loop. */
export class Targets {
  readonly #db: Database
  readonly #keyring: Keyring
  #requested: TenantId[] = []
  #pendingRead: Promise<ReadonlyMap<string, number>> | undefined

  constructor(db: Database, keyring: Keyring) {
    this.#db = db
    this.#keyring = keyring
  }

  /** `claimed` if it is still current, otherwise the new target. Undefined: the webhook was deleted. */
  async current(webhook: TenantId, claimed: Target): Promise<Target | undefined> {
    if (await this.isCurrent(webhook, claimed)) return claimed
    const row = await this.#db
      .selectFrom('webhooks')
      .select(TARGET_COLUMNS)
      .where('organization_id', '=', webhook.organizationId)
      .where('id', '=', webhook.id)
      .executeTakeFirst()
    return row && toTarget(row, this.#keyring)
  }

  async isCurrent(webhook: TenantId, { version }: Target): Promise<boolean> {
    this.#requested.push(webhook)
    this.#pendingRead ??= new Promise((resolve, reject) => {
      setImmediate(() => this.#readVersions().then(resolve, reject))
    })
    return (await this.#pendingRead).get(webhook.id) === version
  }

  async #readVersions(): Promise<ReadonlyMap<string, number>> {
    const webhooks = this.#requested
    this.#requested = []
    this.#pendingRead = undefined
    const { rows } = await sql<Pick<WebhookRow, 'id' | 'target_version'>>`select id, target_version from webhooks
      where ${isOneOfTenants(this.#db, 'webhooks', webhooks)}`.execute(this.#db)
    return new Map(rows.map(({ id, target_version }) => [id, target_version]))
  }
}
