import { type MonitorRecordType, RECORD_TYPES } from '#contract/monitors.ts'
import { confirm } from '../checks/confirm.ts'
import { judge } from '../checks/judge.ts'
import { lookupFor } from '../checks/lookup.ts'
import { systemClock } from '../clock.ts'
import type { Evidence, Outcome } from '../dns/outcome.ts'
import { parseServerAddress } from '../dns/servers.ts'
import { Failure } from '../failure.ts'
import { parseExpectedValues } from '../monitors/matching/expected-values.ts'
import { matcherFor } from '../monitors/matching/matcher.ts'
import { parseMonitorName } from '../monitors/names.ts'
import { openDns } from '../outside.ts'
import { loadConfig } from './open.ts'
import { table } from './table.ts'

export type CheckOptions = { flexible?: boolean; server?: string; json?: boolean }

/** One check without server or database; prints verdict and evidence. Exit code 0 when the record is as expected, else 1. */
export async function check(name: string, type: string, expected: string[], options: CheckOptions): Promise<void> {
  const config = loadConfig()
  const recordType = RECORD_TYPES.find((each) => each === type.toUpperCase())
  if (!recordType) throw new Failure(`"${type}" is not a record type to check; use one of ${RECORD_TYPES.join(', ')}.`)
  const parsed = parseMonitorName({ full_domain: name }, recordType)
  if (!parsed.ok) throw new Failure(Object.values(parsed.problems).join('\n'))
  const { owner } = parsed.name
  const dns = openDns(options.server === undefined ? config : { ...config, dnsServers: [serverOf(options.server)] })
  try {
    const ask = lookupFor({ owner, recordType, isExactMatch: !options.flexible })
    const first = await ask(dns, {})
    const suspicion = { ask, first, recorded: null, doubts: 3 } // three doubts: let the majority decide at once
    const confirmed = await confirm(suspicion, { dns, clock: systemClock }, new AbortController().signal)
    const outcome = confirmed.kind === 'settled' ? confirmed.outcome : first.outcome
    report({
      owner,
      recordType,
      expected,
      isExactMatch: !options.flexible,
      outcome,
      evidence: confirmed.evidence,
      json: options.json === true,
    })
  } finally {
    await dns.close()
  }
}

type Report = {
  owner: string
  recordType: MonitorRecordType
  expected: string[]
  isExactMatch: boolean
  outcome: Outcome
  evidence: Evidence[]
  json: boolean
}

function report({ owner, recordType, expected, isExactMatch, outcome, evidence, json }: Report): void {
  const given = expectedValues(expected, recordType, isExactMatch, outcome)
  const verdict = judge({ owner, recordType, expectedValues: given, isExactMatch }, outcome)
  if (verdict.state !== 'VALID') process.exitCode = 1
  if (json) {
    print(JSON.stringify({ name: owner, record_type: recordType, ...verdict, evidence }))
    return
  }
  const rows = evidence.map((each) => [
    each.server,
    each.transport,
    each.rcode ?? each.outcome?.kind ?? '',
    each.flags.join(' '),
    `${Math.round(each.ms)} ms`,
    shown(each.outcome),
  ])
  print(`${verdict.state}  ${owner || '.'} ${recordType}\n${verdict.reason}\n`)
  for (const value of verdict.values ?? []) print(`  ${value}`)
  print(`\n${table(['SERVER', 'VIA', 'RCODE', 'FLAGS', 'TIME', 'ANSWER'], rows)}`)
}

/** Without an expectation whatever is found is as expected. */
function expectedValues(
  expected: string[],
  recordType: MonitorRecordType,
  isExactMatch: boolean,
  outcome: Outcome,
): string[] {
  if (expected.length === 0) return outcome.kind === 'answer' ? matcherFor(recordType).observe(outcome) : []
  const parsed = parseExpectedValues(expected, recordType, isExactMatch)
  if (!parsed.ok) throw new Failure(Object.values(parsed.problems).join('\n'))
  return parsed.values
}

function shown(outcome: Outcome | null): string {
  if (outcome === null) return 'truncated; asked again over TCP'
  if (outcome.kind === 'answer') return `${outcome.rrset.values.join(', ')}  TTL ${outcome.rrset.ttl}`
  if (outcome.kind === 'malformed' || outcome.kind === 'unreachable') return outcome.reason
  return outcome.kind.replaceAll('_', ' ')
}

function serverOf(text: string) {
  const parsed = parseServerAddress(text)
  if (!parsed.ok) throw new Failure(parsed.reason)
  return parsed.server
}

const print = (text: string): void => {
  process.stdout.write(`${text}\n`)
}
