import type { NewWebhook, Webhook, WebhookChange } from '#contract/webhooks.ts'
import { type Fields, isSame, sameSet } from '../edit/rebase.ts'

/** The values of the form. A header without a name is an empty line. */
export type WebhookForm = {
  url: string
  groups: string[]
  isOfAll: boolean
  headers: HeaderLine[]
  /** Undefined: one is made by the server. */
  secret: string | undefined
}
export type HeaderLine = { key: number; name: string; value: string }

export const emptyForm = (groups: string[]): WebhookForm => ({
  url: '',
  groups,
  isOfAll: false,
  headers: [],
  secret: undefined,
})

export const formOf = ({ url, groups, all_groups, headers }: Webhook): WebhookForm => ({
  url,
  groups,
  isOfAll: all_groups ?? false,
  headers: Object.entries(headers).map(([name, value], key) => ({ key, name, value })),
  secret: undefined,
})

export const newWebhookOf = ({ url, groups, isOfAll, headers, secret }: WebhookForm): NewWebhook => ({
  url: url.trim(),
  groups,
  ...(isOfAll ? { all_groups: true } : {}),
  headers: headersOf(headers),
  ...(secret === undefined ? {} : { secret }),
})

/** `groupName`: of an id. */
export const fieldsOf = (groupName: (id: string) => string): Fields<WebhookForm> => ({
  url: { label: 'URL', text: (url) => url, same: (one, other) => one.trim() === other.trim() },
  groups: { label: 'Groups', text: (groups) => groups.map(groupName).join(', '), same: sameSet },
  isOfAll: { label: 'All groups', text: (isOfAll) => (isOfAll ? 'yes' : 'no') },
  headers: {
    label: 'Headers',
    text: (lines) => headerLines(lines).join('\n'),
    same: (one, other) => sameSet(headerLines(one), headerLines(other)),
  },
  // Is changed by rotating it.
  secret: { label: 'Secret', text: () => '', same: () => true },
})

/** Only what differs: changing url or headers has a paused webhook tried at once, which nobody asked for by changing groups. */
export function changeOf(before: Webhook, form: WebhookForm): WebhookChange {
  const was = formOf(before)
  const fields = fieldsOf(String)
  return {
    ...(isSame(fields, 'url', was, form) ? {} : { url: form.url.trim() }),
    ...(isSame(fields, 'groups', was, form) ? {} : { groups: form.groups }),
    ...(isSame(fields, 'isOfAll', was, form) ? {} : { all_groups: form.isOfAll }),
    ...(isSame(fields, 'headers', was, form) ? {} : { headers: headersOf(form.headers) }),
  }
}

const headerLines = (lines: readonly HeaderLine[]): string[] =>
  Object.entries(headersOf(lines)).map(([name, value]) => `${name}: ${value}`)

const headersOf = (lines: readonly HeaderLine[]): Record<string, string> =>
  Object.fromEntries(lines.filter(({ name }) => name.trim() !== '').map(({ name, value }) => [name.trim(), value]))
