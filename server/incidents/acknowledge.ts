import type { Acknowledgement } from '#contract/incidents.ts'
import { recordAudit } from '../audit-log.ts'
import { systemContext, type Tenant } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { findTenantRow, getTenantRow, organizationName, updateTenantRow } from '../database/tenant-row.ts'
import { nextVersion } from '../database/versions.ts'
import type { Keyring } from '../keyring.ts'
import { openAlertToken } from '../mail/links.ts'
import { notFound } from '../problem.ts'
import { acknowledgedBy, incidentAudit, incidentFields } from './incident.ts'
import { insertEntries } from './timeline.ts'

/** Throws `not_found` for a token that this server did not sign. */
export async function getAcknowledgement(db: Database, keyring: Keyring, token: string): Promise<Acknowledgement> {
  const { tenant, incidentId, title } = await getLinkedAlert(db, keyring, token)
  const { zone, resolved_at, acknowledged_at, acknowledged_by } = await getTenantRow(
    db,
    'incidents',
    tenant,
    incidentId,
  )
  const organization = await organizationName(db, tenant.organizationId)
  const state = resolved_at !== null ? 'resolved' : acknowledged_at !== null ? 'acknowledged' : 'open'
  return { organization, title: title ?? zone, state, acknowledged_by }
}

/** Acknowledges the incident if it is open. Throws `not_found` for a token that this server did not sign. */
export async function acknowledgeByLink(
  db: Database,
  keyring: Keyring,
  token: string,
  now: number,
): Promise<Acknowledgement> {
  return await inTransaction(db, async (transaction) => {
    const { tenant, alertId, addressId, channelId, incidentId } = await getLinkedAlert(transaction, keyring, token)
    const before = await getTenantRow(transaction, 'incidents', tenant, incidentId, forUpdate(transaction))
    if (before.resolved_at === null && before.acknowledged_at === null) {
      const label = await linkLabel(transaction, tenant, channelId, addressId)
      const change = acknowledgedBy(label, now)
      await updateTenantRow(transaction, 'incidents', tenant, incidentId, { ...change, ...nextVersion })
      const entry = { incidentId, kind: 'acknowledged' as const, actor: label, alertId }
      await insertEntries(transaction, tenant.organizationId, [entry], now)
      const actor = { type: 'system' as const, id: addressId ?? channelId, label }
      const after = incidentFields({ ...before, ...change })
      const context = systemContext(tenant.organizationId, now, actor)
      await recordAudit(transaction, context, { ...incidentAudit(before), before: incidentFields(before), after })
    }
    return await getAcknowledgement(transaction, keyring, token)
  })
}

async function getLinkedAlert(db: Database, keyring: Keyring, token: string) {
  const { organizationId, id } = openAlertToken(keyring, 'acknowledge', token)
  const [alertId = '', addressId] = id.split('~')
  const tenant = { organizationId }
  const { incident_id, channel_id, title } = await getTenantRow(db, 'alerts', tenant, alertId)
  if (incident_id === null) throw notFound()
  return { tenant, alertId, addressId, channelId: channel_id, incidentId: incident_id, title }
}

/** Names the recipient of a mail, or the channel that received the link. */
async function linkLabel(db: Database, tenant: Tenant, channelId: string, addressId?: string): Promise<string> {
  const address = addressId && (await findTenantRow(db, 'alert_addresses', tenant, addressId))
  if (address) return address.email
  const channel = await findTenantRow(db, 'channels', tenant, channelId)
  return `Link in ${channel?.name ?? 'a message'}`
}
