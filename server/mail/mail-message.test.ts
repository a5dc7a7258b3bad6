import { expect, test } from 'vitest'
import { createKeyring } from '../keyring.ts'
import { hashOfToken, invitationToken } from './links.ts'
import { newMessage } from './mail-message.ts'
import { renderMail } from './mail-templates.ts'

const keyring = createKeyring('x'.repeat(32))
const rendering = { baseUrl: 'https://dns.example.com', keyring, about: 'inv_1' }

test('HTML in a name is escaped', () => {
  const { html, text } = newMessage('Hello', ['<b>Evil</b> & "sons"', { label: 'Open', href: 'https://x/?a=1&b="2"' }])

  expect(html).not.toContain('<b>')
  expect(html).toContain('&#60;b&#62;Evil&#60;/b&#62; &#38; &#34;sons&#34;')
  expect(html).toContain('href="https://x/?a=1&#38;b=&#34;2&#34;"')
  expect(text).toBe('<b>Evil</b> & "sons"\n\nOpen:\nhttps://x/?a=1&b="2"\n')
})

test('a line break in a name adds no header', () => {
  expect(newMessage('Hello\r\nBcc: all@example.com', []).subject).toBe('Hello Bcc: all@example.com')
})

test('hidden characters of a name are shown in the subject, the text and the HTML', () => {
  const name = 'Ac\u202eme\u0007\u200b\u2066'
  const content = { kind: 'webhook_dropped', organization: name, url: `https://x.example/${name}`, dropped: 1 } as const
  for (const shown of Object.values(renderMail(content, { ...rendering, about: 'whk_1' }))) {
    expect(shown).toMatch(/Ac(<|&#60;)U\+202E(>|&#62;)me(<|&#60;)U\+0007/)
    expect(shown).not.toMatch(/[\u200b\u202e\u2066]/)
  }
})

test('mail programs find no URL and no host name in the name of an organization', () => {
  const organization = 'Pay at https://evil.example/login, www.evil.example'
  const invitation = { kind: 'invitation', organization, role: 'member', issue: 2, expiresAt: 0 } as const
  const address = { kind: 'alert_address', organization, organizationId: 'org_1', issuedAt: 0 } as const
  for (const content of [invitation, address])
    for (const shown of Object.values(renderMail(content, rendering))) {
      expect(shown).not.toMatch(/:\/\/evil|evil\.example|www\.evil/)
      expect(shown).toContain('https:\u200b//evil.\u200bexample/login')
    }
})

test('an invitation has the link with its token, in text and in HTML', () => {
  const content = { kind: 'invitation', organization: 'Acme', role: 'member', issue: 2, expiresAt: 0 } as const
  const { text, html } = renderMail(content, rendering)

  const link = `https://dns.example.com/dashboard/invitations/${invitationToken(keyring, 'inv_1', 2)}`
  expect(text).toContain(link)
  expect(html).toContain(link)
})

test('every issue of an invitation has another token, and the hash does not reveal it', () => {
  const tokens = [
    invitationToken(keyring, 'inv_1', 1),
    invitationToken(keyring, 'inv_1', 2),
    invitationToken(keyring, 'inv_2', 1),
  ]

  expect(new Set(tokens).size).toBe(3)
  expect(hashOfToken(tokens[0]!)).toMatch(/^[0-9a-f]{64}$/)
})

test.each([
  [410, 'Its endpoint responded with 410 Gone.'],
  [500, 'Its endpoint failed for almost two days.'],
  [null, 'Its endpoint failed for almost two days.'],
])('the mail about a paused webhook has the reason, for %j', (statusCode, why) => {
  const failure = { organization: 'Acme', url: 'https://hooks.example.com/', error: 'It did.', statusCode }

  expect(renderMail({ kind: 'webhook_paused', ...failure }, { ...rendering, about: 'whk_1' }).text).toContain(why)
})

test('the mail about a paused webhook has the error and hides the query of its URL', () => {
  const { text } = renderMail(
    {
      kind: 'webhook_paused',
      organization: 'Acme',
      url: 'https://hooks.example.com/dns?token=secret',
      error: 'The receiver answered 500.',
      statusCode: 500,
    },
    { ...rendering, about: 'whk_1' },
  )

  expect(text).toContain('https://hooks.example.com/dns is paused')
  expect(text).toContain('The receiver answered 500. (status 500)')
  expect(text).toContain('https://dns.example.com/dashboard/webhooks/whk_1')
  expect(text).toContain('A successful test or manual retry resumes the webhook at once')
  expect(text).not.toContain('secret')
})
