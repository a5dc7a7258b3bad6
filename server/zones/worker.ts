import { sql } from 'kysely'
import { withDeadline } from '../clock.ts'
import { claimDue, repairAfterClockStep } from '../queue/lease-queue.ts'
import { claimable, organizationsWithShare } from '../queue/organization-share.ts'
import type { WakeUps } from '../queue/wake-up.ts'
import { runWorker, type Signals, type WorkerDeps } from '../queue/worker-loop.ts'
import { wantRegistration } from '../registrations/store.ts'
import { HOUR_MS } from '../times.ts'
import { type Look, type LookDeps, lookAtZone } from './look.ts'
import { recordLook, type ZoneClaim } from './record-look.ts'

/** `isRdapOn`: registrations are looked up. */
export type ZoneWorkerDeps = WorkerDeps & LookDeps & { wakeUps: WakeUps; isRdapOn?: boolean }

/** Looks in progress. Half of the checks that may keep large answers, because each look asks over TCP. */
const MAX_IN_FLIGHT = 16
/** Shorter than the lease. */
const DEADLINE_MS = 40_000
/** Organizations with the same zone share a look. Shorter than the time between two looks that confirm each other. */
const SHARED_MS = 30_000
const MAX_SHARED = 1_000
const BUSY_MS = 50

/** Looks at the zones that are due. Runs until `stop`; `abandon` aborts looks in progress. */
export async function runZoneWorker(deps: ZoneWorkerDeps, { stop, abandon }: Signals): Promise<void> {
  const { db, clock, process, wakeUps, log } = deps
  // A zone can be in it twice: a change makes it due again, and the look in progress is discarded.
  const inFlight = new Set<{ claim: ZoneClaim; done: Promise<void> }>()
  const looks = createSharedLooks(deps)
  const start = (claim: ZoneClaim) => {
    const done = processZone(deps, looks, claim, abandon)
      .catch((err) => {
        if (!abandon.aborted) log.error({ err, zone: claim.zone_id }, 'A look at a zone failed. It will be repeated.')
      })
      .finally(() => inFlight.delete(started))
    const started = { claim, done }
    inFlight.add(started)
  }
  await runWorker(deps, stop, {
    name: 'zones',
    table: 'due_zones',
    wakeUp: wakeUps.zones,
    failure: 'Due zones cannot be read. Retrying.',
    repair: (self) => repairAfterClockStep(db, 'due_zones', self, { longestMs: sql.raw(String(HOUR_MS)) }),
    held: () => new Set([...inFlight].map(({ claim }) => claim.zone_id)),
    pass: async () => {
      const limit = claimable(MAX_IN_FLIGHT - inFlight.size)
      if (limit === 0) return { restMs: BUSY_MS, isIdle: false }
      // Silent name servers of an organization leave slots to the others.
      const organizations = [...inFlight].map(({ claim }) => claim.organization_id)
      const without = organizationsWithShare(organizations, MAX_IN_FLIGHT)
      const claims = await claimDue(db, 'due_zones', { now: clock.now(), process, limit, without })
      for (const claim of claims) start(claim)
      return { restMs: claims.length === 0 ? 0 : BUSY_MS, isIdle: claims.length === 0 }
    },
  })
  await Promise.all([...inFlight].map(({ done }) => done))
}

/** Looks at a claimed zone, and records what it saw. */
export async function processZone(
  { db, clock, isRdapOn = false }: Pick<ZoneWorkerDeps, 'db' | 'clock' | 'isRdapOn'>,
  looks: SharedLooks,
  claim: ZoneClaim,
  abandon: AbortSignal,
): Promise<void> {
  const look = await looks(claim, abandon)
  const now = clock.now()
  const canLook = look.kind === 'facts' || look.reason !== 'no_roots'
  const registration = isRdapOn && canLook ? await wantRegistration(db, claim.name, now) : null
  const withRegistration: Look =
    look.kind === 'facts' ? { kind: 'facts', facts: { ...look.facts, registration } } : look
  await recordLook(db, claim, withRegistration, now)
}

export type SharedLooks = (
  claim: Pick<ZoneClaim, 'name' | 'organization_id' | 'was_due_at'>,
  abandon: AbortSignal,
) => Promise<Look>

/** Zones of the same name share a look that began less than `SHARED_MS` ago, unless their look was requested after that. */
export function createSharedLooks(deps: LookDeps): SharedLooks {
  const { clock } = deps
  const looks = new Map<string, { at: number; beganAt: number; look: Promise<Look> }>() // the oldest first

  return ({ name, organization_id: group, was_due_at: askedAt }, abandon) => {
    for (const [key, { at }] of looks) {
      if (clock.elapsed() - at < SHARED_MS && looks.size <= MAX_SHARED) break
      looks.delete(key)
    }
    const shared = looks.get(name)
    if (shared && shared.beganAt >= askedAt) return shared.look
    looks.delete(name) // so that the new one is the last
    const look = withDeadline(clock, DEADLINE_MS, abandon, (signal) => lookAtZone(name, deps, group, signal)).catch(
      (error): Look => {
        if (looks.get(name)?.look === look) looks.delete(name)
        if (abandon.aborted || !(error instanceof DOMException)) throw error // else the deadline
        return { kind: 'withheld', reason: 'busy' }
      },
    )
    looks.set(name, { at: clock.elapsed(), beganAt: clock.now(), look })
    return look
  }
}
