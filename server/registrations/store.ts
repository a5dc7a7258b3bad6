import { createHash } from 'node:crypto'
import { parse as splitAtPublicSuffix } from 'tldts'
import type { Database } from '../database/database.ts'
import { type Claim, type Rescheduled, reschedule } from '../queue/lease-queue.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../times.ts'
import type { Registration } from './facts.ts'
import type { LookUp } from './look-up.ts'

export type RegistrationClaim = Claim<'due_registrations'>

/** What is new is looked up again. */
const CONFIRM_MS = 5 * MINUTE_MS
/** Without a zone whose looks want it, a registration is forgotten. */
const WANTED_MS = 3 * DAY_MS
/** A person cannot make look-ups more frequent than this. */
const LEAST_MS = 10 * MINUTE_MS

/** The domain that somebody registered; undefined for a public suffix. */
export const registeredDomain = (name: string): string | undefined =>
  splitAtPublicSuffix(name, {
    ...{ allowPrivateDomains: false, extractHostname: false, validateHostname: false, detectIp: false },
  }).domain ?? undefined

/** What is known of the registration of the zone's domain, which is looked up from now on. Null without a registered domain. */
export async function wantRegistration(db: Database, zone: string, now: number): Promise<Registration | null> {
  const domain = registeredDomain(zone)
  if (domain === undefined) return null
  const row = await db.selectFrom('due_registrations').selectAll().where('domain', '=', domain).executeTakeFirst()
  if (!row || row.wanted_until < now + WANTED_MS - DAY_MS) {
    const wanted = { wanted_until: now + WANTED_MS }
    await db
      .insertInto('due_registrations')
      .values({ domain, ...wanted, due_at: now })
      .onConflict((conflict) => conflict.column('domain').doUpdateSet(wanted))
      .execute()
  }
  const facts = row?.facts ? JSON.parse(row.facts) : null
  return { domain, facts, lookedUpAt: row?.looked_up_at ?? null, problem: row?.problem ?? null }
}

/** Makes the look-up of the zone's domain due now, unless there was one a short time ago. */
export async function lookUpSoon(db: Database, zone: string, now: number): Promise<void> {
  const domain = registeredDomain(zone)
  if (domain === undefined) return
  await db
    .updateTable('due_registrations')
    .set({ due_at: now })
    .where('domain', '=', domain)
    .where('claimed_by', 'is', null)
    .where('failures', '=', 0)
    .where('looked_up_at', '<', now - LEAST_MS)
    .where('due_at', '>', now)
    .execute()
}

/** Records a look-up. What is new counts when the next look-up sees it, too. A failure changes nothing that is known. */
export async function recordLookUp(db: Database, claim: RegistrationClaim, lookUp: LookUp, now: number): Promise<void> {
  await reschedule(db, 'due_registrations', [
    { claim, set: { ...afterLookUp(claim, lookUp, now), requested_at: null } },
  ])
}

type Columns = Rescheduled<'due_registrations', RegistrationClaim>['set']

function afterLookUp(claim: RegistrationClaim, lookUp: LookUp, now: number): Columns {
  const { domain, facts, pending, looked_up_at } = claim
  if (lookUp.kind === 'failed') {
    const failures = claim.failures + 1
    const pauseMs = Math.min(DAY_MS, Math.max(HOUR_MS * 2 ** Math.min(failures - 1, 5), lookUp.retryAfterMs ?? 0))
    return { facts, pending, looked_up_at, problem: lookUp.problem, failures, due_at: now + pauseMs }
  }
  const seen = JSON.stringify(lookUp.facts)
  const isKnown = seen === facts || seen === pending
  if (isKnown)
    return {
      facts: seen,
      pending: null,
      looked_up_at: now,
      problem: null,
      failures: 0,
      due_at: nextLookUp(domain, now),
    }
  // Servers of a registry that disagree must not be asked without end.
  const due_at = now + (pending === null ? CONFIRM_MS : HOUR_MS)
  return { facts, pending: seen, looked_up_at, problem: null, failures: 0, due_at }
}

/** At the place of the domain in each day. It comes from the name, so that look-ups are spread evenly. */
function nextLookUp(domain: string, now: number): number {
  const place = createHash('sha256').update(domain).digest().readUInt32BE(0) % DAY_MS
  const next = now - ((now - place) % DAY_MS) + DAY_MS
  return next < now + HOUR_MS ? next + DAY_MS : next
}
