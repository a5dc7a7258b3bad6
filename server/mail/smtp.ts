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
      return outcomeOf(error, url)
    }
  }
}

/** `remedy`: what the operator can do, if the failure says it. */
export type SmtpFailure = { kind: 'connection' | 'tls' | 'sign-in'; reason: string; remedy: string | undefined }

/** Connects and signs in without sending a mail. Undefined if that succeeds. */
export async function verifySmtp(url: string): Promise<SmtpFailure | undefined> {
  const transport = await connect(url)
  try {
    await transport.verify()
    return undefined
  } catch (error) {
    const { code, message } = error as SmtpError
    const remedy = remedyOf(error as SmtpError, url)
    const isTls = code === 'ETLS' || /ssl|tls|certificate/i.test(message)
    const kind = code === 'EAUTH' ? 'sign-in' : isTls ? 'tls' : 'connection'
    return { kind, reason: truncate(withoutAdvice(message), 500), remedy }
  } finally {
    transport.close()
  }
}

/** Loads the library only here, because few processes send mails. */
async function connect(url: string): Promise<Transporter> {
  const { createTransport } = await import('nodemailer')
  return createTransport({ ...TIMEOUTS, url, disableFileAccess: true, disableUrlAccess: true })
}

/** The fields of the library's errors. */
type SmtpError = Error & {
  code?: string
  /** Of an error of the connection, such as CERT_HAS_EXPIRED. */
  originalCode?: string
  command?: string
  responseCode?: number
  timeoutType?: string
  /** OpenSSL's. */
  reason?: string
}

function outcomeOf(error: unknown, url: string): SendResult {
  if (!(error instanceof Error)) throw error
  const { code, responseCode = 0, message } = error as SmtpError
  const isAboutThisMail = code === 'EENVELOPE' || code === 'EMESSAGE'
  if (isAboutThisMail && responseCode >= 500) return { kind: 'refused', reason: truncate(message, 500) }
  const remedy = remedyOf(error as SmtpError, url)
  const reason = truncate(withoutAdvice(message), 500)
  return { kind: 'deferred', reason: remedy === undefined ? reason : `${reason.replace(/\.$/, '')}. ${remedy}` }
}

/** Without the line breaks and the advice to start node with an option. */
const withoutAdvice = (message: string): string => message.split('; if the root CA')[0]!.replace(/\s+/g, ' ').trim()

const UNKNOWN_ISSUER = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]

function remedyOf(
  { code, originalCode = '', command, reason, timeoutType }: SmtpError,
  url: string,
): string | undefined {
  const isImplicit = url.startsWith('smtps:')
  if (UNKNOWN_ISSUER.includes(originalCode))
    return "If your own CA issued the certificate, set NODE_EXTRA_CA_CERTS to the file with the CA's certificate."
  if (originalCode === 'CERT_HAS_EXPIRED') return 'Renew the certificate of the mail server.'
  if (originalCode === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'Use a host name of the certificate in SMTP_URL.'
  if (isImplicit && reason === 'wrong version number')
    return 'The port does not start with TLS: use smtp:// in SMTP_URL, which switches to TLS by STARTTLS.'
  // A server that expects TLS waits for the client, and so does the client: no greeting arrives.
  if (!isImplicit && timeoutType === 'GREETING_TIMEOUT')
    return 'If the port starts with TLS (as 465 does), use smtps:// in SMTP_URL.'
  if (code === 'ETLS' && command === 'STARTTLS')
    return 'Repair TLS on the mail server. Adding ?ignoreTLS=true to SMTP_URL sends mails and the password without encryption.'
  return undefined
}
