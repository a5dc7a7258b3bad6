import { readFileSync } from 'node:fs'
import net from 'node:net'
import tls from 'node:tls'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startMailServer } from '../testing/smtp.ts'
import { newMessage } from './mail-message.ts'
import { createMailSender, verifySmtp } from './smtp.ts'

const fixture = (name: string) => readFileSync(new URL(`../testing/fixtures/${name}.pem`, import.meta.url), 'utf8')
const certificate = { key: fixture('receiver.key'), cert: fixture('receiver.cert') }
const envelope = { id: 'mail_1', to: 'owner@example.com', at: 0 }

/** Sends a mail to a server with implicit TLS or STARTTLS. */
async function sent(scheme: 'smtps' | 'smtp') {
  const server = await startMailServer({ tls: { ...certificate, implicit: scheme === 'smtps' } })
  const sendMail = createMailSender({ url: server.url, from: 'alerts@example.com' })
  return { sending: await sendMail(envelope, newMessage('Hello', []), new AbortController().signal), server }
}

function trust(cert: string) {
  const usual = tls.getCACertificates('default')
  onTestFinished(() => tls.setDefaultCACertificates(usual))
  tls.setDefaultCACertificates([cert])
}

test.each(['smtps', 'smtp'] as const)('%s: uses TLS if the server supports it', async (scheme) => {
  trust(certificate.cert)

  const { sending, server } = await sent(scheme)

  expect(sending).toEqual({ kind: 'sent' })
  expect(server.received).toMatchObject([{ isSecure: true }])
})

test.each(['smtps', 'smtp'] as const)(
  '%s: tells nothing to a server whose certificate is not valid',
  async (scheme) => {
    const { sending, server } = await sent(scheme)

    expect(sending).toMatchObject({ kind: 'deferred', reason: expect.stringMatching(/certificate/) })
    expect(server.received).toEqual([])
  },
)

describe('the message of a failure says what to do', () => {
  const sendTo = (url: string) =>
    createMailSender({ url, from: 'alerts@example.com' })(
      envelope,
      newMessage('Hello', []),
      new AbortController().signal,
    )

  /** A mail server that offers STARTTLS and refuses it: a proxy before one that supports it. */
  async function givenServerWithoutTls() {
    const server = await startMailServer({ tls: { ...certificate, implicit: false } })
    const proxy = net.createServer((client) => {
      const upstream = net.connect(Number(new URL(server.url).port), '127.0.0.1')
      for (const socket of [client, upstream]) socket.on('error', () => {})
      upstream.pipe(client)
      client.on('data', (data) => {
        if (data.toString() === 'STARTTLS\r\n') client.write('454 4.7.0 TLS not available due to local problem\r\n')
        else upstream.write(data)
      })
      client.on('close', () => upstream.destroy())
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void proxy.close())
    return { received: server.received, url: `smtp://127.0.0.1:${(proxy.address() as net.AddressInfo).port}` }
  }

  const servers: [string, () => Promise<string>, RegExp][] = [
    [
      'smtp:// and a port that starts with TLS',
      async () => {
        const { url } = await startMailServer({ tls: { ...certificate, implicit: true } })
        return `${url.replace('smtps:', 'smtp:')}?greetingTimeout=200` // so that the test need not wait for 10 s
      },
      /Greeting never received\. .*use smtps:\/\/ in SMTP_URL/,
    ],
    [
      'smtps:// and a port that does not start with TLS',
      async () => (await startMailServer()).url.replace('smtp:', 'smtps:'),
      /wrong version number.* use smtp:\/\/ in SMTP_URL/,
    ],
    [
      'STARTTLS that is answered 454',
      async () => (await givenServerWithoutTls()).url,
      /454 4\.7\.0 TLS not available.*\?ignoreTLS=true to SMTP_URL/,
    ],
    ...[true, false].map((implicit): [string, () => Promise<string>, RegExp] => [
      `a certificate of a private CA, ${implicit ? 'smtps' : 'STARTTLS'}`,
      async () => {
        const chain = fixture('issued.cert') + fixture('intermediate.cert')
        return (await startMailServer({ tls: { key: certificate.key, cert: chain, implicit } })).url
      },
      /^unable to get local issuer certificate\. .*NODE_EXTRA_CA_CERTS/,
    ]),
    [
      'a self-signed certificate',
      async () => (await startMailServer({ tls: { ...certificate, implicit: true } })).url,
      /^self-signed certificate\. .*NODE_EXTRA_CA_CERTS/,
    ],
    [
      'an expired certificate',
      async () => {
        const tls = { key: certificate.key, cert: fixture('expired.cert'), implicit: true }
        return (await startMailServer({ tls })).url
      },
      /expired\. Renew/,
    ],
  ]

  test.each(servers)('%s', async (_, start, expected) => {
    const url = await start()
    expect(await sendTo(url)).toEqual({ kind: 'deferred', reason: expect.stringMatching(expected) })
    const { reason, remedy } = (await verifySmtp(url))!
    expect(`${reason}. ${remedy}`).toMatch(expected)
  })

  test('a certificate for another host name', async () => {
    trust(certificate.cert)
    const server = await startMailServer({ tls: { ...certificate, implicit: true } })
    const url = server.url.replace('127.0.0.1', 'localhost')
    expect(await sendTo(url)).toMatchObject({ reason: expect.stringContaining('Use a host name of the certificate') })
  })

  test('?ignoreTLS=true sends the mail without TLS', async () => {
    const { url, received } = await givenServerWithoutTls()
    expect(await sendTo(`${url}?ignoreTLS=true`)).toEqual({ kind: 'sent' })
    expect(received).toMatchObject([{ isSecure: false }])
  })

  test('a network failure has no advice about TLS', async () => {
    const server = await startMailServer()
    await server.close()
    expect(await sendTo(server.url)).toEqual({
      kind: 'deferred',
      reason: expect.stringMatching(/ECONNREFUSED [\d.:]+$/),
    })
  })
})
