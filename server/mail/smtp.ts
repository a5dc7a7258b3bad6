import type { Transporter } from 'nodemailer'
import { truncate } from '../text.ts'
import type { Message } from './mail-message.ts'

/** The result of handing a mail to the mail server. */
export type SendResult =
  | { kind: 'sent' }
  /** To be retried: no connection, a 4xx response, a wrong password. */
  | { kind: 'deferred'; reason: string }
  /** Permanent: a 5xx response about this mail. */
  | { kind: 'refused'; reason: string }

export type Envelope = { id: string; to: string; at: number; headers?: Record<string, string> }
export type SendMail = (envelope: Envelope, message: Message, signal: AbortSignal) => Promise<SendResult>

const TIMEOUTS = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000, dnsTimeout: 10_000 }

/** Opens and closes a connection for each mail. */
export function createMailSender({ url, from }: { url: string; from: string }): SendMail {
  let transport: Transporter | undefined
  const fromDomain = from.slice(from.lastIndexOf('@') + 1).replace(/>$/, '')
  return async ({ id, to, at, headers: extraHeaders }, message, signal) => {
    try {
      // All attempts have the same id, so that mail programs recognize duplicates.
      const messageId = `<${id}@${fromDomain}>`
      const headers = { 'Auto-Submitted': 'auto-generated', ...extraHeaders }
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

export type SmtpFailure = { kind: 'connection' | 'tls' | 'sign-in'; reason: string }

/** Connects and signs in without sending a mail. Undefined if that succeeds. */
export async function verifySmtp(url: string): Promise<SmtpFailure | undefined> {
  const transport = await connect(url)
  try {
    await transport.verify()
    return undefined
  } catch (error) {
    const { code, message } = error as Error & { code?: string }
    const kind =
      code === 'EAUTH' ? 'sign-in' : code === 'ETLS' || /ssl|tls|certificate/i.test(message) ? 'tls' : 'connection'
    return { kind, reason: truncate(message.replace(/\s+/g, ' ').trim(), 500) }
  } finally {
    transport.close()
  }
}

/** Loads the library only here, because few processes send mails. */
async function connect(url: string): Promise<Transporter> {
  const { createTransport } = await import('nodemailer')
  return createTransport({ ...TIMEOUTS, url, disableFileAccess: true, disableUrlAccess: true })
}

function outcomeOf(error: unknown): SendResult {
  if (!(error instanceof Error)) throw error
  const { code, responseCode = 0 } = error as Error & { code?: string; responseCode?: number }
  const reason = truncate(error.message, 500)
  const isAboutThisMail = code === 'EENVELOPE' || code === 'EMESSAGE'
  return isAboutThisMail && responseCode >= 500 ? { kind: 'refused', reason } : { kind: 'deferred', reason }
}
