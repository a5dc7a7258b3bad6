import { isStale } from '../dns/outcome.ts'
import type { CheckOutcome, ConfirmationReason, Metrics } from '../metrics/metrics.ts'
import type { CompletedSpan } from '../metrics/tracing.ts'
import { parseStoredFingerprint } from './fingerprint.ts'
import type { CheckResult } from './run-check.ts'

/** Counts a batch of recorded checks, by outcome, so that metrics cost almost nothing per check. */
export function observeChecks(metrics: Metrics, results: readonly CheckResult[], events: number): void {
  const counts = new Map<CheckOutcome, number>()
  for (const result of results) {
    counts.set(result.kind, (counts.get(result.kind) ?? 0) + 1)
    const reason = confirmationReason(result)
    if (reason !== undefined) metrics.confirmation(reason)
  }
  for (const [outcome, count] of counts) metrics.checks(outcome, count)
  if (events > 0) metrics.events(events)
}

/** Why the first answer did not end the check. Undefined if it did, or if there was none. */
function confirmationReason(result: CheckResult): ConfirmationReason | undefined {
  if (!('observations' in result)) return undefined
  const { recorded, isRotating } = parseStoredFingerprint(result.claim.fingerprint)
  if (recorded === null) return 'first_check'
  if (result.claim.inconclusive_count > 0) return 'inconclusive'
  if (isRotating) return 'rotating'
  const first = result.observations[0]
  return first && 'reply' in first && isStale(first.reply) ? 'stale' : 'changed'
}

export function checkSpan(result: CheckResult, startedAt: number): CompletedSpan {
  const { claim, at } = result
  const queries = 'observations' in result ? result.observations.length : 1
  const attributes = {
    'zonewatch.monitor_id': claim.monitor_id,
    'zonewatch.record_type': claim.record_type,
    'zonewatch.outcome': result.kind,
    'zonewatch.late_ms': Math.max(0, startedAt - claim.was_due_at),
    'zonewatch.queries': queries,
  }
  return { name: 'check', kind: 'internal', startedAt, endedAt: at, attributes }
}
