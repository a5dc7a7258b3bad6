import type { MonitorChecks } from '#contract/checks.ts'
import { durationText, plural } from '#contract/wording.ts'

/** What the checks of a period prove, in a sentence. `format`: of an instant. Undefined before the first check is due. */
export function checksText(checks: MonitorChecks, format: (instant: string) => string): string | undefined {
  const { due, done, late, gap_count, longest_gap, tolerance_seconds } = checks
  if (due === 0) return undefined
  const since = `since ${format(checks.since)}`
  if (!longest_gap) {
    const all = plural(due, '1 check', (count) => `All ${count} checks`)
    return `${all} ${since} ${due === 1 ? 'was' : 'were'} made in time, at most ${tolerance_seconds} s late.`
  }
  const made = `${done.toLocaleString('en')} of ${plural(due, '1 check', (count) => `${count} checks`)} made ${since}`
  const lateOnes = late === 0 ? '' : `, ${late.toLocaleString('en')} of them late`
  const { until, seconds } = longest_gap
  const dates = `${format(longest_gap.since)} – ${until === null ? 'now' : format(until)}`
  const gaps = plural(gap_count, '1 gap', (count) => `${count} gaps, the longest`)
  return `${made}${lateOnes}. ${gaps}: ${dates} (${durationText(seconds * 1_000)}).`
}
