import { hash } from 'node:crypto'
import type { Seal } from '../seal.ts'

/**
 * The token of one issue of an invitation: 128 bits that only this server can compute, so that it needs to be kept nowhere.
 * The database holds its hash alone; the text is made again when the mail is sent.
 */
export function invitationToken(seal: Seal, invitationId: string, issue: number, keyId?: string): string {
  return seal.sign(`invitation ${invitationId} ${issue}`, keyId).toString('base64url')
}

/** SHA-256, hex. */
export const hashOfToken = (token: string): string => hash('sha256', token, 'hex')

export const invitationLink = (baseUrl: string, token: string): string => `${baseUrl}/dashboard/invitations/${token}`
