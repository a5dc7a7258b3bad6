import type { Selectable } from 'kysely'
import { BATCH_DEFAULTS } from '#contract/batches.ts'
import { fieldError } from '#contract/field-errors.ts'
import { MAX_HEADERS, type NewWebhook, type Webhook } from '#contract/webhooks.ts'
import type { WebhooksTable } from '../database/schema-webhooks.ts'
import { withVersion } from '../database/versions.ts'
import type { Keyring } from '../keyring.ts'
import type { FieldErrors } from '../problem.ts'
import type { SafeFetch } from '../safe-http/safe-fetch.ts'
import { toIso, toIsoOrNull } from '../times.ts'
import { headerError, masked, maskedHeaders, unmaskedHeaders } from './custom-headers.ts'
import { secretError } from './signature.ts'

export type WebhookRow = Selectable<WebhooksTable>

/**
 * Checks what the schema cannot: the URL, the format of the secret and the names of the headers. Ignores values of the wrong
 * type, which the schema reports, so that one response lists all errors.
 */
export async function validateWebhook(
  { url, secret, headers }: Partial<NewWebhook>,
  stored: Readonly<Record<string, string>>,
  safeFetch: SafeFetch,
): Promise<FieldErrors> {
  const { errors } = unmaskedHeaders(headers ?? {}, stored)
  const refusal = typeof url === 'string' ? await safeFetch.refusalOf(url) : null
  if (refusal !== null) errors.url = refusal
  const refusedSecret = typeof secret === 'string' ? secretError(secret) : null
  if (refusedSecret !== null) errors.secret = refusedSecret
  const names = new Set<string>()
  for (const [name, value] of Object.entries(headers ?? {}).slice(0, MAX_HEADERS)) {
    const header = headerError(name, String(value))
    if (header !== null) errors[`headers.${name}`] = header
    else if (names.has(name.toLowerCase())) errors[`headers.${name}`] = fieldError('repeated_header', { header: name })
    names.add(name.toLowerCase())
  }
  return errors
}

/** Binds an encrypted secret to its webhook, so that it cannot be copied to another row. */
export const secretContext = (webhookId: string): string => `webhook secret ${webhookId}`
export const headersContext = (webhookId: string): string => `webhook headers ${webhookId}`

export const openHeaders = (
  { id, headers }: Pick<WebhookRow, 'id' | 'headers'>,
  keyring: Keyring,
): Record<string, string> => JSON.parse(keyring.decrypt(headers, headersContext(id)))

/** The settings of a webhook for the audit log, which stores only the names of the headers. */
export const auditOf = (row: WebhookRow, groups: string[], keyring: Keyring) => ({
  url: row.url,
  headers: openHeaders(row, keyring),
  groups,
  is_active: row.is_active === 1,
  ...optionalSettings(row),
})

/** Absent unless they are set. */
const optionalSettings = (row: WebhookRow) => ({
  ...(row.payload_includes !== '[]' && { payload_includes: JSON.parse(row.payload_includes) as string[] }),
  ...(row.all_groups === 1 && { all_groups: true }),
  ...(row.zone_events === 1 && { zone_events: true }),
  ...(row.batch_max_events !== null && {
    batch: { max_events: row.batch_max_events, max_wait_seconds: row.batch_max_wait_seconds! },
  }),
})

/** Null turns batches off. */
export const batchColumns = (batch: NewWebhook['batch']) => ({
  batch_max_events: batch ? (batch.max_events ?? BATCH_DEFAULTS.max_events) : null,
  batch_max_wait_seconds: batch ? (batch.max_wait_seconds ?? BATCH_DEFAULTS.max_wait_seconds) : null,
})

/** `full.secret`: the full secret, for the response that creates or rotates it. */
export function toWebhook(
  row: WebhookRow,
  groups: string[],
  keyring: Keyring,
  full: { secret?: string } = {},
): Webhook {
  const { id } = row
  const webhook: Webhook = {
    id,
    created: toIso(row.created_at),
    url: row.url,
    secret: masked(keyring.decrypt(row.secret, secretContext(id))),
    headers: maskedHeaders(openHeaders(row, keyring)),
    groups,
    is_active: row.is_active === 1,
    state: row.state,
    last_error: row.last_error,
    last_executed: toIsoOrNull(row.last_executed_at),
    ...optionalSettings(row),
  }
  if (full.secret === undefined) return withVersion(webhook, row.version)
  return withVersion({ ...webhook, secret: full.secret }, row.version, webhook)
}
