import { FINDING_LEVELS } from '#contract/zone-codes.ts'
import type { ZoneProblem } from '../alerts/zone-message.ts'
import { ZONE_CHECKS } from './checks.ts'
import { type Finding, findIgnored, type IgnoredFinding } from './findings.ts'

/** Kept for messages, which name the first. */
const MAX_PROBLEMS = 20

/** The findings that make the health of a zone, the most serious first. */
export function problemsOf(
  findings: readonly Finding[],
  ignored: readonly IgnoredFinding[],
  now: number,
): ZoneProblem[] {
  const rank = ({ level }: Finding) => -FINDING_LEVELS.indexOf(level)
  return findings
    .filter(
      (finding) => finding.confirmedAt !== null && finding.level !== 'info' && !findIgnored(finding, ignored, now),
    )
    .toSorted((one, other) => rank(one) - rank(other) || one.firstSeenAt - other.firstSeenAt)
    .slice(0, MAX_PROBLEMS)
    .map(({ code, about, level, params, firstSeenAt }) => ({
      ...{ code, about, level, since: firstSeenAt, text: ZONE_CHECKS[code].text(params as never) },
      advice: ZONE_CHECKS[code].advice(params as never),
      ...('parent' in params && typeof params.parent === 'string' && { parent: params.parent }),
    }))
}
