import { readFileSync } from 'node:fs'
import tls from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { startMailServer } from '../testing/smtp.ts'
import { newMessage } from './mail-message.ts'
import { createMailSender } from './smtp.ts'

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
