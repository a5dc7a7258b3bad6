import type { AgentRole } from '#contract/agents.ts'
import type { Keyring } from '../keyring.ts'
import { oneLine, truncate } from '../text.ts'
import {
  accountToken,
  CONFIRMATION_MS,
  confirmationToken,
  invitationLink,
  invitationToken,
  unsubscribeLink,
  unsubscribeToken,
} from './links.ts'
import { type Block, type Message, newMessage, withoutLinks } from './mail-message.ts'

/** The content of a mail as stored in the outbox, without secrets. The text is rendered when it is sent. `keyId`: of the key that signs its link. */
export type MailContent =
  | { kind: 'invitation'; organization: string; role: AgentRole; issue: number; expiresAt: number; keyId?: string }
  /** To an address that does not belong to a member. `issuedAt`: absent in mails of earlier versions. */
  | { kind: 'alert_address'; organization: string; organizationId: string; issuedAt?: number; keyId?: string }
  /** `address`: of the recipient, for the link to unsubscribe. */
  | (WebhookNotice & { organization: string; address?: { organizationId: string; addressId: string } })
  /** To the owners. `at`: when everything is deleted. */
  | { kind: 'organization_deletion'; organization: string; by: string; at: number }
  | AccountMail

/** To the owners about a webhook. `dropped`: requests so far. */
export type WebhookNotice =
  | { kind: 'webhook_paused'; url: string; error: string; statusCode: number | null }
  | { kind: 'webhook_active'; url: string }
  | { kind: 'webhook_dropped'; url: string; dropped: number }

/** To a user about their account. */
export type AccountMail =
  | { kind: 'password_reset'; keyId?: string }
  | { kind: 'email_confirmation'; email: string; keyId?: string }
  | { kind: 'email_changed'; email: string }
  | { kind: 'sign_up_confirmation'; keyId?: string }
  | { kind: 'account_exists' }
  | { kind: 'password_changed' }

/** `hidesTokens`: for readers who are not the recipient. */
export type RenderContext = { baseUrl: string; keyring: Keyring; about: string; hidesTokens?: boolean }

export function renderMail(content: MailContent, context: RenderContext): Message {
  const { baseUrl, about, hidesTokens = false } = context
  // Every token comes from here, so that a new kind of mail cannot show one to others.
  const keyring = hidesTokens ? withoutSignatures(context.keyring) : context.keyring
  const unsubscribe = unsubscribeLinkOf(content, { baseUrl, keyring })
  const dashboard: Block = { label: 'Open the webhook', href: `${baseUrl}/dashboard/webhooks/${about}` }
  switch (content.kind) {
    case 'invitation': {
      const organization = quotedName(content.organization)
      const href = invitationLink(baseUrl, invitationToken(keyring, about, content.issue, content.keyId))
      const day = new Date(content.expiresAt).toISOString().slice(0, 10)
      return newMessage(`You are invited to ${organization} on Zonewatch`, [
        `The organization ${organization} invites you to Zonewatch with the role ${content.role}.`,
        { label: 'Accept the invitation', href },
        `The link works once and expires on ${day} (UTC). If you did not expect this invitation, ignore this email.`,
      ])
    }
    case 'alert_address': {
      const organization = quotedName(content.organization)
      const { organizationId, issuedAt = 0, keyId } = content
      const token = confirmationToken(keyring, { organizationId, addressId: about, issuedAt }, keyId)
      const day = new Date(issuedAt + CONFIRMATION_MS).toISOString().slice(0, 10)
      return newMessage(`Confirm that ${organization} may send you alerts`, [
        `The organization ${organization} wants to send Zonewatch alerts to this address.`,
        { label: 'Receive alerts', href: `${baseUrl}/dashboard/alert-address/confirm/${token}` },
        `The link expires on ${day} (UTC). If you did not expect this, ignore this email; no alert is sent to you.`,
      ])
    }
    case 'webhook_paused':
      return newMessage(
        `A webhook of ${quotedName(content.organization)} is paused`,
        [
          `The webhook ${about} to ${urlWithoutQuery(content.url)} is paused. ${content.statusCode === 410 ? 'Its endpoint responded with 410 Gone.' : 'Its endpoint failed for almost two days.'}`,
          `Last error: ${truncate(oneLine(content.error), 500)}${content.statusCode === null ? '' : ` (status ${content.statusCode})`}`,
          'Zonewatch queues its requests and retries once an hour. When your endpoint responds with 2xx again, all queued requests are sent. A successful test or manual retry resumes the webhook at once.',
          dashboard,
        ],
        unsubscribe,
      )
    case 'webhook_active':
      return newMessage(
        `A webhook of ${quotedName(content.organization)} is active again`,
        [
          `The webhook ${about} to ${urlWithoutQuery(content.url)} responds again. Queued requests are being sent, oldest first.`,
          dashboard,
        ],
        unsubscribe,
      )
    case 'webhook_dropped':
      return newMessage(
        `Requests of a webhook of ${quotedName(content.organization)} were dropped`,
        [
          `The webhook ${about} to ${urlWithoutQuery(content.url)} exceeded the limits of this server for queued requests. Requests dropped so far, oldest first: ${content.dropped}.`,
          'The events are still in the event list. Fix your endpoint and resume the webhook, or delete it.',
          dashboard,
        ],
        unsubscribe,
      )
    case 'organization_deletion': {
      const organization = quotedName(content.organization)
      return newMessage(`${organization} will be deleted`, [
        `${quotedName(content.by)} requested the deletion of the organization ${organization}. Everything in it is deleted at ${new Date(content.at).toISOString().slice(0, 16).replace('T', ' ')} (UTC): monitors, events, webhooks, alerts, members, API keys and the audit log. Until then nothing changes.`,
        'If it is a mistake, an owner can cancel the deletion before that time.',
        { label: 'Open the settings', href: `${baseUrl}/dashboard/settings` },
      ])
    }
    case 'password_reset':
      return newMessage('Reset your Zonewatch password', [
        'Someone requested a password reset for your account.',
        {
          label: 'Reset password',
          href: `${baseUrl}/dashboard/reset-password/${accountToken(keyring, about, content.keyId)}`,
        },
        'The link works once and expires in one hour. If you did not request it, ignore this email; your password does not change.',
      ])
    case 'email_confirmation':
      return newMessage('Confirm your email address for Zonewatch', [
        `Confirm that you want to sign in to Zonewatch with ${content.email}.`,
        {
          label: 'Confirm email address',
          href: `${baseUrl}/dashboard/verify-email/${accountToken(keyring, about, content.keyId)}`,
        },
        'The link works once and expires in one hour. If you did not request it, ignore this email.',
      ])
    // Contains no text of the person who signs up, because the address may belong to someone else.
    case 'sign_up_confirmation':
      return newMessage('Confirm your email address for Zonewatch', [
        'Someone signed up for Zonewatch with this address.',
        {
          label: 'Confirm email address',
          href: `${baseUrl}/dashboard/confirm-sign-up/${accountToken(keyring, about, content.keyId)}`,
        },
        'The link asks for the password that was chosen, works once and expires in one hour. If you did not sign up, ignore this email; no account is created.',
      ])
    case 'account_exists':
      return newMessage('You already have a Zonewatch account', [
        'Someone tried to sign up for Zonewatch with this address, which already has an account.',
        { label: 'Sign in', href: `${baseUrl}/dashboard/sign-in` },
        { label: 'Reset password', href: `${baseUrl}/dashboard/forgot` },
        'If it was not you, ignore this email; nothing has changed.',
      ])
    case 'email_changed':
      return newMessage('Your Zonewatch email address was changed', [
        `Sign in with ${content.email} from now on.`,
        'If you did not change it, contact the operator of this server at once.',
      ])
    case 'password_changed':
      return newMessage('Your Zonewatch password was changed', [
        'All other sessions of your account were signed out.',
        { label: 'If it was not you, reset your password', href: `${baseUrl}/dashboard/forgot` },
      ])
  }
}

/** The token of the recipient of a mail that can be unsubscribed from. */
export function unsubscribeTokenOf(content: MailContent, keyring: Keyring): string | undefined {
  if (!('address' in content) || content.address === undefined) return undefined
  return unsubscribeToken(keyring, content.address.organizationId, content.address.addressId)
}

function unsubscribeLinkOf(content: MailContent, { baseUrl, keyring }: Pick<RenderContext, 'baseUrl' | 'keyring'>) {
  const token = unsubscribeTokenOf(content, keyring)
  return token && unsubscribeLink(baseUrl, token)
}

/** Links end where their tokens would begin. */
const withoutSignatures = (keyring: Keyring): Keyring => ({ ...keyring, sign: () => Buffer.alloc(0) })

/** Text of users is quoted and in one line, so that it cannot look like a sentence of this server. */
const quotedName = (name: string): string => {
  const text = oneLine(name)
    .replaceAll(/["“”„«»]/g, "'")
    .trim()
  return `“${withoutLinks(truncate(text, 80))}”`
}

/** The query often contains a secret. */
const urlWithoutQuery = (url: string): string => oneLine(url).split(/[?#]/)[0]!.slice(0, 200)
