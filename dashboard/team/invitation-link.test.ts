import { expect, test } from 'vitest'
import { findInvitationLink } from './invitation-link.ts'

const mail = (recipient: string, text: string) => ({
  id: '1',
  created: '2026-01-01T00:00:00.000Z',
  recipient,
  subject: 'You are invited',
  text,
  status: 'kept' as const,
  error: null,
})
const invitation = (token: string) =>
  `Accept the invitation:\nhttps://dns.example.com/dashboard/invitations/${token}\n\nBye.`

test('the newest invitation link of an address is found, ignoring letter case', () => {
  const mails = [
    mail('grace@example.com', 'A webhook is paused: https://dns.example.com/dashboard/webhooks/whk_1'),
    mail('Grace@example.com', invitation('new-er_1')),
    mail('grace@example.com', invitation('older')),
  ]
  expect(findInvitationLink('grace@example.com', mails)).toBe('https://dns.example.com/dashboard/invitations/new-er_1')
})

test('the link of another address is never returned', () => {
  expect(findInvitationLink('grace@example.com', [mail('ada@example.com', invitation('hers'))])).toBeUndefined()
})
