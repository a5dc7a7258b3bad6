import type { Transporter } from 'nodemailer'
import type { Message } from './message.ts'

/** What handing a mail to the mail server can come to. */
export type SendResult =
  | { kind: 'sent' }
  /** Worth another try: no connection, a 4xx answer, a wrong password. */
  | { kind: 'deferred'; reason: string }
  /** The server will never take this mail: a 5xx answer about it. */
  | { kind: 'refused'; reason: string }

export type Envelope = { id: string; to: string; at: number; headers?: Record<string, string> }
export type Post = (envelope: Envelope, message: Message, signal: AbortSignal) => Promise<SendResult>

const TIMEOUTS = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000, dnsTimeout: 10_000 }

/** The client of the mail server. Opens a connection for each mail and closes it again. */
export function openSmtp({ url, from }: { url: string; from: string }): Post {
  let transport: Transporter | undefined
  const fromDomain = from.slice(from.lastIndexOf('@') + 1).replace(/>$/, '')
  return async ({ id, to, at, headers: own }, message, signal) => {
    try {
      // The id stays the same over all tries, so that a mail which arrives twice can be recognised.
      const messageId = `<${id}@${fromDomain}>`
      const headers = { 'Auto-Submitted': 'auto-generated', ...own }
      transport ??= await connect(url)
      await transport.sendMail({
        ...message,
        from,
        to: [{ name: '', address: to }],
        messageId,
        headers,
        date: new Date(at),
        signal,
      })
      return { kind: 'sent' }
    } catch (error) {
      return outcomeOf(error)
    }
  }
}

/** Why the mail server cannot be used. */
export type SmtpTrouble = { kind: 'connection' | 'tls' | 'sign-in'; reason: string }

/** Everything but a mail: the connection, TLS, the sign-in. Undefined: all of it works. */
export async function verifySmtp(url: string): Promise<SmtpTrouble | undefined> {
  const transport = await connect(url)
  try {
    await transport.verify()
    return undefined
  } catch (error) {
    const { code, message } = error as Error & { code?: string }
    const kind =
      code === 'EAUTH' ? 'sign-in' : code === 'ETLS' || /ssl|tls|certificate/i.test(message) ? 'tls' : 'connection'
    return { kind, reason: message.replace(/\s+/g, ' ').trim().slice(0, 500) }
  } finally {
    transport.close()
  }
}

/** The library is loaded with the first mail: few processes send any. */
async function connect(url: string): Promise<Transporter> {
  const { createTransport } = await import('nodemailer')
  return createTransport({ ...TIMEOUTS, url, disableFileAccess: true, disableUrlAccess: true })
}

function outcomeOf(error: unknown): SendResult {
  if (!(error instanceof Error)) throw error
  const { code, responseCode = 0 } = error as Error & { code?: string; responseCode?: number }
  const reason = error.message.slice(0, 500)
  const isAboutThisMail = code === 'EENVELOPE' || code === 'EMESSAGE'
  return isAboutThisMail && responseCode >= 500 ? { kind: 'refused', reason } : { kind: 'deferred', reason }
}
