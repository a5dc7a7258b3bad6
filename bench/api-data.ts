import { sql } from 'kysely'
import { insertOrganization } from '../server/accounts/organizations.ts'
import { systemContext } from '../server/context.ts'
import type { Database } from '../server/database/database.ts'
import { insertMonitors } from '../server/monitors/insert.ts'
import { parseMonitor } from '../server/monitors/parse-monitor.ts'

const BATCH_SIZE = 5_000
const GROUPS = 100

/** The request body of a monitor, with varied names and groups. */
export const monitorBody = (number: number) => ({
  full_domain: `www${number % 7}.shop-${(number * 7919) % 1_000_003}.example.com`,
  record_type: 'A' as const,
  expected_value: ['192.0.2.1', `192.0.2.${number % 250}`],
  group: `group-${number % GROUPS}`,
  tags: ['prod', `team-${number % 40}`],
  metadata: { customer: `customer-${number % 50_000}` },
})

/** Creates an organization with `count` monitors, one in fifty of them failing. Returns its API key. */
export async function fill(db: Database, count: number, now: number): Promise<string> {
  const organization = { name: 'Bench', email: 'bench@example.com', passwordHash: '' }
  const { id, key } = await insertOrganization(db, organization, now)
  for (let from = 0; from < count; from += BATCH_SIZE) {
    const drafts = Array.from({ length: Math.min(BATCH_SIZE, count - from) }, (_, index) => {
      const parsed = parseMonitor(monitorBody(from + index))
      if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors))
      return parsed.draft
    })
    const rows = await insertMonitors(db, systemContext(id, now), drafts)
    const ids = rows.map((row) => row.id).sort()
    await setStates(db, ids[0]!, ids.at(-1)!)
    if (from === 0) await sql`analyze`.execute(db)
  }
  await sql`analyze`.execute(db)
  return key

  async function setStates(db: Database, first: string, last: string): Promise<void> {
    await sql`update monitors set state = case when slot % 50 = 0 then 'MISMATCH' else 'VALID' end,
      current_values = case when slot % 50 = 0 then '["192.0.2.9"]' end
      where organization_id = ${id} and id between ${first} and ${last}`.execute(db)
    await sql`update due_checks set last_checked_at = ${now} + slot % 300000
      where slot in (select slot from monitors where organization_id = ${id} and id between ${first} and ${last})`.execute(
      db,
    )
  }
}
