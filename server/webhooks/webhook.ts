import type { Selectable } from 'kysely'
import type { NewWebhook, Webhook } from '#contract/webhooks.ts'
import type { WebhooksTable } from '../database/schema.ts'
import { isoOf, isoOrNull } from '../http/times.ts'
import type { FieldErrors } from '../problem.ts'
import type { Seal } from '../seal.ts'
import { type Networks, refusalOfUrl } from './addresses.ts'
import { refusalOfHeader } from './custom-headers.ts'

export type WebhookRow = Selectable<WebhooksTable>

/** Checks what the schema cannot: where the address leads, and the names of the headers. */
export function refusalsOf(given: Pick<NewWebhook, 'url' | 'headers'>, allowedNetworks: Networks): FieldErrors {
  const errors: FieldErrors = {}
  const url = refusalOfUrl(given.url, allowedNetworks)
  if (url !== null) errors.url = url
  for (const [name, value] of Object.entries(given.headers ?? {})) {
    const header = refusalOfHeader(name, value)
    if (header !== null) errors[`headers.${name}`] = header
  }
  return errors
}

/** Secrets are bound to their place in the database, so that a row cannot borrow another's. */
export const secretContext = (webhookId: string): string => `webhook secret ${webhookId}`
export const headersContext = (webhookId: string): string => `webhook headers ${webhookId}`

/** `secret` is shown in full only when it was just made. */
export function toWebhook(row: WebhookRow, groups: string[], seal: Seal, shown: { secret?: string } = {}): Webhook {
  const { id } = row
  return {
    id,
    created: isoOf(row.created_at),
    url: row.url,
    secret: shown.secret ?? masked(seal.open(row.secret, secretContext(id))),
    headers: JSON.parse(seal.open(row.headers, headersContext(id))),
    groups,
    is_active: row.is_active === 1,
    state: row.state,
    last_error: row.last_error,
    last_executed: isoOrNull(row.last_executed_at),
  }
}

const masked = (secret: string) => `${'*'.repeat(8)}${secret.slice(-4)}`
