import type { Seal } from '../seal.ts'

/** The token of a link in a mail about an account: 128 bits that only this server can compute, so no text of it is kept. */
export function accountToken(seal: Seal, linkId: string, keyId?: string): string {
  return seal.sign(`link ${linkId}`, keyId).toString('base64url')
}

/** The token of a link in an alert: it names the address, and only this server can compute it. */
export function alertToken(
  seal: Seal,
  purpose: 'confirm' | 'unsubscribe',
  organizationId: string,
  addressId: string,
  keyId?: string,
): string {
  const signature = seal.sign(`${purpose} ${organizationId} ${addressId}`, keyId).toString('base64url')
  return `${organizationId}.${addressId}.${signature}`
}
