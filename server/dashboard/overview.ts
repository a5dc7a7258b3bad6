import type { Overview } from '#contract/dashboard.ts'
import { listEvents } from '../events/list.ts'
import { isoOrNull } from '../http/times.ts'
import type { Doors } from '../outside.ts'
import { attentionOf } from './causes.ts'
import { countLate, countStates, lastCheckedAt, pausedWebhooks } from './overview-store.ts'

const CHANGES = 10
/** Events that are looked through for troubles which have just begun. */
const RECENT = 50
const PAUSED = 20
/** A check that is overdue by more than this is late. */
const GRACE_MS = 60_000

/** How everything stands, of one organization. */
export async function readOverview(
  { db, seal, clock }: Pick<Doors, 'db' | 'seal' | 'clock'>,
  organizationId: string,
): Promise<Overview> {
  const { total, disabled, active: states } = await countStates(db, organizationId)
  const events = await listEvents(db, seal, organizationId, { limit: RECENT, order_way: 'desc' })
  const late = await countLate(db, organizationId, clock.now() - GRACE_MS)
  const webhooks = await pausedWebhooks(db, organizationId, PAUSED)
  const active = total - disabled
  return {
    states,
    active,
    disabled,
    ...(await attentionOf(db, organizationId, events.data)),
    changes: events.data.slice(0, CHANGES),
    checks: {
      on_time: Math.max(0, active - late),
      late,
      last_checked: isoOrNull(await lastCheckedAt(db, organizationId)),
    },
    webhooks,
    has: { monitors: total > 0, webhooks: webhooks.count > 0, events: events.data.length > 0 },
  }
}
