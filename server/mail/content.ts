import type { AgentRole } from '#contract/agents.ts'
import type { Seal } from '../seal.ts'
import { accountToken } from './account-link.ts'
import { invitationLink, invitationToken } from './invitation-link.ts'
import { type Block, type Message, newMessage, oneLine } from './message.ts'

/** What a mail says. Kept as it is in the outbox, therefore without secrets; the text is made when it is sent. */
export type MailContent =
  | { kind: 'invitation'; organization: string; role: AgentRole; issue: number; expiresAt: number }
  | { kind: 'webhook_paused'; organization: string; url: string; error: string; statusCode: number | null }
  | { kind: 'webhook_active'; organization: string; url: string }
  | { kind: 'webhook_dropped'; organization: string; url: string; dropped: number }
  | AccountMail

/** To a person about the own account. */
export type AccountMail =
  | { kind: 'password_reset' }
  | { kind: 'email_confirmation'; email: string }
  | { kind: 'email_changed'; email: string }
  | { kind: 'sign_up_confirmation' }
  | { kind: 'account_exists' }
  | { kind: 'password_changed' }

export type Rendering = { baseUrl: string; seal: Seal; about: string }

export function messageOf(content: MailContent, { baseUrl, seal, about }: Rendering): Message {
  const dashboard: Block = { label: 'Open the webhook', href: `${baseUrl}/dashboard/webhooks/${about}` }
  switch (content.kind) {
    case 'invitation': {
      const organization = quoted(content.organization)
      const href = invitationLink(baseUrl, invitationToken(seal, about, content.issue))
      const day = new Date(content.expiresAt).toISOString().slice(0, 10)
      return newMessage(`You are invited to ${organization} on Zonewatch`, [
        `The organization ${organization} invites you to its DNS monitoring on Zonewatch, with the role ${content.role}.`,
        { label: 'Accept the invitation', href },
        `The link works once, until ${day} (UTC). If you did not expect this, do nothing.`,
      ])
    }
    case 'webhook_paused':
      return newMessage(`A webhook of ${quoted(content.organization)} is paused`, [
        `The webhook ${about} to ${shownUrl(content.url)} is paused, because its receiver ${content.statusCode === 410 ? 'wants no more' : 'failed for too long'}.`,
        `The last failure: ${oneLine(content.error).slice(0, 500)}${content.statusCode === null ? '' : ` (status ${content.statusCode})`}`,
        'Its events are kept. Zonewatch tries once an hour, and sends all of them when the receiver answers again; a test or a retry that succeeds resumes at once.',
        dashboard,
      ])
    case 'webhook_active':
      return newMessage(`A webhook of ${quoted(content.organization)} is active again`, [
        `The webhook ${about} to ${shownUrl(content.url)} answers again; what was kept is being sent, oldest first.`,
        dashboard,
      ])
    case 'webhook_dropped':
      return newMessage(`Requests of a webhook of ${content.organization} were dropped`, [
        `The webhook ${about} to ${shownUrl(content.url)} kept more requests than this server stores, or for longer: ${content.dropped} were dropped so far, the oldest first.`,
        'The events themselves are in the list of events. Repair the receiver and resume the webhook, or delete it.',
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
    // Nothing that the one who signs up chose: it may be somebody else's address.
    case 'sign_up_confirmation':
      return newMessage('Confirm your address for Zonewatch', [
        'Someone, hopefully you, signs up for Zonewatch with this address.',
        { label: 'Confirm the address', href: `${baseUrl}/dashboard/verify-email/${accountToken(seal, about)}` },
        'The link works once, within an hour. If it was not you, do nothing: no account is made.',
      ])
    case 'account_exists':
      return newMessage('You have an account for Zonewatch', [
        'Someone, hopefully you, tried to sign up for Zonewatch with this address, which has an account already.',
        { label: 'Sign in', href: `${baseUrl}/dashboard/sign-in` },
        { label: 'If you forgot the password, choose a new one', href: `${baseUrl}/dashboard/forgot` },
        'If it was not you, do nothing: nothing was changed.',
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

/** What somebody chose stands in quotes and in one line, so that it cannot pass for a sentence of this server. */
const quoted = (name: string): string => {
  const text = oneLine(name)
    .replaceAll(/["“”„«»]/g, "'")
    .trim()
  return `“${text.length > 80 ? `${text.slice(0, 80)}…` : text}”`
}

/** Without its query, which often holds a secret. */
const shownUrl = (url: string): string => oneLine(url).split(/[?#]/)[0]!.slice(0, 200)
