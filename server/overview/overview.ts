import type { Overview } from '#contract/dashboard.ts'
import type { Clock } from '../clock.ts'
import type { Tenant } from '../context.ts'
import type { Deps } from '../deps.ts'
import { listEvents } from '../events/store.ts'
import { listOpenIncidents } from '../incidents/store.ts'
import { countStates } from '../monitors/list/counts.ts'
import { countWorking } from '../queue/heartbeat.ts'
import { DAY_MS, toIso, toIsoOrNull } from '../times.ts'
import { findCauses, MAX_CAUSES } from './causes.ts'
import {
  countFailing,
  countLate,
  countLateWebhooks,
  firstResultsSince,
  largestFailingGroups,
  lastCheckedAt,
  readFirstSteps,
  readWebhooks,
} from './store.ts'

const MAX_INCIDENTS = 20
const MAX_CHANGES = 10
/** Events in which new failures are searched. */
const MAX_RECENT_EVENTS = 50
const MAX_WEBHOOKS = 20
/** A check or a delivery that is overdue by more than this is late. */
const GRACE_MS = 60_000

/** The state of one organization. */
export async function readOverview(
  { db, keyring, clock, config }: Pick<Deps, 'db' | 'keyring' | 'clock' | 'config'>,
  tenant: Tenant,
): Promise<Overview> {
  const sendsMail = config.smtp !== null
  const failingGroups = await largestFailingGroups(db, tenant, MAX_CAUSES)
  const { total, disabled, active: states } = await countStates(db, tenant, failingGroups.failing)
  const events = await listEvents(db, keyring, tenant, { limit: MAX_RECENT_EVENTS, order_way: 'desc' })
  const changes = await listEvents(db, keyring, tenant, { limit: MAX_CHANGES, order_way: 'desc' }, { isChange: true })
  const now = clock.now()
  const late = await countLate(db, tenant, now - GRACE_MS)
  const webhooks = await readWebhooks(db, tenant, MAX_WEBHOOKS)
  const firstResults = await firstResultsSince(db, tenant, now - DAY_MS)
  const working = await countWorking(db, now)
  const active = total - disabled
  const failing = await countFailing(db, tenant, active - (states.VALID ?? 0) - (states.UNSET ?? 0))
  return {
    states,
    active,
    disabled,
    failing,
    incidents: failing.incidents === 0 ? [] : await listOpenIncidents(db, tenant, MAX_INCIDENTS),
    ...(await findCauses(db, tenant, failing, failingGroups, events.data)),
    changes: changes.data,
    first_results: firstResults && { ...firstResults, from: toIso(firstResults.from), to: toIso(firstResults.to) },
    checks: {
      on_time: Math.max(0, active - late),
      late,
      last_checked: toIsoOrNull(await lastCheckedAt(db, tenant)),
    },
    webhooks: { ...webhooks, late: await countLateWebhooks(db, tenant, now - GRACE_MS) },
    processes: { checking: working.checking, cut_off: working.cutOff, delivering: working.delivering },
    has: { monitors: total > 0, webhooks: webhooks.count > 0, ...(await readFirstSteps(db, tenant, sendsMail)) },
  }
}

/** The pause after a run, in multiples of its duration. */
const PAUSE_FACTOR = 4

type Run<T> = { paused: Promise<void>; next?: Promise<T> }

/**
 * Shares the runs of equal work, by key. Calls during a run share the next one, which starts after the call and so misses nothing.
 * The pause between runs keeps expensive work below a fifth of the time.
 */
export function shareRuns<T>(clock: Clock): (key: string, work: () => Promise<T>) => Promise<T> {
  const runs = new Map<string, Run<T>>()

  const start = (key: string, work: () => Promise<T>): Promise<T> => {
    const startedAt = clock.elapsed()
    const result = work()
    const pause = async () => {
      await result.catch(() => {})
      await clock.sleep(PAUSE_FACTOR * (clock.elapsed() - startedAt))
      if (!run.next) runs.delete(key)
    }
    const run: Run<T> = { paused: pause() }
    runs.set(key, run)
    return result
  }

  return (key, work) => {
    const run = runs.get(key)
    if (!run) return start(key, work)
    run.next ??= run.paused.then(() => start(key, work))
    return run.next
  }
}
