import type { Acknowledgement } from '#contract/incidents.ts'
import { recordAudit } from '../audit-log.ts'
import type { Config } from '../config/config.ts'
import { systemContext } from '../context.ts'
import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import { getTenantRow } from '../database/tenant-row.ts'
import { nextVersion } from '../database/versions.ts'
import { alertToken, openAlertToken } from '../mail/links.ts'
import { notFound } from '../problem.ts'
import type { Seal } from '../seal.ts'
import type { AlertRow } from './alert-store.ts'
import { acknowledgedBy, auditOf, toIncident } from './incident-store.ts'
import { insertEntries } from './timeline.ts'

type Linking = { seal: Seal; config: Pick<Config, 'baseUrl'> }

/** The page where anyone who received the message acknowledges. `addressId`: of one recipient of a mail, who is named then. */
export function acknowledgeLink(
  { seal, config }: Linking,
  { organization_id, id }: Pick<AlertRow, 'organization_id' | 'id'>,
  addressId?: string,
): string {
  const named = addressId === undefined ? id : `${id}~${addressId}`
  return `${config.baseUrl}/dashboard/alert-acknowledgement/${alertToken(seal, 'acknowledge', organization_id, named)}`
}

/** What the link is about. `now`: acknowledge it; null: only look. Throws `not_found` for a link that is not one of this server. */
export async function useAcknowledgeLink(
  db: Database,
  seal: Seal,
  token: string,
  now: number | null,
): Promise<Acknowledgement> {
  const { organizationId, id } = openAlertToken(seal, 'acknowledge', token)
  const [alertId = '', addressId] = id.split('~')
  return await inTransaction(db, async (transaction) => {
    const alert = await findAlert(transaction, organizationId, alertId)
    if (!alert?.incident_id) throw notFound()
    const tenant = { organizationId }
    const before = await getTenantRow(transaction, 'incidents', tenant, alert.incident_id, forUpdate(transaction))
    if (now !== null && before.resolved_at === null && before.acknowledged_at === null) {
      const label = await whoFollowed(transaction, organizationId, alert, addressId)
      await transaction
        .updateTable('incidents')
        .set({ ...acknowledgedBy(label, now), ...nextVersion })
        .where('organization_id', '=', organizationId)
        .where('id', '=', before.id)
        .execute()
      const entry = { incidentId: before.id, kind: 'acknowledged' as const, actor: label, alertId }
      await insertEntries(transaction, organizationId, [entry], now)
      const actor = { type: 'system' as const, id: addressId ?? alert.channel_id, label }
      const after = toIncident({ ...before, ...acknowledgedBy(label, now) })
      const context = systemContext(organizationId, now, actor)
      await recordAudit(transaction, context, { ...auditOf(before), before: toIncident(before), after })
    }
    const incident = await getTenantRow(transaction, 'incidents', tenant, alert.incident_id)
    const state =
      incident.resolved_at !== null ? 'resolved' : incident.acknowledged_at !== null ? 'acknowledged' : 'open'
    const { organization, title } = alert
    return { organization, title: title ?? incident.zone, state, acknowledged_by: incident.acknowledged_by }
  })
}

function findAlert(db: Database, organizationId: string, id: string) {
  return db
    .selectFrom('alerts')
    .innerJoin('organizations', 'organizations.id', 'alerts.organization_id')
    .select(['alerts.incident_id', 'alerts.channel_id', 'alerts.title', 'organizations.name as organization'])
    .where('alerts.organization_id', '=', organizationId)
    .where('alerts.id', '=', id)
    .executeTakeFirst()
}

/** The link holds only where the message was sent. */
async function whoFollowed(
  db: Database,
  organizationId: string,
  { channel_id }: Pick<AlertRow, 'channel_id'>,
  addressId: string | undefined,
): Promise<string> {
  if (addressId !== undefined) {
    const address = await db
      .selectFrom('alert_addresses')
      .select('email')
      .where('organization_id', '=', organizationId)
      .where('id', '=', addressId)
      .executeTakeFirst()
    if (address) return address.email
  }
  const channel = await db
    .selectFrom('channels')
    .select('name')
    .where('organization_id', '=', organizationId)
    .where('id', '=', channel_id)
    .executeTakeFirst()
  return `Link in ${channel?.name ?? 'a message'}`
}
