import { type Static, type TObject, type TSchema, Type } from 'typebox'
import type { ChannelType } from '#contract/alerts.ts'
import { truncate } from '../../text.ts'
import type { AlertMessage, MessageKind } from '../alert-message.ts'

/** A POST by default. */
export type HttpRequest = { method?: 'PUT' | 'PATCH'; url: string; headers?: Record<string, string>; body: string }

/** `json`: the body as a JSON object, or an empty one. */
export type HttpResponse = { status: number; body: string; json: Record<string, unknown> }

/** A channel type that sends alerts by HTTP: one file for each, listed in `channel-types.ts`. */
export type HttpChannelType<S extends TObject = TObject> = {
  type: ChannelType
  name: string
  /** Where to find the settings, in a sentence or two. */
  help: string
  settings: S
  request(message: AlertMessage, settings: Static<S>): HttpRequest
  /** The provider's id of the message. Later messages about the incident have it as `reference`. */
  findReference?(response: HttpResponse): string | undefined
  /** Replaces the first message by a recovery. It is sent before the recovery itself, because an edit notifies nobody. */
  update?(message: AlertMessage, settings: Static<S>, reference: string): HttpRequest
  /** Statuses after which no retry can succeed, such as a wrong token or a deleted channel. All others are retried. */
  permanentStatuses: readonly number[]
  /**
   * Set if a recovery closes the alert at the provider: how long the provider takes to create that alert, because it ignores an
   * earlier close. Messages without a later recovery are closed after this time.
   */
  closesAfterMs?: number
  /** The error in a 2xx response. `status`: the status in the body, if it has one. */
  findError?(response: HttpResponse): { error: string; status?: number } | undefined
  /** The delay that the body asks for, for providers that send no `Retry-After`. */
  findRetryAfterMs?(response: HttpResponse): number | undefined
}

/** Infers the type of the settings, which the table of all types does not know. */
export const httpChannelType = <S extends TObject>(type: HttpChannelType<S>): HttpChannelType =>
  type as unknown as HttpChannelType

type FieldOptions = {
  description?: string
  examples?: unknown[]
  maxLength?: number
  minLength?: number
  pattern?: string
  secret?: true
}

/** A setting that is encrypted in the database and never returned. `title`: its label in forms. */
export const Secret = (title: string, options: FieldOptions = {}) =>
  Type.String({ title, minLength: 1, maxLength: 2000, secret: true, ...options })

export const Text = (title: string, options: FieldOptions = {}) =>
  Type.String({ title, minLength: 1, maxLength: 500, ...options })

/** The server refuses private addresses, unless they are allowed. */
export const Url = (title: string, options: FieldOptions = {}) =>
  Type.String({ title, minLength: 1, maxLength: 2000, isUrl: true, ...options })

/** A URL that contains a token. */
export const SecretUrl = (title: string, options: FieldOptions = {}) => Url(title, { ...options, secret: true })

/** For another region, a proxy, or a self-hosted server. */
export const ApiUrl = (defaultUrl: string) =>
  Type.Optional(Url('API address', { description: `Default: ${defaultUrl}`, examples: [defaultUrl] }))

export const Settings = <T extends Record<string, TSchema>>(properties: T) =>
  Type.Object(properties, { additionalProperties: false })

export function newResponse(status: number, body: string): HttpResponse {
  let json: unknown
  try {
    json = JSON.parse(body)
  } catch {}
  return { status, body, json: typeof json === 'object' && json !== null ? (json as HttpResponse['json']) : {} }
}

/** For a provider that refuses a message with a 2xx response. `field`: the error in its JSON. */
export const providerError = (provider: string, { json }: HttpResponse, field: string): { error: string } => {
  const reason = json[field]
  return {
    error: `${provider} did not accept the message${typeof reason === 'string' ? `: ${truncate(reason, 200)}` : ''}`,
  }
}

export const STATE_EMOJI: Record<MessageKind, string> = {
  failing: '🔴 ',
  recovered: '✅ ',
  information: '',
  summary: '',
  test: '',
}

/** `base` may end with a slash. */
export const joinUrl = (base: string, path: string): string => `${base.endsWith('/') ? base.slice(0, -1) : base}${path}`
