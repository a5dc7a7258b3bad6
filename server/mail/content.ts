import type { AgentRole } from '#contract/agents.ts'
import type { Seal } from '../seal.ts'
import { accountToken } from './account-link.ts'
import { invitationLink, invitationToken } from './invitation-link.ts'
import { type Block, type Message, newMessage } from './message.ts'

/** What a mail says. Kept as it is in the outbox, therefore without secrets; the text is made when it is sent. */
export type MailContent =
  | { kind: 'invitation'; organization: string; role: AgentRole; issue: number; expiresAt: number }
  | { kind: 'webhook_paused'; organization: string; url: string; error: string; statusCode: number | null }
  | { kind: 'webhook_active'; organization: string; url: string }
  | AccountMail

/** To a person about the own account. */
export type AccountMail =
  | { kind: 'password_reset' }
  | { kind: 'email_confirmation'; email: string }
  | { kind: 'email_changed'; email: string }
  | { kind: 'password_changed' }

export type Rendering = { baseUrl: string; seal: Seal; about: string }

export function messageOf(content: MailContent, { baseUrl, seal, about }: Rendering): Message {
  const dashboard: Block = { label: 'Open the webhook', href: `${baseUrl}/dashboard/webhooks/${about}` }
  switch (content.kind) {
    case 'invitation': {
      const href = invitationLink(baseUrl, invitationToken(seal, about, content.issue))
      const day = new Date(content.expiresAt).toISOString().slice(0, 10)
      return newMessage(`You are invited to ${content.organization} on Zonewatch`, [
        `${content.organization} invites you to its DNS monitoring on Zonewatch, with the role ${content.role}.`,
        { label: 'Accept the invitation', href },
        `The link works once, until ${day} (UTC). If you did not expect this, do nothing.`,
      ])
    }
    case 'webhook_paused':
      return newMessage(`A webhook of ${content.organization} is paused`, [
        `The webhook ${about} to ${shownUrl(content.url)} is paused, because its receiver ${content.statusCode === 410 ? 'wants no more' : 'failed for too long'}.`,
        `The last failure: ${content.error.slice(0, 500)}${content.statusCode === null ? '' : ` (status ${content.statusCode})`}`,
        'Its events are kept. Zonewatch tries once an hour, and sends all of them when the receiver answers again; a test or a retry that succeeds resumes at once.',
        dashboard,
      ])
    case 'webhook_active':
      return newMessage(`A webhook of ${content.organization} is active again`, [
        `The webhook ${about} to ${shownUrl(content.url)} answers again; what was kept is being sent, oldest first.`,
        dashboard,
      ])
    case 'password_reset':
      return newMessage('Choose a new password for Zonewatch', [
        'Someone, hopefully you, asked for a new password of your account.',
        { label: 'Choose a new password', href: `${baseUrl}/dashboard/reset-password/${accountToken(seal, about)}` },
        'The link works once, within an hour. If it was not you, do nothing: the password stays as it is.',
      ])
    case 'email_confirmation':
      return newMessage('Confirm your address for Zonewatch', [
        `You want to sign in to Zonewatch with ${content.email} from now on.`,
        { label: 'Confirm the address', href: `${baseUrl}/dashboard/verify-email/${accountToken(seal, about)}` },
        'The link works once, within an hour. If it was not you, do nothing.',
      ])
    case 'email_changed':
      return newMessage('Your address for Zonewatch was changed', [
        `Your account now signs in with ${content.email}.`,
        'If it was not you, tell whoever runs this server at once.',
      ])
    case 'password_changed':
      return newMessage('Your password for Zonewatch was changed', [
        'All other sessions of your account were ended.',
        { label: 'If it was not you, choose a new one at once', href: `${baseUrl}/dashboard/forgot` },
      ])
  }
}

/** Without its query, which often holds a secret. */
const shownUrl = (url: string): string => url.replace(/[?#].*$/s, '').slice(0, 200)
