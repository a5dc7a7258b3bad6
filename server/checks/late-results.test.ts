import { expect, test } from 'vitest'
import { insertOrganization } from '../accounts/organizations.ts'
import { systemContext } from '../context.ts'
import type { Database } from '../database/database.ts'
import { insertMonitors } from '../monitors/insert.ts'
import { parseMonitor } from '../monitors/parse-monitor.ts'
import { updateMonitor } from '../monitors/update.ts'
import { type Claim, claimDue, LEASE_MS, renewLeases } from '../queue/lease-queue.ts'
import { onBothEngines } from '../testing/database.ts'
import type { MonitorCheckResult } from './check-write.ts'
import { monitorLoader } from './load-monitor.ts'
import { recordChecks } from './record-checks.ts'

const START = Date.UTC(2026, 10, 21)

async function givenMonitor(db: Database) {
  const { id: organizationId } = await insertOrganization(
    db,
    { name: 'A', email: 'a@example.com', passwordHash: '' },
    START,
  )
  const parsed = parseMonitor({ full_domain: 'www.example.com', record_type: 'A', expected_value: ['192.0.2.1'] })
  if (!parsed.ok) throw new Error('invalid')
  const context = systemContext(organizationId, START)
  const [monitor] = await insertMonitors(db, context, [parsed.draft])
  return { id: monitor!.id, context }
}

async function claimAs(db: Database, process: number, now: number): Promise<Claim<'due_checks'>> {
  const [claim] = await claimDue(db, 'due_checks', { now, process, limit: 1 })
  return claim!
}

async function found(
  db: Database,
  claim: Claim<'due_checks'>,
  address: string,
  at: number,
): Promise<MonitorCheckResult> {
  const { row, recorded } = (await monitorLoader(db, { now: () => at })(claim))!
  const rrset = { name: claim.owner, type: 'A' as const, ttl: 60, values: [address] }
  return {
    ...{
      claim,
      startedAt: at,
      at,
      row,
      recorded,
      kind: 'verdict',
      observations: [],
      servers: [],
      confirmation: [],
      rotation: null,
    },
    outcome: { kind: 'answer', rrset, chain: [] },
  }
}

onBothEngines('a result that is later than its lease', (fresh) => {
  test('is recorded once, also if another process has claimed the check meanwhile', async () => {
    const db = await fresh()
    await givenMonitor(db)
    const first = await found(db, await claimAs(db, 1, START), '192.0.2.1', START)
    const later = START + LEASE_MS + 1
    const second = await found(db, await claimAs(db, 2, later), '192.0.2.1', later)
    const lost: number[] = []

    expect(await recordChecks(db, [first], later + 1, (count) => lost.push(count))).toBe(1)
    expect(await recordChecks(db, [second], later + 2, (count) => lost.push(count))).toBe(0)

    expect(lost).toEqual([0, 1])
    expect(await db.selectFrom('events').select('id').execute()).toHaveLength(1)
  })

  test('is rejected if the expected values have changed', async () => {
    const db = await fresh()
    const { id, context } = await givenMonitor(db)
    const late = await found(db, await claimAs(db, 1, START), '192.0.2.1', START)
    await updateMonitor(db, context, id, { expected_value: ['192.0.2.9'] })

    expect(await recordChecks(db, [late], START + LEASE_MS + 1)).toBe(0)
    const row = await db.selectFrom('monitors').select('state').where('id', '=', id).executeTakeFirstOrThrow()
    expect(row.state).toBe('UNSET')
  })

  test('a renewed lease is not claimed by anybody else', async () => {
    const db = await fresh()
    await givenMonitor(db)
    const claim = await claimAs(db, 1, START)

    await renewLeases(db, 'due_checks', [claim], START + LEASE_MS / 2)

    expect(claim.due_at).toBe(START + 1.5 * LEASE_MS)
    expect(await claimDue(db, 'due_checks', { now: START + LEASE_MS + 1, process: 2, limit: 1 })).toEqual([])
    expect(await recordChecks(db, [await found(db, claim, '192.0.2.1', START)], START + LEASE_MS + 2)).toBe(1)
  })
})
