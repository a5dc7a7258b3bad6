import type { MonitorRecordType } from '#contract/record-types.ts'
import { evidenceOf } from '#server/checks/evidence.ts'
import { checkOnce } from '#server/checks/run-check.ts'
import { evaluate, type Verdict } from '#server/checks/verdict.ts'
import { systemClock } from '#server/clock.ts'
import { createDnsClient } from '#server/dns/client.ts'
import type { Exchange, Outcome } from '#server/dns/outcome.ts'
import { parseMonitor } from '#server/monitors/parse-monitor.ts'
import { RDATA_FORMATS, recordTypeOf } from '#server/record-types/record-types.ts'
import type { Server } from './servers/server.ts'

/** The name, type and expected values of a monitor, as a user writes them. */
export type MonitorInput = { name: string; type: MonitorRecordType; expected: string | string[]; flexible?: boolean }

export type CheckResult = { verdict: Verdict; outcome: Outcome; evidence: Exchange[] }

/** Runs the first check of a new monitor against these recursive or authoritative servers. */
export async function check(
  { name, type, expected, flexible = false }: MonitorInput,
  servers: readonly Server[],
  { timeoutMs = 2_000 } = {},
): Promise<CheckResult> {
  const parsed = parseMonitor({
    full_domain: name,
    record_type: type,
    expected_value: expected,
    is_exact_match: !flexible,
  })
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors))
  const monitor = { ...parsed.draft, recordType: recordTypeOf(parsed.draft.recordType) }
  const dns = createDnsClient({
    formats: RDATA_FORMATS,
    servers: servers.map(({ address }) => address),
    clock: systemClock,
    timeoutMs,
  })
  const { signal } = new AbortController()
  try {
    const result = await checkOnce(monitor, { dns, clock: systemClock }, signal)
    const evidence = evidenceOf(result.observations)
    if (result.kind !== 'verdict') throw new Error(`No verdict: ${JSON.stringify(evidence)}`)
    return { verdict: evaluate(monitor, result.outcome), outcome: result.outcome, evidence }
  } finally {
    await dns.close()
  }
}
