import { expect, test } from 'vitest'
import type { AuditLogQuery } from '#contract/audit-log.ts'
import { insertOrganization } from './accounts/organizations.ts'
import { listAuditLog, recordAudit } from './audit-log.ts'
import { operatorContext } from './context.ts'
import { createKeyring } from './keyring.ts'
import { onBothEngines } from './testing/database.ts'
import { givenRecordingDatabase } from './testing/query-plans.ts'

const keyring = createKeyring('a secret of the test, longer than 32 characters')
const START = Date.UTC(2026, 0, 1)
const ENTRIES = 60

/** The filter, and the column of the index in which a page starts. */
const FILTERS: [name: string, filter: Partial<AuditLogQuery>, column: string][] = [
  ['none', {}, 'id'],
  ['actor', { actor: 'operator' }, 'actor_id'],
  ['action', { action: 'group.created' }, 'action'],
  ['type of object', { object: 'group' }, 'object_type'],
  ['object', { object: 'grp_1' }, 'object_id'],
  [
    'time',
    { occurred_after: new Date(START).toISOString(), occurred_before: new Date(START + 90_000).toISOString() },
    'id',
  ],
]

onBothEngines('the audit log', (_fresh, engine) => {
  test.each(FILTERS)(
    'is read from an index at any depth, without sorting (filter: %s)',
    async (_name, filter, column) => {
      const { db, plansOf } = await givenRecordingDatabase(engine)
      const { id: organizationId } = await insertOrganization(
        db,
        { name: 'A', email: 'a@b.example', passwordHash: '' },
        START,
      )
      for (let number = 0; number < ENTRIES; number++) {
        const audited = { action: 'group.created', object: { id: 'grp_1', label: 'A' } } as const
        await recordAudit(db, operatorContext(organizationId, START + 1_000 * number), audited)
      }
      const list = (more: Partial<AuditLogQuery>) =>
        listAuditLog(db, keyring, { organizationId }, { limit: 5, order_way: 'desc', ...filter, ...more })
      const { after } = await list({})

      const plans = await plansOf(() => list({ after: after! }))

      expect(plans.map(({ sql }) => sql.includes('from "audit_log"'))).toContain(true)
      for (const { plan } of plans) {
        if (engine === 'postgres') {
          expect(plan).not.toMatch(/Seq Scan|Bitmap|Sort|Disabled: true/)
          expect(plan).toMatch(new RegExp(`Index Cond: .*organization_id.*${column}`))
          expect(plan).toMatch(/Index Cond: .*id [<>]/)
        } else {
          expect(plan).not.toMatch(/SCAN|TEMP B-TREE/)
          const started = column === 'id' ? 'organization_id=\\?' : `organization_id=\\? AND ${column}=\\?`
          expect(plan).toMatch(new RegExp(`^SEARCH audit_log USING .*\\(${started} AND id[<>]\\?`))
        }
      }
    },
  )
})
