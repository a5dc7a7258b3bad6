import { shown, textOf } from '#contract/reasons.ts'
import { checkOnce } from '../checks/driver.ts'
import { type DatedEvidence, evidenceOf, newDiagnosis } from '../checks/evidence.ts'
import type { Watched } from '../checks/lookup.ts'
import { decidedText, REASONS } from '../checks/reasons.ts'
import { judge } from '../checks/verdict.ts'
import { CliError } from '../cli-error.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { openChecking } from '../deps.ts'
import type { Outcome } from '../dns/outcome.ts'
import { parseServerAddress } from '../dns/server-address.ts'
import { createLog } from '../log.ts'
import { toDiagnosis } from '../monitors/diagnosis.ts'
import type { MonitoredType } from '../monitors/record-types/record-type.ts'
import { parseExpectedValues, recordTypeOf } from '../monitors/record-types/record-types.ts'
import { fieldTexts } from '../problem.ts'
import { evidenceTable } from './evidence-table.ts'
import { loadConfig } from './load-config.ts'
import { recordNamed } from './named.ts'

/** `server`: ask this one and nothing else. */
export type CheckOptions = { flexible?: boolean; server?: string; json?: boolean }

/** One check without server or database; prints verdict and evidence. Exit code 0 when the record is as expected, else 1. */
export async function check(name: string, type: string, expected: string[], options: CheckOptions): Promise<void> {
  const watched = watchedOf(name, type, options.flexible !== true)
  const config = loadConfig()
  const expectedValues = parseExpected(expected, watched)
  const checked = await checkWith(
    watched,
    expectedValues,
    options.server === undefined ? config : onlyFrom(options.server, config),
  )
  report(watched, expectedValues, checked, options.json === true)
}

function watchedOf(name: string, type: string, isExactMatch: boolean): Watched {
  const { owner, recordType } = recordNamed(name, type)
  return { owner, recordType: recordTypeOf(recordType), isExactMatch }
}

function onlyFrom(server: string, config: Config): Config {
  const parsed = parseServerAddress(server)
  if (!parsed.ok) throw new CliError(parsed.reason)
  return { ...config, dnsServers: [parsed.server], dnsRoots: [], dnsCanaries: [] }
}

type Checked = Awaited<ReturnType<typeof checkOnce>>

async function checkWith(watched: Watched, expectedValues: string[], config: Config): Promise<Checked> {
  const checking = openChecking(config, await createLog({ logLevel: 'silent', logFormat: 'json' }))
  try {
    const deps = { ...checking, clock: systemClock }
    return await checkOnce({ ...watched, expectedValues }, deps, new AbortController().signal)
  } finally {
    await checking.closeDns()
  }
}

function report({ owner, recordType, isExactMatch }: Watched, expected: string[], checked: Checked, json: boolean) {
  const evidence = evidenceOf(checked.observations)
  if (checked.kind !== 'verdict') {
    process.exitCode = 1
    return print(noVerdict(evidence, json))
  }
  const { outcome, decided } = checked
  const expectedValues = expected.length > 0 ? expected : valuesFound(recordType, isExactMatch, outcome)
  const { state, values, reason } = judge({ owner, recordType, expectedValues, isExactMatch }, outcome)
  if (state !== 'VALID') process.exitCode = 1
  if (json) {
    const { at: _, paths: __, ...why } = toDiagnosis(JSON.stringify(newDiagnosis({ reason, decided, at: 0 }, [])))
    return print(
      JSON.stringify({ name: owner, record_type: recordType.name, state, values, ...why, evidence: dated(evidence) }),
    )
  }
  print(`${state}  ${owner || '.'} ${recordType.name}\n\n${textOf(reason)}\n${decidedText(decided)}\n`)
  if (values && values.length > 0) print(values.map((value) => `  ${value}\n`).join(''))
  print(evidenceTable(evidence))
}

function noVerdict(evidence: readonly DatedEvidence[], json: boolean): string {
  const reason = decidedText(REASONS.network)
  const confirmation = REASONS.network.map(shown)
  return json
    ? JSON.stringify({ state: null, reason, confirmation, evidence: dated(evidence) })
    : `NO VERDICT\n\n${reason}\n\n${evidenceTable(evidence)}`
}

const dated = (evidence: readonly DatedEvidence[]) =>
  evidence.map((each) => ({ ...each, at: new Date(each.at).toISOString() }))

/** Without an expectation whatever is found is as expected. */
function valuesFound({ observe, asExpected }: MonitoredType, isExactMatch: boolean, outcome: Outcome): string[] {
  if (outcome.kind !== 'answer') return []
  return observe(outcome).map((value) => asExpected?.(value, isExactMatch) ?? value)
}

function parseExpected(expected: string[], { recordType, isExactMatch }: Watched): string[] {
  if (expected.length === 0) return []
  const parsed = parseExpectedValues(expected, recordType.name, isExactMatch)
  if (!parsed.ok) throw new CliError(Object.values(fieldTexts(parsed.problems)).join('\n'))
  return parsed.values
}

const print = (text: string): void => {
  process.stdout.write(`${text}\n`)
}
