import type { Overview } from '#contract/dashboard.ts'
import type { Clock } from '../clock.ts'
import type { Tenant } from '../context.ts'
import { countWorking } from '../database/instances.ts'
import type { Deps } from '../deps.ts'
import { listEvents } from '../events/list.ts'
import { toIso, toIsoOrNull } from '../http/times.ts'
import { countStates } from '../monitors/counts.ts'
import { attentionOf, MOST_CAUSES } from './causes.ts'
import {
  countLate,
  countLateWebhooks,
  firstResultsSince,
  largestTroubles,
  lastCheckedAt,
  webhooksOf,
} from './overview-store.ts'

const CHANGES = 10
/** Events that are looked through for troubles which have just begun. */
const RECENT = 50
const WEBHOOKS = 20
const DAY_MS = 24 * 60 * 60_000
/** A check or a delivery that is overdue by more than this is late. */
const GRACE_MS = 60_000

/** How everything stands, of one organization. */
export async function readOverview(
  { db, seal, clock }: Pick<Deps, 'db' | 'seal' | 'clock'>,
  tenant: Tenant,
): Promise<Overview> {
  const troubles = await largestTroubles(db, tenant, MOST_CAUSES)
  const { total, disabled, active: states } = await countStates(db, tenant, troubles.failing)
  const events = await listEvents(db, seal, tenant, { limit: RECENT, order_way: 'desc' })
  const changes = await listEvents(db, seal, tenant, { limit: CHANGES, order_way: 'desc' }, { isChange: true })
  const now = clock.now()
  const late = await countLate(db, tenant, now - GRACE_MS)
  const webhooks = await webhooksOf(db, tenant, WEBHOOKS)
  const firstResults = await firstResultsSince(db, tenant, now - DAY_MS)
  const working = await countWorking(db, now)
  const active = total - disabled
  return {
    states,
    active,
    disabled,
    ...(await attentionOf(db, tenant, troubles, events.data)),
    changes: changes.data,
    first_results: firstResults && { ...firstResults, from: toIso(firstResults.from), to: toIso(firstResults.to) },
    checks: {
      on_time: Math.max(0, active - late),
      late,
      last_checked: toIsoOrNull(await lastCheckedAt(db, tenant)),
    },
    webhooks: { ...webhooks, late: await countLateWebhooks(db, tenant, now - GRACE_MS) },
    processes: { checking: working.checking, cut_off: working.cutOff, delivering: working.delivering },
    has: { monitors: total > 0, webhooks: webhooks.count > 0, events: events.data.length > 0 },
  }
}

/** How long a name rests after it was worked for, in times of how long that took. */
const REST = 4

type Turn<T> = { rested: Promise<void>; next?: Promise<T> }

/**
 * Does the same work for many at once, by name. Anyone who comes while it is done shares the next turn, which begins after the
 * call and so misses nothing; dear work rests in between, so that it never takes more than a fifth of the time.
 */
export function oneAtATime<T>(clock: Clock): (name: string, work: () => Promise<T>) => Promise<T> {
  const turns = new Map<string, Turn<T>>()

  const begin = (name: string, work: () => Promise<T>): Promise<T> => {
    const began = clock.elapsed()
    const running = work()
    const rest = async () => {
      await running.catch(() => {})
      await clock.sleep(REST * (clock.elapsed() - began))
      if (!turn.next) turns.delete(name)
    }
    const turn: Turn<T> = { rested: rest() }
    turns.set(name, turn)
    return running
  }

  return (name, work) => {
    const turn = turns.get(name)
    if (!turn) return begin(name, work)
    turn.next ??= turn.rested.then(() => begin(name, work))
    return turn.next
  }
}
