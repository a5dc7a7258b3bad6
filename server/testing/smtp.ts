import { SMTPServer } from 'smtp-server'
import { onTestFinished } from 'vitest'

export type ReceivedMail = { from: string; to: string[]; user: string | undefined; isSecure: boolean; source: string }
/** A reply of SMTP: 450 puts the mail off, 550 refuses it. */
export type Rejection = { code: number; message: string }

export type MailServer = {
  /** With user and password where the server asks for them. */
  url: string
  received: ReceivedMail[]
  /** The next recipients are refused so, in this order; those after them are accepted. */
  rejects(...rejections: Rejection[]): void
  /** From now on mails are read and never answered. */
  hang(): void
  close(): Promise<void>
}

/** A real mail server on 127.0.0.1 that keeps what it gets. Closed when the test is over. */
export async function startMailServer({
  password,
  tls,
}: {
  password?: string
  /** `begins`: with TLS at once, else offered. */
  tls?: { key: string; cert: string; begins: boolean }
} = {}): Promise<MailServer> {
  const received: ReceivedMail[] = []
  const rejections: Rejection[] = []
  let hangs = false
  const server = new SMTPServer({
    authOptional: password === undefined,
    ...(tls ? { key: tls.key, cert: tls.cert, secure: tls.begins } : { disabledCommands: ['STARTTLS'] }),
    allowInsecureAuth: true,
    closeTimeout: 100,
    onAuth: (auth, _session, done) =>
      auth.password === password
        ? done(null, { user: auth.username })
        : done(Object.assign(new Error('Wrong user or password'), { responseCode: 535 })),
    onRcptTo(_address, _session, done) {
      const rejection = rejections.shift()
      done(rejection ? Object.assign(new Error(rejection.message), { responseCode: rejection.code }) : null)
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        if (hangs) return
        const { mailFrom, rcptTo } = session.envelope
        received.push({
          from: mailFrom ? mailFrom.address : '',
          to: rcptTo.map(({ address }) => address),
          user: session.user,
          isSecure: session.secure,
          source: Buffer.concat(chunks).toString(),
        })
        done(null)
      })
    },
  })
  // A client that goes away in the middle is no failure of a test.
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as { port: number } // always this form for a TCP server that listens
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()))
  onTestFinished(close)
  const user = password === undefined ? '' : `zonewatch:${password}@`
  return {
    url: `${tls?.begins ? 'smtps' : 'smtp'}://${user}127.0.0.1:${port}`,
    received,
    rejects: (...more) => void rejections.push(...more),
    hang: () => {
      hangs = true
    },
    close,
  }
}
