import type { Seal } from '../seal.ts'

/** The token of a link in a mail about an account: 128 bits that only this server can compute, so no text of it is kept. */
export function accountToken(seal: Seal, linkId: string, keyId?: string): string {
  return seal.sign(`link ${linkId}`, keyId).toString('base64url')
}
