import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../database/database.ts'
import type { Keyring } from '../keyring.ts'
import { addressHash, listOwnerEmails, recipientsOf } from '../mail/addresses.ts'
import { alertToken, unsubscribeHeaders, unsubscribeLink, unsubscribeToken } from '../mail/links.ts'
import { countMail, OVER_LIMIT } from '../mail/mail-limits.ts'
import type { SendMail } from '../mail/smtp.ts'
import { parseRetryAfter } from '../retry-schedule.ts'
import type { SafeFetch } from '../safe-http/safe-fetch.ts'
import { newRedactor, truncate } from '../text.ts'
import { mailOf } from './alert-mail.ts'
import type { AlertMessage } from './alert-message.ts'
import type { AlertRow } from './alert-store.ts'
import { type ChannelRow, openedSettings, secretsOf } from './channel.ts'
import { type HttpChannelType, newResponse } from './channel-types/channel-type.ts'
import { HTTP_CHANNEL_TYPES } from './channel-types/channel-types.ts'

export type SendDeps = {
  db: Database
  clock: Clock
  keyring: Keyring
  safeFetch: SafeFetch
  config: Pick<Config, 'baseUrl' | 'mailLimits'>
  /** Null if no mail server is configured. */
  sendMail: SendMail | null
}

/** `request` and `response` contain no secrets. */
export type AttemptResult = {
  at: number
  /** `failed`: no retry can succeed. */
  kind: 'sent' | 'retry' | 'failed'
  error: string | null
  statusCode: number | null
  request: string | null
  response: string | null
  retryAfterMs?: number
  /** The provider's id of the message. */
  reference?: string | undefined
  /** The recipients that need no further attempt. */
  progress?: string[]
  totalMs: number
}

const MAX_LOG_LENGTH = 4000

/** Sends a message to a channel once. Network errors are results, not exceptions. `progress`: the recipients to skip. */
export async function sendMessage(
  deps: SendDeps,
  channel: ChannelRow,
  message: AlertMessage,
  { signal, progress = [] }: { signal: AbortSignal; progress?: readonly string[] },
): Promise<AttemptResult> {
  if (channel.type === 'email') return await sendByMail(deps, channel, message, signal, progress)
  return await sendByHttp(deps, channel, message, signal)
}

/**
 * Sends up to three requests: a recovery first edits the failing message, and messages without a later recovery are closed, because
 * they must not stay open at a provider that pages people on call.
 */
async function sendByHttp(
  deps: SendDeps,
  channel: ChannelRow,
  message: AlertMessage,
  signal: AbortSignal,
): Promise<AttemptResult> {
  const { request, update, closesAfterMs } = HTTP_CHANNEL_TYPES[channel.type as HttpType]
  const { reference, ...withoutReference } = message
  const send = (toSend: AlertMessage, build = request) => sendRequest(deps, channel, toSend, build, signal)
  const results: AttemptResult[] = []
  if (message.kind === 'recovered' && reference !== undefined && update) {
    const edited = await send(message, (message, settings) => update(message, settings, reference))
    // Any other error is ignored, such as a deleted first message: the recovery itself is still sent.
    if (edited.statusCode === 429 || edited.retryAfterMs !== undefined) return edited
    results.push(edited)
  }
  results.push(await send(message))
  // The provider also refuses a reply to a deleted message.
  if (results.at(-1)!.kind === 'failed' && reference !== undefined) results.push(await send(withoutReference))
  const hasRecovery = message.kind === 'failing' || message.kind === 'recovered'
  if (results.at(-1)!.kind !== 'sent' || closesAfterMs === undefined || hasRecovery) return joinResults(results)
  await deps.clock.sleep(closesAfterMs, signal)
  const closed = await send({ ...message, kind: 'recovered' })
  const error = closed.error === null ? null : `it was sent, but not closed: ${closed.error}`
  return joinResults([...results, { ...closed, error }])
}

type HttpType = keyof typeof HTTP_CHANNEL_TYPES

/** The last request decides; the log has all of them. */
function joinResults(results: readonly AttemptResult[]): AttemptResult {
  const joinTexts = (field: 'request' | 'response') => {
    const texts = results.flatMap((result) => result[field] ?? [])
    return texts.length === 0 ? null : texts.join('\n\n').trim()
  }
  return {
    ...results.at(-1)!,
    at: results[0]!.at,
    request: joinTexts('request'),
    response: joinTexts('response'),
    totalMs: results.reduce((sum, { totalMs }) => sum + totalMs, 0),
  }
}

async function sendRequest(
  deps: SendDeps,
  channel: ChannelRow,
  message: AlertMessage,
  build: HttpChannelType['request'],
  signal: AbortSignal,
): Promise<AttemptResult> {
  const { keyring, safeFetch, clock } = deps
  const type = HTTP_CHANNEL_TYPES[channel.type as HttpType]
  const request = build(message, openedSettings(channel, keyring))
  // Everyone who reads the log, even a viewer, could acknowledge with this token.
  const acknowledgeToken = message.acknowledge === null ? [] : [message.acknowledge.split('/').at(-1)!]
  const { authorization } = request.headers ?? {}
  const authorizations = authorization === undefined ? [] : [authorization, authorization.split(' ').at(-1)!]
  const redact = newRedactor([...Object.values(secretsOf(channel, keyring)), ...acknowledgeToken, ...authorizations])
  const at = clock.now()
  const headers = { 'content-type': 'application/json', 'accept-encoding': 'identity', 'user-agent': 'Zonewatch' }
  const { method = 'POST' } = request
  const result = await { POST: safeFetch.post, PUT: safeFetch.put, PATCH: safeFetch.patch }[method](
    request.url,
    { ...headers, ...request.headers },
    Buffer.from(request.body),
    signal,
  )
  const common = {
    at,
    request: truncate(`${method} ${redactedUrl(request.url)}\n\n${redact(request.body)}`, MAX_LOG_LENGTH),
    totalMs: result.timings.totalMs,
  }
  if (result.kind !== 'response') {
    const error = 'reason' in result ? redact(result.reason) : 'the request was not sent'
    return { ...common, kind: result.kind === 'refused' ? 'failed' : 'retry', error, statusCode: null, response: null }
  }
  const response = newResponse(result.status, result.excerpt)
  const answered = { ...common, statusCode: result.status, response: truncate(redact(result.excerpt), MAX_LOG_LENGTH) }
  const isSuccess = result.status >= 200 && result.status < 300
  const { error, status = result.status } = isSuccess
    ? (type.findError?.(response) ?? { error: null })
    : { error: `${type.name} responded with ${result.status}` }
  if (error === null) return { ...answered, kind: 'sent', error, reference: type.findReference?.(response) }
  if (type.permanentStatuses.includes(status)) return { ...answered, kind: 'failed', error }
  const { retryAfter } = result
  const headerMs = retryAfter === undefined ? undefined : parseRetryAfter(retryAfter, clock.now())
  const retryAfterMs = type.findRetryAfterMs?.(response) ?? headerMs
  return { ...answered, kind: 'retry', error, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
}

/** The path may contain a token. */
const redactedUrl = (url: string): string => (URL.canParse(url) ? `${new URL(url).origin}/********` : '********')

/** Sends a separate mail to each recipient, so that nobody sees the other addresses and everybody can unsubscribe. */
async function sendByMail(
  { db, clock, config, keyring, sendMail }: SendDeps,
  channel: ChannelRow,
  message: AlertMessage,
  signal: AbortSignal,
  progress: readonly string[],
): Promise<AttemptResult> {
  const { organization_id: organizationId } = channel
  const at = clock.now()
  const startedAt = clock.elapsed()
  const done = [...progress]
  const log: string[] = []
  const result = (kind: AttemptResult['kind'], error: string | null): AttemptResult => ({
    at,
    kind,
    error,
    statusCode: null,
    request: log.length === 0 ? null : truncate(log.join('\n'), MAX_LOG_LENGTH),
    response: null,
    progress: done,
    totalMs: Math.round(clock.elapsed() - startedAt),
  })
  if (!sendMail) return result('failed', 'this server sends no mail: set SMTP_URL and MAIL_FROM')
  const { owners = false, addresses = [] }: { owners?: boolean; addresses?: string[] } = JSON.parse(channel.settings)
  const emails = [...(owners ? await listOwnerEmails(db, organizationId) : []), ...addresses]
  const { recipients, refused: unconfirmed } = await recipientsOf(db, organizationId, emails, at)
  log.push(...unconfirmed.map((email) => `${email}: not confirmed, or unsubscribed`))
  if (recipients.length === 0)
    return result(
      'failed',
      unconfirmed.length > 0 ? 'no recipient has confirmed the address' : 'there are no recipients',
    )
  let isAnySent = progress.length > 0
  let deferred: string | undefined
  let refused: string | undefined
  let freeAt: number | undefined
  for (const { email, addressId } of recipients) {
    if (done.includes(email)) continue
    const limitedUntil = await countMail(db, config.mailLimits, { organizationId, email }, clock.now())
    if (limitedUntil !== undefined) {
      log.push(`${email}: not sent, ${OVER_LIMIT}`)
      freeAt = Math.max(freeAt ?? 0, limitedUntil)
      continue
    }
    const token = unsubscribeToken(keyring, organizationId, addressId)
    const acknowledge =
      message.acknowledge && acknowledgeLink({ keyring, config }, { ...channel, id: message.id }, addressId)
    const mail = mailOf({ ...message, acknowledge }, unsubscribeLink(config.baseUrl, token))
    const envelope = { id: `${message.messageId}.${addressHash(email)}`, to: email, at }
    const headers = unsubscribeHeaders(config.baseUrl, token)
    const sending = await sendMail({ ...envelope, headers }, mail, signal)
    log.push(`${email}: ${sending.kind === 'sent' ? 'accepted' : sending.reason}`)
    if (sending.kind === 'deferred') deferred = sending.reason
    else done.push(email)
    if (sending.kind === 'refused') refused = sending.reason
    if (sending.kind === 'sent') isAnySent = true
  }
  if (deferred !== undefined) return result('retry', deferred)
  if (freeAt !== undefined) return { ...result('retry', OVER_LIMIT), retryAfterMs: freeAt - clock.now() }
  if (refused !== undefined && !isAnySent) return result('failed', refused)
  return result('sent', null)
}

/** The page where anyone who received the message acknowledges. `addressId`: the recipient of a mail, to record who acknowledged. */
export function acknowledgeLink(
  { keyring, config }: { keyring: Keyring; config: Pick<Config, 'baseUrl'> },
  { organization_id, id }: Pick<AlertRow, 'organization_id' | 'id'>,
  addressId?: string,
): string {
  const alertAndAddress = addressId === undefined ? id : `${id}~${addressId}`
  const token = alertToken(keyring, 'acknowledge', organization_id, alertAndAddress)
  return `${config.baseUrl}/dashboard/alert-acknowledgement/${token}`
}
