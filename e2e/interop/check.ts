import type { MonitorRecordType } from '#contract/record-types.ts'
import { checkOnce } from '#server/checks/driver.ts'
import { evidenceOf } from '#server/checks/evidence.ts'
import { evaluate, type Verdict } from '#server/checks/verdict.ts'
import { systemClock } from '#server/clock.ts'
import { createDnsClient } from '#server/dns/client.ts'
import type { Evidence, Outcome } from '#server/dns/outcome.ts'
import { parseMonitor } from '#server/monitors/parse-monitor.ts'
import { RDATA_FORMATS, recordTypeOf } from '#server/monitors/record-types/record-types.ts'
import type { Server } from './servers/server.ts'

/** A monitor in short: what is watched and what is expected, both as a person writes them. */
export type Watched = { name: string; type: MonitorRecordType; expected: string | string[]; flexible?: boolean }

export type Checked = { verdict: Verdict; outcome: Outcome; evidence: Evidence[] }

/** One first check of a new monitor, as the product does it, on the given recursive or authoritative servers. */
export async function check(
  { name, type, expected, flexible = false }: Watched,
  servers: readonly Server[],
  { timeoutMs = 2_000 } = {},
): Promise<Checked> {
  const monitor = parseMonitor({
    full_domain: name,
    record_type: type,
    expected_value: expected,
    is_exact_match: !flexible,
  })
  if (!monitor.ok) throw new Error(JSON.stringify(monitor.errors))
  const watched = { ...monitor.draft, recordType: recordTypeOf(monitor.draft.recordType) }
  const dns = createDnsClient({
    formats: RDATA_FORMATS,
    servers: servers.map(({ address }) => address),
    clock: systemClock,
    timeoutMs,
  })
  const { signal } = new AbortController()
  try {
    const found = await checkOnce(watched, { dns, clock: systemClock }, signal)
    const evidence = evidenceOf(found.observations)
    if (found.kind !== 'verdict') throw new Error(`No verdict: ${JSON.stringify(evidence)}`)
    return { verdict: evaluate(watched, found.outcome), outcome: found.outcome, evidence }
  } finally {
    await dns.close()
  }
}
