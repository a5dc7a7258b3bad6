import type { Selectable } from 'kysely'
import type { Invitation, InvitationState } from '#contract/agents.ts'
import type { InvitationsTable } from '../database/schema-people.ts'
import { isoOf } from '../http/times.ts'

export type InvitationRow = Selectable<InvitationsTable>

export const VALID_FOR_MS = 7 * 24 * 60 * 60_000

export function stateOf(row: InvitationRow, now: number): InvitationState {
  if (row.accepted_at !== null) return 'accepted'
  if (row.revoked_at !== null) return 'revoked'
  return row.expires_at <= now ? 'expired' : 'pending'
}

export function toInvitation(row: InvitationRow, now: number): Invitation {
  return {
    id: row.id,
    email: row.email,
    role: row.role,
    state: stateOf(row, now),
    created: isoOf(row.created_at),
    expires: isoOf(row.expires_at),
    invited_by: row.invited_by,
  }
}
