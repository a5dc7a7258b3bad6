import { adviceFor } from '#contract/advice.ts'
import { shown, textOf, type VerdictReason } from '#contract/reasons.ts'
import { visible } from '#contract/visible-text.ts'
import { shownWarning, type Warning } from '#contract/warnings.ts'
import { evidenceOf, newDiagnosis, type TimestampedExchange } from '../checks/evidence.ts'
import type { MonitoredName } from '../checks/monitor-query.ts'
import { CONFIRMATIONS, confirmationText } from '../checks/reasons.ts'
import { checkOnce } from '../checks/run-check.ts'
import { evaluate } from '../checks/verdict.ts'
import { CliError } from '../cli-error.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { openDns } from '../deps.ts'
import type { Outcome } from '../dns/outcome.ts'
import { parseServerAddress } from '../dns/server-address.ts'
import { createLog } from '../log.ts'
import { diagnosisResponse } from '../monitors/diagnosis.ts'
import { fieldTexts } from '../problem.ts'
import type { MonitoredType } from '../record-types/record-type.ts'
import { parseExpectedValues, recordTypeOf } from '../record-types/record-types.ts'
import { parseRecord, print, printJson } from './arguments.ts'
import { evidenceTable } from './evidence-table.ts'
import { loadConfig } from './load-config.ts'

/** `server`: the only server to query. */
export type CheckOptions = { flexible?: boolean; server?: string; json?: boolean }

/** Runs one check without a database, and prints the verdict and the evidence. Exit code 0 if the record is as expected, else 1. */
export async function check(name: string, type: string, expected: string[], options: CheckOptions): Promise<void> {
  const watched = parseWatched(name, type, options.flexible !== true)
  const settings = loadConfig()
  const expectedValues = parseExpected(expected, watched)
  const config = options.server === undefined ? settings : withServer(options.server, settings)
  const result = await runCheck(watched, expectedValues, config)
  report(watched, expectedValues, result, options.json === true)
}

function parseWatched(name: string, type: string, isExactMatch: boolean): MonitoredName {
  const { owner, recordType } = parseRecord(name, type)
  return { owner, recordType: recordTypeOf(recordType), isExactMatch }
}

function withServer(server: string, config: Config): Config {
  const parsed = parseServerAddress(server)
  if (!parsed.ok) throw new CliError(parsed.reason)
  return { ...config, dnsServers: [parsed.server], dnsRoots: [], dnsCanaries: [] }
}

type CheckResult = Awaited<ReturnType<typeof checkOnce>>

async function runCheck(watched: MonitoredName, expectedValues: string[], config: Config): Promise<CheckResult> {
  const dnsDeps = openDns(config, await createLog({ logLevel: 'silent', logFormat: 'json' }))
  try {
    const monitor = { ...watched, expectedValues }
    return await checkOnce(monitor, { ...dnsDeps, clock: systemClock }, new AbortController().signal)
  } finally {
    await dnsDeps.closeDns()
  }
}

function report(
  { owner, recordType, isExactMatch }: MonitoredName,
  expected: string[],
  result: CheckResult,
  json: boolean,
) {
  const evidence = evidenceOf(result.observations)
  if (result.kind !== 'verdict') {
    process.exitCode = 1
    return noVerdict(evidence, json)
  }
  const { outcome, confirmation, warnings = [] } = result
  const expectedValues = expected.length > 0 ? expected : observedValues(recordType, isExactMatch, outcome)
  const { state, values, reason } = evaluate({ owner, recordType, expectedValues, isExactMatch }, outcome)
  if (state !== 'VALID') process.exitCode = 1
  if (json) {
    const {
      at: _,
      paths: __,
      ...reasons
    } = diagnosisResponse(newDiagnosis({ reason, confirmation, at: 0, warnings }, []))
    const record = { name: owner, record_type: recordType.name }
    return printJson({ ...record, state, values, ...reasons, evidence: withIsoTimes(evidence) })
  }
  print(
    `${state}  ${owner || '.'} ${recordType.name}\n\n${textOf(reason)}\n${confirmationText(confirmation)}\n${adviceText(reason, warnings)}${warningsText(warnings)}`,
  )
  if (values && values.length > 0) print(values.map((value) => `  ${visible(value)}\n`).join(''))
  print(evidenceTable(evidence))
}

const warningsText = (warnings: readonly Warning[]) =>
  warnings.map((warning) => `Warning: ${shownWarning(warning).text}\n`).join('')

function adviceText(reason: VerdictReason, warnings: readonly Warning[]): string {
  const advice = adviceFor(reason, warnings)
  return advice === null ? '' : `What to do: ${advice.text}\n`
}

function noVerdict(evidence: readonly TimestampedExchange[], json: boolean): void {
  const reason = confirmationText(CONFIRMATIONS.ownNetworkDown)
  const confirmation = CONFIRMATIONS.ownNetworkDown.map(shown)
  if (json) printJson({ state: null, reason, confirmation, evidence: withIsoTimes(evidence) })
  else print(`NO VERDICT\n\n${reason}\n\n${evidenceTable(evidence)}`)
}

const withIsoTimes = (evidence: readonly TimestampedExchange[]) =>
  evidence.map((query) => ({ ...query, at: new Date(query.at).toISOString() }))

/** Without expected values, any answer is as expected. */
function observedValues({ observe, asExpected }: MonitoredType, isExactMatch: boolean, outcome: Outcome): string[] {
  if (outcome.kind !== 'answer') return []
  return observe(outcome).map((value) => asExpected?.(value, isExactMatch) ?? value)
}

function parseExpected(expected: string[], { recordType, isExactMatch }: MonitoredName): string[] {
  if (expected.length === 0) return []
  const parsed = parseExpectedValues(expected, recordType.name, isExactMatch)
  if (!parsed.ok) throw new CliError(Object.values(fieldTexts(parsed.errors)).join('\n'))
  return parsed.values
}
