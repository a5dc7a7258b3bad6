import type { FindingLevel, ZoneFindingCode, ZoneHealth } from '#contract/zone-codes.ts'
import { HOUR_MS, MINUTE_MS } from '../times.ts'
import { type CheckResults, ZONE_CHECKS } from './checks.ts'

/** Instants are UTC epoch milliseconds. `about`: the name of a name server; empty for the whole zone. */
export type Finding = {
  code: ZoneFindingCode
  about: string
  level: FindingLevel
  params: object
  /** What the first and the confirming look saw. */
  evidence: Evidence[]
  firstSeenAt: number
  confirmedAt: number | null
  /** The first look that did not see a confirmed finding any more. */
  missingSince: number | null
}
export type Evidence = { at: number; params: object }

/** A finding counts again at `until`. `about` null: each finding with the code. */
export type IgnoredFinding = { code: ZoneFindingCode; about: string | null; reason: string; until: number | null }

export type FindingEvent = { kind: 'began' | 'ended'; finding: Finding }

/** `findings`: all of them after the look. `lookAgainAt`: the earliest time at which another look decides something. */
export type FindingsAfter = {
  findings: Finding[]
  changed: Finding[]
  removed: Finding[]
  events: FindingEvent[]
  lookAgainAt: number | undefined
}

/** When to look again, and how far two looks must be apart to confirm each other: they share no packet, and no fault of a moment. */
const APART: Record<FindingLevel, { nextMs: number; leastMs: number }> = {
  info: { nextMs: 5 * MINUTE_MS, leastMs: 4 * MINUTE_MS },
  warning: { nextMs: 5 * MINUTE_MS, leastMs: 4 * MINUTE_MS },
  error: { nextMs: 5 * MINUTE_MS, leastMs: 4 * MINUTE_MS },
  critical: { nextMs: 50_000, leastMs: 40_000 },
}

/**
 * The findings after a look at `at`. A finding is confirmed by a second look that sees it, and ends with a second one that does not. In
 * between, every look must agree. What a look does not know changes nothing. Pure.
 */
export function nextFindings(
  before: readonly Finding[],
  { results, unknown }: CheckResults,
  at: number,
): FindingsAfter {
  const after: FindingsAfter = { findings: [], changed: [], removed: [], events: [], lookAgainAt: undefined }
  const byKey = new Map(results.map((result) => [keyOf(result), result]))
  const lookAgain = ({ level }: Finding, since: number) => {
    // It stays unknown, so the regular looks decide it.
    if (at - since >= HOUR_MS) return
    const again = Math.max(since + APART[level].nextMs, at + APART[level].nextMs / 2)
    after.lookAgainAt = Math.min(after.lookAgainAt ?? again, again)
  }
  const keep = (finding: Finding, isChanged: boolean) => {
    after.findings.push(finding)
    if (isChanged) after.changed.push(finding)
    if (finding.confirmedAt === null) lookAgain(finding, finding.firstSeenAt)
    else if (finding.missingSince !== null) lookAgain(finding, finding.missingSince)
  }
  const remove = (finding: Finding) => {
    after.removed.push(finding)
    if (finding.confirmedAt !== null) after.events.push({ kind: 'ended', finding })
  }

  for (const finding of before) {
    const result = byKey.get(keyOf(finding))
    byKey.delete(keyOf(finding))
    const isUnknown = unknown.has(finding.code) || (result !== undefined && 'isUnknown' in result)
    if (isUnknown) keep(finding, false)
    else if (result) {
      const { params } = result as { params: object }
      const seen: Finding = { ...finding, params, missingSince: null }
      const isConfirmed = finding.confirmedAt === null && isApart(finding, finding.firstSeenAt, at)
      if (isConfirmed) {
        seen.confirmedAt = at
        seen.evidence = [...finding.evidence, { at, params }]
        after.events.push({ kind: 'began', finding: seen })
      }
      keep(seen, isConfirmed || finding.missingSince !== null || !isSame(finding.params, params))
    } else if (finding.confirmedAt === null) remove(finding)
    else if (finding.missingSince === null) keep({ ...finding, missingSince: at }, true)
    else if (isApart(finding, finding.missingSince, at)) remove(finding)
    else keep(finding, false)
  }
  for (const result of byKey.values()) {
    if ('isUnknown' in result) continue
    const { code, about, params } = result
    const { level } = ZONE_CHECKS[code]
    const evidence = [{ at, params }]
    keep({ code, about, level, params, evidence, firstSeenAt: at, confirmedAt: null, missingSince: null }, true)
  }
  return after
}

const keyOf = ({ code, about }: Pick<Finding, 'code' | 'about'>) => `${code} ${about}`
const isApart = ({ level }: Finding, since: number, at: number) => at - since >= APART[level].leastMs
const isSame = (one: object, other: object) => JSON.stringify(one) === JSON.stringify(other)

export type Counts = Record<FindingLevel | 'ignored', number>
export const NO_FINDINGS: Counts = { critical: 0, error: 0, warning: 0, info: 0, ignored: 0 }

/** The confirmed findings, by level. */
export function countFindings(findings: readonly Finding[], ignored: readonly IgnoredFinding[], now: number): Counts {
  const counts = { ...NO_FINDINGS }
  for (const finding of findings) {
    if (finding.confirmedAt === null) continue
    counts[findIgnored(finding, ignored, now) ? 'ignored' : finding.level]++
  }
  return counts
}

export function findIgnored(
  { code, about }: Pick<Finding, 'code' | 'about'>,
  ignored: readonly IgnoredFinding[],
  now: number,
): IgnoredFinding | undefined {
  return ignored.find(
    (each) => each.code === code && (each.about ?? about) === about && (each.until === null || each.until > now),
  )
}

/** After a look with a result. */
export function healthOf(counts: Counts): ZoneHealth {
  const worst = (['critical', 'error', 'warning'] as const).find((level) => counts[level] > 0)
  return worst ?? 'ok'
}
