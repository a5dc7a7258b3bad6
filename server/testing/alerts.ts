import { evaluateDue, evaluateSoon } from '../alerts/evaluate.ts'
import { sendAlert } from '../alerts/worker.ts'
import { claimDue } from '../database/lease-queue.ts'
import { insertEvents, newEventIds } from '../events/store.ts'
import { openSmtp } from '../mail/smtp.ts'
import type { AppWorld } from './app-world.ts'

/** `paths`: the exchanges of its diagnosis. */
export type Change = { monitor: string; from?: string; to: string; found?: string[]; paths?: object[] }

/** The loops of alerts, one pass at a time, and events as checks record them. */
export function givenAlerting(world: AppWorld) {
  const { deps } = world
  const { db, clock, config } = deps
  const post = config.smtp ? openSmtp(config.smtp) : null
  const never = new AbortController().signal
  let processes = 1

  async function evaluate(): Promise<void> {
    while ((await evaluateDue(db, { now: clock.now(), process: 1, limit: 8 })) > 0);
  }

  return {
    evaluate,
    /** What a check records, without the check. */
    async change(...changes: Change[]): Promise<void> {
      const { id: organizationId } = await world.organization()
      const now = clock.now()
      const monitors = await db
        .selectFrom('monitors')
        .selectAll()
        .where('organization_id', '=', organizationId)
        .execute()
      await db.transaction().execute(async (transaction) => {
        const ids = await newEventIds(
          transaction,
          changes.map(() => organizationId),
          now,
        )
        const rows = changes.map(({ monitor, from = 'VALID', to, found = [], paths = [] }, index) => {
          const row = monitors.find(({ id }) => id === monitor)!
          const verdict = { code: 'no_answer', params: { name: row.owner } }
          return {
            id: ids[index]!,
            organization_id: organizationId,
            monitor_id: monitor,
            group_id: row.group_id,
            occurred_at: now,
            old_state: from,
            new_state: to,
            previous_values: null,
            current_values: JSON.stringify(found),
            incidence_count: 1,
            domain: row.domain,
            subdomain: row.subdomain,
            record_type: row.record_type,
            expected_values: row.expected_values,
            is_exact_match: row.is_exact_match,
            diagnosis: JSON.stringify({ verdict, confirmation: [], paths }),
          }
        })
        await insertEvents(transaction, rows)
        for (const { monitor, to } of changes) {
          await transaction.updateTable('monitors').set({ state: to }).where('id', '=', monitor).execute()
        }
        await evaluateSoon(transaction, [organizationId], now)
      })
      await evaluate()
    },
    /** Sends what is due, as a process of its own each time. Returns how many alerts it took. */
    async send(): Promise<number> {
      let count = 0
      for (;;) {
        const claims = await claimDue(db, 'due_alerts', { now: clock.now(), process: ++processes, limit: 16 })
        if (claims.length === 0) return count
        count += claims.length
        for (const claim of claims) await sendAlert({ ...deps, process: processes }, post, claim, never)
      }
    },
  }
}
