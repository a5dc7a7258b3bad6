import { BATCH_DEFAULTS } from '#contract/batches.ts'
import type { NewWebhook, PayloadInclude, Webhook, WebhookChange } from '#contract/webhooks.ts'
import { type Fields, sameSet } from '../edit/rebase.ts'
import { includeLabel } from './status.tsx'

/** The values of the form. Headers without a name are ignored. */
export type WebhookForm = {
  url: string
  groups: string[]
  isOfAll: boolean
  hasZones: boolean
  headers: HeaderLine[]
  /** Additional fields of the payload. */
  includes: string[]
  isBatched: boolean
  /** Numbers as text. */
  batch: { max_events: string; max_wait_seconds: string }
  /** Undefined: the server generates one. */
  secret: string | undefined
}
export type HeaderLine = { key: number; name: string; value: string }

const textsOf = ({ max_events, max_wait_seconds }: typeof BATCH_DEFAULTS) => ({
  max_events: String(max_events),
  max_wait_seconds: String(max_wait_seconds),
})

export const emptyForm = (groups: string[]): WebhookForm => ({
  url: '',
  groups,
  isOfAll: false,
  hasZones: false,
  headers: [],
  includes: [],
  isBatched: false,
  batch: textsOf(BATCH_DEFAULTS),
  secret: undefined,
})

export const formOf = ({
  url,
  groups,
  all_groups,
  zone_events,
  headers,
  payload_includes,
  batch,
}: Webhook): WebhookForm => ({
  url,
  groups,
  isOfAll: all_groups ?? false,
  hasZones: zone_events ?? false,
  headers: Object.entries(headers).map(([name, value], key) => ({ key, name, value })),
  includes: payload_includes ?? [],
  isBatched: batch !== undefined,
  batch: textsOf(batch ?? BATCH_DEFAULTS),
  secret: undefined,
})

export const newWebhookOf = (form: WebhookForm): NewWebhook => ({
  url: form.url.trim(),
  groups: form.groups,
  ...(form.isOfAll ? { all_groups: true } : {}),
  ...(form.hasZones ? { zone_events: true } : {}),
  headers: headersOf(form.headers),
  ...(form.includes.length > 0 ? includesOf(form) : {}),
  ...(form.isBatched ? { batch: batchOf(form) } : {}),
  ...(form.secret === undefined ? {} : { secret: form.secret }),
})

/** A change of url or headers triggers an attempt of a paused webhook. */
export const fieldsOf = (groupName: (id: string) => string): Fields<WebhookForm, WebhookChange> => ({
  url: {
    label: 'URL',
    text: (url) => url,
    same: (one, other) => one.trim() === other.trim(),
    change: ({ url }) => ({ url: url.trim() }),
  },
  groups: { label: 'Groups', text: (groups) => groups.map(groupName).join(', '), same: sameSet },
  isOfAll: {
    label: 'All groups',
    text: (isOfAll) => (isOfAll ? 'yes' : 'no'),
    change: ({ isOfAll }) => ({ all_groups: isOfAll }),
  },
  hasZones: {
    label: 'Findings about zones',
    text: (hasZones) => (hasZones ? 'yes' : 'no'),
    change: ({ hasZones }) => ({ zone_events: hasZones }),
  },
  headers: {
    label: 'Headers',
    text: (lines) => headerLines(lines).join('\n'),
    same: (one, other) => sameSet(headerLines(one), headerLines(other)),
    change: ({ headers }) => ({ headers: headersOf(headers) }),
  },
  includes: {
    label: 'Add to the payload',
    text: (includes) => includes.map(includeLabel).join(', ') || 'nothing',
    same: sameSet,
    change: includesOf,
  },
  isBatched: {
    label: 'Send changes in batches',
    text: (isBatched) => (isBatched ? 'yes' : 'no'),
    change: (form) => ({ batch: form.isBatched ? batchOf(form) : null }),
  },
  batch: {
    label: 'Batches',
    text: ({ max_events, max_wait_seconds }) => `${max_events} changes, ${max_wait_seconds} seconds`,
    same: (one, other) => one.max_events === other.max_events && one.max_wait_seconds === other.max_wait_seconds,
    change: (form) => (form.isBatched ? { batch: batchOf(form) } : {}),
  },
  // Only rotation changes it.
  secret: { label: 'Secret', text: () => '', same: () => true },
})

/** The server rejects unknown values. */
const includesOf = ({ includes }: WebhookForm) => ({ payload_includes: includes as PayloadInclude[] })

const batchOf = ({ batch }: WebhookForm) => ({
  max_events: Number(batch.max_events),
  max_wait_seconds: Number(batch.max_wait_seconds),
})

const headerLines = (lines: readonly HeaderLine[]): string[] =>
  Object.entries(headersOf(lines)).map(([name, value]) => `${name}: ${value}`)

const headersOf = (lines: readonly HeaderLine[]): Record<string, string> =>
  Object.fromEntries(lines.filter(({ name }) => name.trim() !== '').map(({ name, value }) => [name.trim(), value]))
