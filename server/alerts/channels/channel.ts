import { type Static, type TObject, type TSchema, Type } from 'typebox'
import type { ChannelType } from '#contract/alerts.ts'
import type { Notice } from '../notice.ts'

/** One HTTP request of a channel: a POST, unless it says otherwise. */
export type Outgoing = { method?: 'PUT' | 'PATCH'; url: string; headers?: Record<string, string>; body: string }

export type Response = { status: number; body: string }

/** A medium that takes alerts by HTTP. One file for each, listed in `channels.ts`. */
export type HttpMedium<S extends TObject = TObject> = {
  type: ChannelType
  /** As people call it. */
  name: string
  /** Where the settings are found, in a sentence or two. */
  help: string
  settings: S
  /** Secrets in it are taken out of the log. */
  request(notice: Notice, settings: Static<S>): Outgoing
  /** What the provider calls a message that it accepted. Later messages about the incident have it as `reference`. */
  referenceOf?(response: Response): string | undefined
  /** Makes this message of the one that it resolves. It is sent before the message itself, of which people are notified. */
  update?(notice: Notice, settings: Static<S>, reference: string): Outgoing
  /** Statuses after which no retry can succeed: a wrong token, a channel that was deleted. Others are retried. */
  permanent: readonly number[]
  /**
   * Where a recovery closes what the failure opened: how long that takes to exist, as a close that comes earlier would be lost. What
   * no recovery follows is closed after this time.
   */
  closesAfterMs?: number
  /** The error in the body of a 2xx response. `status`: that of the provider's own service, where the body says it. */
  errorIn?(response: Response): { error: string; status?: number } | undefined
  /** How long the response asks to wait, where it does not say it in `Retry-After`. */
  retryAfterMs?(response: Response): number | undefined
}

/** Infers the type of the settings, which the table of all media does not know. */
export const httpMedium = <S extends TObject>(medium: HttpMedium<S>): HttpMedium => medium as unknown as HttpMedium

type Described = {
  description?: string
  examples?: unknown[]
  maxLength?: number
  minLength?: number
  pattern?: string
}

/** A setting that is encrypted in the database and never returned. `title`: its label in forms. */
export const Secret = (title: string, options: Described = {}) =>
  Type.String({ title, minLength: 1, maxLength: 2000, secret: true, ...options })

export const Text = (title: string, options: Described = {}) =>
  Type.String({ title, minLength: 1, maxLength: 500, ...options })

/** An address that the server may connect to. */
export const Url = (title: string, options: Described = {}) =>
  Type.String({ title, minLength: 1, maxLength: 2000, isUrl: true, ...options })

/** A URL that holds a token. */
export const SecretUrl = (title: string, options: Described = {}) =>
  Type.String({ title, minLength: 1, maxLength: 2000, isUrl: true, secret: true, ...options })

/** For another region, a proxy, or a server of one's own. */
export const ApiUrl = (preset: string) =>
  Type.Optional(Url('API address', { description: `Default: ${preset}`, examples: [preset] }))

export const Settings = <T extends Record<string, TSchema>>(properties: T) =>
  Type.Object(properties, { additionalProperties: false })

/** The buttons of a message: acknowledge first, where there is something to acknowledge. */
export const buttonsOf = ({ link, acknowledge }: Pick<Notice, 'link' | 'acknowledge'>): Notice['link'][] =>
  acknowledge === null ? [link] : [{ label: 'Acknowledge', href: acknowledge }, link]

/** The same as lines of text, for media without buttons. */
export const linksOf = (notice: Notice): string[] => buttonsOf(notice).map(({ label, href }) => `${label}: ${href}`)

/** Cut to what a medium accepts, without splitting a character. */
export function cut(text: string, most: number): string {
  return text.length <= most
    ? text
    : `${text
        .slice(0, most - 1)
        .toWellFormed()
        .replace(/\uFFFD$/, '')}…`
}

/** An error that the provider puts into a 2xx response as JSON. `field`: its name there. */
export const errorOf = (name: string, body: string, field: string): { error: string } => {
  const given = jsonOf(body)?.[field]
  return { error: `${name} did not accept the message${typeof given === 'string' ? `: ${cut(given, 200)}` : ''}` }
}

/** For media that read Markdown: what strangers wrote into the DNS makes no link, no image and no mention. */
export const withoutMarkdown = (text: string): string =>
  text.replace(/[\\[\]*_`~|<>]/g, '\\$&').replaceAll('@', '@\u200b')

/** `base` may end with a slash. */
export const at = (base: string, path: string): string => `${base.endsWith('/') ? base.slice(0, -1) : base}${path}`

/** Undefined where it is no JSON object. */
export function jsonOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
