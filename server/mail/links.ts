import { hash } from 'node:crypto'
import { type Keyring, SIGNATURE_BYTES } from '../keyring.ts'
import { notFound } from '../problem.ts'
import { DAY_MS } from '../times.ts'

/** The token of a link in a mail about an account: 128 bits that only this server can compute, so no text of it is kept. */
export function accountToken(keyring: Keyring, linkId: string, keyId?: string): string {
  return keyring.sign(`link ${linkId}`, keyId).toString('base64url')
}

/** `acknowledge`: the id is that of the alert, and the address where it was sent by mail: `<alert>~<address>`. The others name an address. */
type AlertLinkPurpose = 'confirm' | 'unsubscribe' | 'acknowledge'

/** The token of a link in an alert: only this server can compute it. */
export function alertToken(
  keyring: Keyring,
  purpose: AlertLinkPurpose,
  organizationId: string,
  id: string,
  keyId?: string,
): string {
  const signature = keyring.sign(`${purpose} ${organizationId} ${id}`, keyId).toString('base64url')
  return `${organizationId}.${id}.${signature}`
}

/** How long the link of a confirmation works, and how long an address stays unconfirmed before it is forgotten. */
export const CONFIRMATION_MS = 7 * DAY_MS

/** Of a confirmation: for the last one that was sent, until it expires. */
export const confirmationToken = (
  keyring: Keyring,
  { organizationId, addressId, issuedAt }: { organizationId: string; addressId: string; issuedAt: number },
  keyId?: string,
): string => alertToken(keyring, 'confirm', organizationId, `${addressId}~${issuedAt}`, keyId)

export const unsubscribeToken = (keyring: Keyring, organizationId: string, addressId: string): string =>
  alertToken(keyring, 'unsubscribe', organizationId, addressId)

/** The page with a button. */
export const unsubscribeLink = (baseUrl: string, token: string): string =>
  `${baseUrl}/dashboard/alert-address/unsubscribe/${token}`

/** Headers for the unsubscribe button of mail programs: RFC 8058. */
export function unsubscribeHeaders(baseUrl: string, token: string): Record<string, string> {
  return {
    'List-Unsubscribe': `<${baseUrl}/alert-addresses/unsubscribe/${token}>`,
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  }
}

/** Throws `not_found` for a token that is not one of this server for this purpose. */
export function openAlertToken(keyring: Keyring, purpose: AlertLinkPurpose, token: string) {
  const [organizationId = '', id = '', signature = ''] = token.split('.')
  const signatureBytes = Buffer.from(signature, 'base64url')
  if (
    signatureBytes.length !== SIGNATURE_BYTES ||
    !keyring.verify(`${purpose} ${organizationId} ${id}`, signatureBytes)
  )
    throw notFound()
  return { organizationId, id }
}

/**
 * The token of one issue of an invitation: 128 bits that only this server can compute, so that it needs to be kept nowhere.
 * The database holds its hash alone; the text is made again when the mail is sent.
 */
export function invitationToken(keyring: Keyring, invitationId: string, issue: number, keyId?: string): string {
  return keyring.sign(`invitation ${invitationId} ${issue}`, keyId).toString('base64url')
}

/** SHA-256, hex. */
export const hashOfToken = (token: string): string => hash('sha256', token, 'hex')

export const invitationLink = (baseUrl: string, token: string): string => `${baseUrl}/dashboard/invitations/${token}`
