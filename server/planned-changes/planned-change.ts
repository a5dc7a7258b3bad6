import type { ChangeOutcome } from '../database/schema-alerts.ts'

/** A record that moves from the old values to the new ones within a period. Times are UTC epoch milliseconds. */
export type PlannedChange = {
  id: string
  oldValues: readonly string[]
  newValues: readonly string[]
  from: number
  to: number
}

/** One that is not closed. `progress`: what the check before saw. `label`: in the audit log. */
export type OpenChange = PlannedChange & { progress: Progress | null; label: string }

/** Before the period the old values are expected, within it both, and from its end on the new ones. */
export type Phase = 'before' | 'during' | 'after'

export const phaseOf = ({ from, to }: Pick<PlannedChange, 'from' | 'to'>, now: number): Phase =>
  now < from ? 'before' : now < to ? 'during' : 'after'

/** What one server answers. `none`: it gave no answer. `ttl`: seconds. */
export type Seen = {
  kind: 'name_server' | 'resolver'
  server: string
  answer: 'old' | 'new' | 'mixed' | 'other' | 'none'
  values: string[]
  ttl: number | null
}

/** What the last check saw. `oldTtl`: seconds, the longest of the old records. `movedAt`: since when every name server has answered the new values. */
export type Progress = {
  at: number
  seen: Seen[]
  oldTtl: number | null
  movedAt: number | null
  /** When the last cache must have let go of the old records; null while a name server still gives them. */
  cachesUntil: number | null
}

const SECOND_MS = 1_000
/** RFC 8767 section 4: no cache keeps records for longer than this. */
const LONGEST_TTL = 7 * 24 * 60 * 60

/** The progress with what a check saw. Pure. */
export function nextProgress(before: Progress | null, seen: Seen[], now: number): Progress {
  const servers = seen.filter(({ kind }) => kind === 'name_server')
  const resolvers = seen.filter(({ kind }) => kind === 'resolver')
  const oldTtls = seen.flatMap(({ answer, ttl }) => (isOld(answer) && ttl !== null ? [Math.min(ttl, LONGEST_TTL)] : []))
  const oldTtl = oldTtls.length === 0 && before === null ? null : Math.max(before?.oldTtl ?? 0, ...oldTtls)
  // Name servers that know nothing of the name are those of another view: there the resolvers decide.
  const isByZone = servers.some(({ answer }) => answer === 'new' || isOld(answer))
  const hasMoved = isByZone ? servers.every(({ answer }) => answer === 'new') : resolvers.some(isNew)
  if (!hasMoved) return { at: now, seen, oldTtl, movedAt: null, cachesUntil: null }
  const movedAt = before?.movedAt ?? now
  const cached = resolvers.map(({ answer, ttl }) => (isOld(answer) ? now + (ttl ?? 0) * SECOND_MS : movedAt))
  // Where no name server was seen, the caches that were are all that is known.
  const everywhere = isByZone ? movedAt + (oldTtl ?? 0) * SECOND_MS : movedAt
  return { at: now, seen, oldTtl, movedAt, cachesUntil: Math.max(everywhere, ...cached) }
}

const isOld = (answer: Seen['answer']) => answer === 'old' || answer === 'mixed'
const isNew = ({ answer }: Seen) => answer === 'new'

/** Whether every server that was asked answers the new values, and no cache can hold others. */
function isEverywhere({ seen, cachesUntil, movedAt }: Progress, now: number): boolean {
  if (movedAt === null || cachesUntil === null || now < cachesUntil) return false
  const isByZone = seen.some(({ kind, answer }) => kind === 'name_server' && answer === 'new')
  return seen.every((one) => isNew(one) || (!isByZone && one.kind === 'name_server'))
}

const MINUTE_MS = 60_000
const CALM_MS = 5 * MINUTE_MS

/** When to check next, `regular` at the latest: at each end of the period, and more often while the new values spread. */
export function nextCheckAt(change: PlannedChange, progress: Progress | null, now: number, regular: number): number {
  const { from, to } = change
  if (now < from) return Math.min(regular, from)
  if (now >= to) return regular
  return Math.min(regular, to, now + (progress && isSpreading(progress, now) ? MINUTE_MS : CALM_MS))
}

function isSpreading({ seen, cachesUntil }: Progress, now: number): boolean {
  return seen.some(isNew) && (cachesUntil === null || now < cachesUntil + CALM_MS)
}

/** How a change ends that is over, or everywhere; undefined while it goes on. `isValid`: the check found the new values. */
export function endOf(
  change: PlannedChange,
  progress: Progress | null,
  { isValid, now }: { isValid: boolean; now: number },
): Exclude<ChangeOutcome, 'CANCELED'> | undefined {
  switch (phaseOf(change, now)) {
    case 'before':
      return undefined
    case 'during':
      return isValid && progress !== null && isEverywhere(progress, now) ? 'DONE' : undefined
    case 'after':
      return isValid ? 'DONE' : 'NOT_ARRIVED'
  }
}
