import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../database/database.ts'
import type { Post } from '../mail/smtp.ts'
import type { SafeFetch } from '../safe-http/safe-fetch.ts'
import type { Seal } from '../seal.ts'
import { parseRetryAfter } from '../webhooks/retry-schedule.ts'
import { acknowledgeLink } from './acknowledge.ts'
import { mailId, recipientsOf, unsubscribeToken } from './addresses.ts'
import { type ChannelRow, openedSettings, secretsOf } from './channel.ts'
import type { HttpMedium, Outgoing, Response } from './channels/channel.ts'
import { HTTP_MEDIA } from './channels/channels.ts'
import { mailOf } from './mail.ts'
import type { Notice } from './notice.ts'

export type SendingDeps = {
  db: Database
  clock: Clock
  seal: Seal
  safeFetch: SafeFetch
  config: Pick<Config, 'baseUrl' | 'smtp'>
  /** Null where the server has no mail server. */
  post: Post | null
}

/** What one attempt came to. `request` and `response` are without secrets. */
export type AttemptResult = {
  at: number
  /** `failed`: no retry can succeed. */
  kind: 'sent' | 'retry' | 'failed'
  error: string | null
  statusCode: number | null
  request: string | null
  response: string | null
  retryAfterMs?: number
  /** What the medium calls the message. */
  reference?: string | undefined
  /** Recipients that have it now. */
  progress?: string[]
  totalMs: number
}

/** Sends a notice to a channel once. Never rejects for what the network does. `progress`: recipients that have it already. */
export async function attempt(
  deps: SendingDeps,
  channel: ChannelRow,
  notice: Notice,
  { signal, progress = [] }: { signal: AbortSignal; progress?: readonly string[] },
): Promise<AttemptResult> {
  if (channel.type === 'email') return await mailAttempt(deps, channel, notice, signal, progress)
  return await httpAttempt(deps, channel, notice, signal)
}

type HttpType = keyof typeof HTTP_MEDIA

const MOST_LOGGED = 4000
const LEAST_SECRET = 4

/**
 * A recovery changes the first message before it is sent itself. What no recovery follows is closed: it must not stay open where
 * somebody is on call.
 */
async function httpAttempt(
  deps: SendingDeps,
  channel: ChannelRow,
  notice: Notice,
  signal: AbortSignal,
): Promise<AttemptResult> {
  const { request, update, closesAfterMs } = HTTP_MEDIA[channel.type as HttpType]
  const { reference, ...alone } = notice
  const send = (message: Notice, how = request) => sendOnce(deps, channel, message, how, signal)
  const results: AttemptResult[] = []
  if (notice.kind === 'recovered' && reference !== undefined && update) {
    const changed = await send(notice, (message, settings) => update(message, settings, reference))
    // A medium that is asked too often is left alone. Nothing else keeps the recovery from people, such as that they deleted the first message.
    if (changed.statusCode === 429 || changed.retryAfterMs !== undefined) return changed
    results.push(changed)
  }
  results.push(await send(notice))
  // Nor can it be replied to.
  if (results.at(-1)!.kind === 'failed' && reference !== undefined) results.push(await send(alone))
  const sent = results.at(-1)!
  const isLast = notice.kind === 'test' || notice.kind === 'summary'
  if (sent.kind !== 'sent' || closesAfterMs === undefined || !isLast) return joined(results)
  await deps.clock.sleep(closesAfterMs, signal)
  const closed = await send({ ...notice, kind: 'recovered' })
  return joined([
    ...results,
    { ...closed, error: closed.error === null ? null : `it was sent, but not closed: ${closed.error}` },
  ])
}

/** The last request decides; the log has all of them. */
function joined(results: readonly AttemptResult[]): AttemptResult {
  const logged = (name: 'request' | 'response') => {
    const texts = results.flatMap((result) => result[name] ?? [])
    return texts.length === 0 ? null : texts.join('\n\n').trim()
  }
  return {
    ...results.at(-1)!,
    at: results[0]!.at,
    request: logged('request'),
    response: logged('response'),
    totalMs: results.reduce((sum, { totalMs }) => sum + totalMs, 0),
  }
}

async function sendOnce(
  deps: SendingDeps,
  channel: ChannelRow,
  notice: Notice,
  requestOf: HttpMedium['request'],
  signal: AbortSignal,
): Promise<AttemptResult> {
  const { seal, safeFetch, clock } = deps
  const medium = HTTP_MEDIA[channel.type as HttpType]
  const settings = openedSettings(channel, seal)
  const outgoing = requestOf(notice, settings)
  // Who reads the log could acknowledge with it, also a viewer.
  const acknowledgeToken = notice.acknowledge === null ? [] : [notice.acknowledge.split('/').at(-1)!]
  const redact = redactor([...Object.values(secretsOf(channel, seal)), ...acknowledgeToken], outgoing)
  const at = clock.now()
  const headers = { 'content-type': 'application/json', 'accept-encoding': 'identity', 'user-agent': 'Zonewatch' }
  const { method = 'POST' } = outgoing
  const result = await { POST: safeFetch.post, PUT: safeFetch.put, PATCH: safeFetch.patch }[method](
    outgoing.url,
    { ...headers, ...outgoing.headers },
    Buffer.from(outgoing.body),
    signal,
  )
  const common = {
    at,
    request: `${method} ${shownUrl(outgoing.url)}\n\n${redact(outgoing.body)}`.slice(0, MOST_LOGGED),
    totalMs: result.timings.totalMs,
  }
  if (result.kind !== 'response') {
    const error = 'reason' in result ? redact(result.reason) : 'the request was not sent'
    return { ...common, kind: result.kind === 'refused' ? 'failed' : 'retry', error, statusCode: null, response: null }
  }
  const response: Response = { status: result.status, body: result.excerpt }
  const answered = { ...common, statusCode: result.status, response: redact(result.excerpt).slice(0, MOST_LOGGED) }
  const isSuccess = result.status >= 200 && result.status < 300
  const { error, status = result.status } = isSuccess
    ? (medium.errorIn?.(response) ?? { error: null })
    : { error: `${medium.name} responded with ${result.status}` }
  if (error === null) return { ...answered, kind: 'sent', error, reference: medium.referenceOf?.(response) }
  if (medium.permanent.includes(status)) return { ...answered, kind: 'failed', error }
  const asked = result.retryAfter === undefined ? undefined : parseRetryAfter(result.retryAfter, clock.now())
  const retryAfterMs = medium.retryAfterMs?.(response) ?? asked
  return { ...answered, kind: 'retry', error, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
}

/** Without its path, which may be a token. */
const shownUrl = (url: string): string => (URL.canParse(url) ? `${new URL(url).origin}/********` : '********')

/** Takes secrets out of what is logged, also as they stand in JSON, in a URL and in a form. */
function redactor(secrets: readonly string[], { headers = {} }: Outgoing): (text: string) => string {
  const all = [
    ...secrets,
    ...secrets.map(encodeURIComponent),
    ...secrets.map((text) => JSON.stringify(text).slice(1, -1)),
  ]
  const { authorization } = headers
  if (authorization !== undefined) all.push(authorization, authorization.split(' ').at(-1)!)
  const long = [...new Set(all)].filter(({ length }) => length >= LEAST_SECRET).sort((a, b) => b.length - a.length)
  return (text) => long.reduce((shown, secret) => shown.replaceAll(secret, '********'), text)
}

/** To each recipient a mail of its own, so that nobody sees the others and everybody can unsubscribe. */
async function mailAttempt(
  { db, clock, config, seal, post }: SendingDeps,
  channel: ChannelRow,
  notice: Notice,
  signal: AbortSignal,
  progress: readonly string[],
): Promise<AttemptResult> {
  const at = clock.now()
  const startedAt = clock.elapsed()
  const ended = (
    kind: AttemptResult['kind'],
    error: string | null,
    done: readonly string[],
    log: readonly string[] = [],
  ) => ({
    at,
    kind,
    error,
    statusCode: null,
    request: log.length === 0 ? null : log.join('\n').slice(0, MOST_LOGGED),
    response: null,
    progress: [...done],
    totalMs: Math.round(clock.elapsed() - startedAt),
  })
  if (!post) return ended('failed', 'this server sends no mail: set SMTP_URL and MAIL_FROM', progress)
  const { recipients, waiting } = await recipientsOf(db, channel.organization_id, JSON.parse(channel.settings), at)
  const log = waiting.map((email) => `${email}: not confirmed, or unsubscribed`)
  if (recipients.length === 0) {
    const reason = waiting.length > 0 ? 'no recipient has confirmed the address' : 'there are no recipients'
    return ended('failed', reason, progress, log)
  }
  const done = [...progress]
  let deferred: string | undefined
  let refused: string | undefined
  for (const { email, addressId } of recipients) {
    if (done.includes(email)) continue
    const token = unsubscribeToken(seal, channel.organization_id, addressId)
    const headers = {
      'List-Unsubscribe': `<${config.baseUrl}/alert-addresses/unsubscribe/${token}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    }
    const acknowledge =
      notice.acknowledge && acknowledgeLink({ seal, config }, { ...channel, id: notice.id }, addressId)
    const message = mailOf({ ...notice, acknowledge }, `${config.baseUrl}/dashboard/alert-address/unsubscribe/${token}`)
    const sending = await post({ id: mailId(notice.messageId, email), to: email, at, headers }, message, signal)
    log.push(`${email}: ${sending.kind === 'sent' ? 'accepted' : sending.reason}`)
    if (sending.kind === 'deferred') deferred = sending.reason
    else done.push(email)
    if (sending.kind === 'refused') refused = sending.reason
  }
  if (deferred !== undefined) return ended('retry', deferred, done, log)
  const isAnySent = log.some((line) => line.endsWith(': accepted')) || progress.length > 0
  if (refused !== undefined && !isAnySent) return ended('failed', refused, done, log)
  return ended('sent', null, done, log)
}
