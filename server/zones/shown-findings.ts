import type { Selectable } from 'kysely'
import type { ZoneFindingCode } from '#contract/zone-codes.ts'
import type { ZoneEvent, ZoneFinding } from '#contract/zones.ts'
import type { ZoneEventsTable } from '../database/schema-zones.ts'
import { toIso, toIsoOrNull } from '../times.ts'
import { ZONE_CHECKS } from './checks.ts'
import { type Evidence, type Finding, findIgnored, type IgnoredFinding } from './findings.ts'

/** A finding as in responses. */
export function toShownFinding(
  finding: Finding,
  { ignored, lastCheckedAt, now }: { ignored: readonly IgnoredFinding[]; lastCheckedAt: number | null; now: number },
): ZoneFinding {
  const { code, about, level, params, evidence, firstSeenAt, confirmedAt, missingSince } = finding
  const isIgnored = findIgnored(finding, ignored, now)
  const latest = missingSince === null && lastCheckedAt !== null ? [{ at: lastCheckedAt, params }] : []
  const isNewer = latest.some(({ at }) => evidence.every((each) => each.at < at))
  return {
    code,
    about,
    level,
    params: { ...params },
    text: textOf(code, params),
    advice: adviceOf(code, params),
    since: toIso(firstSeenAt),
    confirmed: toIsoOrNull(confirmedAt),
    missing_since: toIsoOrNull(missingSince),
    evidence: [...evidence, ...(isNewer ? latest : [])].map((each) => toEvidence(code, each)),
    ignored: isIgnored ? { reason: isIgnored.reason, until: toIsoOrNull(isIgnored.until) } : null,
  }
}

export const textOf = (code: ZoneFindingCode, params: object): string => ZONE_CHECKS[code].text(params as never)

export const adviceOf = (code: ZoneFindingCode, params: object): string => ZONE_CHECKS[code].advice(params as never)

const toEvidence = (code: ZoneFindingCode, { at, params }: Evidence) => ({
  seen: toIso(at),
  text: textOf(code, params),
  params: { ...params },
})

export function toEvent({
  id,
  zone_id,
  occurred_at,
  kind,
  code,
  about,
  level,
  params,
}: Selectable<ZoneEventsTable>): ZoneEvent {
  const parsed = JSON.parse(params)
  return {
    id,
    zone_id,
    occurred: toIso(occurred_at),
    kind,
    code,
    about,
    level,
    params: parsed,
    text: textOf(code, parsed),
  }
}
