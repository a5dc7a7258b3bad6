import type { NewWebhook, Webhook, WebhookChange } from '#contract/webhooks.ts'

/** What stands in the form. A header without a name is a line not filled in yet. */
export type WebhookForm = {
  url: string
  groups: string[]
  headers: HeaderLine[]
  /** Undefined: one is made by the server. */
  secret: string | undefined
}
export type HeaderLine = { key: number; name: string; value: string }

export const emptyForm = (groups: string[]): WebhookForm => ({ url: '', groups, headers: [], secret: undefined })

export const formOf = ({ url, groups, headers }: Webhook): WebhookForm => ({
  url,
  groups,
  headers: Object.entries(headers).map(([name, value], key) => ({ key, name, value })),
  secret: undefined,
})

export const newWebhookOf = ({ url, groups, headers, secret }: WebhookForm): NewWebhook => ({
  url: url.trim(),
  groups,
  headers: headersOf(headers),
  ...(secret === undefined ? {} : { secret }),
})

/** Only what differs: changing url or headers has a paused webhook tried at once, which nobody asked for by changing groups. */
export function changeOf(before: Webhook, { url, groups, headers }: WebhookForm): WebhookChange {
  const next = headersOf(headers)
  const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)
  return {
    ...(url.trim() === before.url ? {} : { url: url.trim() }),
    ...(same(groups.toSorted(), before.groups.toSorted()) ? {} : { groups }),
    ...(same(Object.entries(next).toSorted(), Object.entries(before.headers).toSorted()) ? {} : { headers: next }),
  }
}

const headersOf = (lines: readonly HeaderLine[]): Record<string, string> =>
  Object.fromEntries(lines.filter(({ name }) => name.trim() !== '').map(({ name, value }) => [name.trim(), value]))
