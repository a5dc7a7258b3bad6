import { FINDING_LEVELS, type ZoneFindingCode } from '#contract/zone-codes.ts'
import type { ZoneFinding } from '#contract/zones.ts'
import { toIso, toIsoOrNull } from '../times.ts'
import { ZONE_CHECKS } from './checks.ts'
import { type Evidence, type Finding, findIgnored, type IgnoredFinding } from './findings.ts'

/** Findings as in responses, the most serious first. */
export function toFindings(
  findings: readonly Finding[],
  { ignored, lastCheckedAt, now }: { ignored: readonly IgnoredFinding[]; lastCheckedAt: number | null; now: number },
): ZoneFinding[] {
  const rank = ({ level }: Finding) => -FINDING_LEVELS.indexOf(level)
  return [...findings]
    .sort((one, other) => rank(one) - rank(other))
    .map((finding): ZoneFinding => {
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
        advice: ZONE_CHECKS[code].advice(params as never),
        since: toIso(firstSeenAt),
        confirmed: toIsoOrNull(confirmedAt),
        missing_since: toIsoOrNull(missingSince),
        evidence: [...evidence, ...(isNewer ? latest : [])].map((each) => toEvidence(code, each)),
        ignored: isIgnored ? { reason: isIgnored.reason, until: toIsoOrNull(isIgnored.until) } : null,
      }
    })
}

export const textOf = (code: ZoneFindingCode, params: object): string => ZONE_CHECKS[code].text(params as never)

const toEvidence = (code: ZoneFindingCode, { at, params }: Evidence) => ({
  seen: toIso(at),
  text: textOf(code, params),
  params: { ...params },
})
