import { SMTPServer } from 'smtp-server'
import { onTestFinished } from 'vitest'

export type ReceivedMail = { from: string; to: string[]; user: string | undefined; isSecure: boolean; source: string }
/** An SMTP reply: 450 is temporary, 550 is permanent. */
export type Rejection = { code: number; message: string }

export type MailServer = {
  /** With user and password if the server requires them. */
  url: string
  received: ReceivedMail[]
  /** Rejects the next recipients with these replies, in this order. */
  rejects(...rejections: Rejection[]): void
  /** Reads mails and never answers from now on. */
  hang(): void
  close(): Promise<void>
}

/** A real SMTP server on 127.0.0.1 that stores the mails that it receives. Closed after the test. */
export async function startMailServer({
  password,
  tls,
}: {
  password?: string
  /** `implicit`: TLS from the first byte, otherwise STARTTLS. */
  tls?: { key: string; cert: string; implicit: boolean }
} = {}): Promise<MailServer> {
  const received: ReceivedMail[] = []
  const rejections: Rejection[] = []
  let hangs = false
  const server = new SMTPServer({
    authOptional: password === undefined,
    ...(tls ? { key: tls.key, cert: tls.cert, secure: tls.implicit } : { disabledCommands: ['STARTTLS'] }),
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
  // A client that disconnects must not fail the test.
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as { port: number } // a listening TCP server always has an AddressInfo
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()))
  onTestFinished(close)
  const user = password === undefined ? '' : `zonewatch:${password}@`
  return {
    url: `${tls?.implicit ? 'smtps' : 'smtp'}://${user}127.0.0.1:${port}`,
    received,
    rejects: (...more) => void rejections.push(...more),
    hang: () => {
      hangs = true
    },
    close,
  }
}
