import { sql } from 'kysely'
import { withDeadline } from '../clock.ts'
import { claimDue, complete, repairAfterClockStep, reschedule } from '../queue/lease-queue.ts'
import { WakeUp } from '../queue/wake-up.ts'
import { runWorker, type Signals, type WorkerDeps } from '../queue/worker-loop.ts'
import type { SafeFetch } from '../safe-http/safe-fetch.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../times.ts'
import { createBootstrap, findRdapServer } from './bootstrap.ts'
import { type LookUp, lookUpDomain } from './look-up.ts'
import { type RegistrationClaim, recordLookUp } from './store.ts'

export type RegistrationDeps = WorkerDeps & { safeFetch: SafeFetch; rdapBootstrap: string | null }

const MAX_IN_FLIGHT = 16
/** Claimed at once. Most may have to wait for their server. */
const MAX_CLAIMED = 100
/** Between two look-ups at one RDAP server. */
const PAUSE_MS = 1_000
/** Shorter than the lease. */
const DEADLINE_MS = 40_000
const BUSY_MS = 250
/** After a refusal (429, 503) that does not say for how long. */
const REFUSED_MS = 10 * MINUTE_MS

/** Looks up the registrations that are due. Runs until `stop`; `abandon` aborts look-ups in progress. */
export async function runRegistrationWorker(deps: RegistrationDeps, { stop, abandon }: Signals): Promise<void> {
  const { db } = deps
  const worker = createRegistrationWorker(deps, abandon)
  await runWorker(deps, stop, {
    name: 'registrations',
    table: 'due_registrations',
    wakeUp: new WakeUp(), // the poll is soon enough
    failure: 'Due registrations cannot be read. Retrying.',
    repair: (self) => repairAfterClockStep(db, 'due_registrations', self, { longestMs: sql.raw(String(2 * DAY_MS)) }),
    held: worker.held,
    pass: worker.pass,
  })
  await worker.done()
}

export function createRegistrationWorker(deps: RegistrationDeps, abandon: AbortSignal) {
  const { db, clock, process, log, safeFetch } = deps
  const bootstrap = createBootstrap({ ...deps, url: deps.rdapBootstrap })
  const inFlight = new Map<string, Promise<void>>()
  /** When the next look-up at a server may begin, by its URL, on the clock of `elapsed`. */
  const freeAt = new Map<string, number>()

  async function lookUp(claim: RegistrationClaim, server: string | undefined): Promise<void> {
    const { domain } = claim
    const seen: LookUp =
      server === undefined
        ? { kind: 'facts', facts: { state: 'no_rdap' } }
        : await withDeadline(clock, DEADLINE_MS, abandon, (signal) =>
            lookUpDomain({ safeFetch, now: clock.now }, server, domain, signal),
          )
    if (abandon.aborted) return
    if (server !== undefined && seen.kind === 'failed' && seen.problem === 'rate_limited') {
      const pauseMs = Math.min(DAY_MS, Math.max(MINUTE_MS, seen.retryAfterMs ?? REFUSED_MS))
      freeAt.set(server, clock.elapsed() + pauseMs)
    }
    await recordLookUp(db, claim, seen, clock.now())
  }

  const start = (claim: RegistrationClaim, server: string | undefined) => {
    const done = lookUp(claim, server)
      .catch((err) => {
        if (!abandon.aborted)
          log.error({ err, domain: claim.domain }, 'A registration could not be looked up. It will be repeated.')
      })
      .finally(() => inFlight.delete(claim.domain))
    inFlight.set(claim.domain, done)
  }

  /** Whether the server is free, which it then is not any more. */
  const takes = (server: string): boolean => {
    const now = clock.elapsed()
    if ((freeAt.get(server) ?? 0) > now) return false
    freeAt.set(server, now + PAUSE_MS)
    return true
  }

  return {
    held: () => new Set<unknown>(inFlight.keys()),
    done: () => Promise.all(inFlight.values()),
    async pass() {
      if (inFlight.size >= MAX_IN_FLIGHT) return { restMs: BUSY_MS, isIdle: false }
      const now = clock.now()
      const claims = await claimDue(db, 'due_registrations', { now, process, limit: MAX_CLAIMED })
      if (claims.length === 0) return { restMs: 0, isIdle: true }
      const servers = await bootstrap(abandon)
      const forgotten = claims.filter(({ wanted_until }) => wanted_until < now)
      if (forgotten.length > 0) await complete(db, 'due_registrations', forgotten)
      const later = claims.filter((claim) => {
        if (claim.wanted_until < now) return false
        const server = findRdapServer(servers, claim.domain)
        if (inFlight.size >= MAX_IN_FLIGHT || (server !== undefined && !takes(server))) return true
        start(claim, server)
        return false
      })
      await reschedule(
        db,
        'due_registrations',
        later.map((claim) => ({ claim, set: whenBusy(claim, now) })),
      )
      return { restMs: BUSY_MS, isIdle: false }
    },
  }
}

/** Spread, so that domains of many registries and organizations take turns. What waits longer is tried less often, and costs less. */
function whenBusy({ requested_at, was_due_at }: RegistrationClaim, now: number) {
  const since = requested_at ?? was_due_at ?? now
  const spreadMs = Math.min(6 * HOUR_MS, Math.max(MINUTE_MS, now - since))
  return { requested_at: since, due_at: now + Math.round(PAUSE_MS + Math.random() * spreadMs) }
}
