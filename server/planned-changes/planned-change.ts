import { fieldError } from '#contract/field-errors.ts'
import { MAX_PLAN_DAYS } from '#contract/planned-changes.ts'
import type { ChangeOutcome } from '../database/schema-alerts.ts'
import type { FieldErrors } from '../problem.ts'
import { DAY_MS, MINUTE_MS, toIso } from '../times.ts'

/** A record that moves from the old values to the new ones within a period. Times are UTC epoch milliseconds. */
export type PlannedChange = {
  id: string
  oldValues: readonly string[]
  newValues: readonly string[]
  from: number
  to: number
}

/** `progress`: of the previous check. `jobId`: of the job that planned it. `label`: for the audit log. */
export type OpenChange = PlannedChange & { progress: Progress | null; jobId: string | null; label: string }

/** The old values are expected before the period, old and new ones during it, and only the new ones after it. */
export type Phase = 'before' | 'during' | 'after'

export const changePhase = ({ from, to }: Pick<PlannedChange, 'from' | 'to'>, now: number): Phase =>
  now < from ? 'before' : now < to ? 'during' : 'after'

/** `none`: the server did not answer. `ttl`: seconds. */
export type ServerAnswer = {
  kind: 'name_server' | 'resolver'
  server: string
  answer: 'old' | 'new' | 'mixed' | 'other' | 'none'
  values: string[]
  ttl: number | null
}

/** The result of the last check, stored as JSON. */
export type Progress = {
  at: number
  seen: ServerAnswer[]
  /** Seconds: the longest TTL of the old records. */
  oldTtl: number | null
  /** Since when all name servers answer the new values; null while one does not. */
  movedAt: number | null
  /** When the old records expire in the last cache; null while a name server still answers them. */
  cachesUntil: number | null
}

const SECOND_MS = 1_000
/** RFC 8767 section 4: caches keep no records longer. */
const MAX_TTL = 7 * 24 * 60 * 60

/** The progress after a check. Pure. */
export function nextProgress(before: Progress | null, seen: ServerAnswer[], now: number): Progress {
  const nameServers = seen.filter(({ kind }) => kind === 'name_server')
  const resolvers = seen.filter(({ kind }) => kind === 'resolver')
  const oldTtls = seen.flatMap(({ answer, ttl }) => (isOld(answer) && ttl !== null ? [Math.min(ttl, MAX_TTL)] : []))
  const oldTtl = oldTtls.length === 0 && before === null ? null : Math.max(before?.oldTtl ?? 0, ...oldTtls)
  // With split horizon the public name servers may not have the name. Then the resolvers decide.
  const isByZone = nameServers.some(({ answer }) => answer === 'new' || isOld(answer))
  const hasMoved = isByZone ? nameServers.every(isNew) : resolvers.some(isNew)
  if (!hasMoved) return { at: now, seen, oldTtl, movedAt: null, cachesUntil: null }
  const movedAt = before?.movedAt ?? now
  const expiries = resolvers.map(({ answer, ttl }) => (isOld(answer) ? now + (ttl ?? 0) * SECOND_MS : movedAt))
  // Other caches may have the old records from the name servers. Without these, only the queried caches are known.
  const otherCachesUntil = isByZone ? movedAt + (oldTtl ?? 0) * SECOND_MS : movedAt
  return { at: now, seen, oldTtl, movedAt, cachesUntil: Math.max(otherCachesUntil, ...expiries) }
}

const isOld = (answer: ServerAnswer['answer']) => answer === 'old' || answer === 'mixed'
const isNew = ({ answer }: ServerAnswer) => answer === 'new'

/** Whether every queried server answers the new values, and no cache can have others. */
function isEverywhere({ seen, cachesUntil, movedAt }: Progress, now: number): boolean {
  if (movedAt === null || cachesUntil === null || now < cachesUntil) return false
  const isByZone = seen.some((server) => server.kind === 'name_server' && isNew(server))
  return seen.every((server) => isNew(server) || (!isByZone && server.kind === 'name_server'))
}

const UNCHANGED_INTERVAL_MS = 5 * MINUTE_MS

/**
 * When to check next, at the latest at `regular`: at both ends of the period, and every minute while the new values spread. Changes of a
 * job follow the regular interval, because thousands of them have the same period.
 */
export function nextCheckAt(
  { from, to, jobId }: Pick<OpenChange, 'from' | 'to' | 'jobId'>,
  progress: Progress | null,
  now: number,
  regular: number,
): number {
  if (jobId !== null) return regular
  if (now < from) return Math.min(regular, from)
  if (now >= to) return regular
  return Math.min(regular, to, now + (progress && isSpreading(progress, now) ? MINUTE_MS : UNCHANGED_INTERVAL_MS))
}

function isSpreading({ seen, cachesUntil }: Progress, now: number): boolean {
  return seen.some(isNew) && (cachesUntil === null || now < cachesUntil + UNCHANGED_INTERVAL_MS)
}

/** Returns undefined while the change is in progress. `isValid`: the check found the new values. */
export function changeOutcome(
  change: PlannedChange,
  progress: Progress | null,
  { isValid, now }: { isValid: boolean; now: number },
): Exclude<ChangeOutcome, 'CANCELED'> | undefined {
  switch (changePhase(change, now)) {
    case 'before':
      return undefined
    case 'during':
      return isValid && progress !== null && isEverywhere(progress, now) ? 'DONE' : undefined
    case 'after':
      return isValid ? 'DONE' : 'NOT_ARRIVED'
  }
}

const MAX_DAYS_AHEAD = 10 * 366

/** Pure. */
export function periodErrors({ from, to }: { from: number; to: number }, now: number): FieldErrors {
  const latest = now + MAX_DAYS_AHEAD * DAY_MS
  const earliest = now - MAX_PLAN_DAYS * DAY_MS
  if (from < earliest || from > latest)
    return { from: fieldError('time_out_of_range', { min: toIso(earliest), max: toIso(latest) }) }
  if (to <= now) return { to: fieldError('not_in_future') }
  if (to <= from) return { to: fieldError('not_after', { start: 'from' }) }
  if (to - from > MAX_PLAN_DAYS * DAY_MS) return { to: fieldError('window_too_long', { days: MAX_PLAN_DAYS }) }
  return {}
}
