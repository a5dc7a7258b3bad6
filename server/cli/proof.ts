import type { ChecksQuery, MonitorChecks, OrganizationChecks } from '#contract/checks.ts'
import { CliError } from '../cli-error.ts'
import { systemClock } from '../clock.ts'
import { operatorContext } from '../context.ts'
import { getMonitorProof, getOrganizationProof, proofPeriod } from '../monitors/check-proof.ts'
import {
  getMonitorId,
  getOrganizationBySlug,
  parseRecord,
  print,
  printJson,
  throwProblemText,
  timeText,
} from './arguments.ts'
import { withDatabase } from './prepare-database.ts'
import { table } from './table.ts'

type ProofOptions = ChecksQuery & { organization?: string; json?: boolean }

/** Prints which checks of a record, or of all monitors, were made in a period. The exit code is 1 if one was not made. */
export async function printProof(
  name: string | undefined,
  type: string | undefined,
  { organization, json, ...query }: ProofOptions,
): Promise<void> {
  if (name !== undefined && type === undefined)
    throw new CliError(`Add the type of the record, such as: zonewatch proof ${name} A`)
  const record = name === undefined ? undefined : parseRecord(name, type!)
  await withDatabase(async (db) => {
    const context = operatorContext((await getOrganizationBySlug(db, organization)).id, systemClock.now())
    const read = async (): Promise<MonitorChecks | OrganizationChecks> => {
      const period = proofPeriod(query, context.now)
      if (!record) return await getOrganizationProof(db, context, period, new AbortController().signal)
      const id = await getMonitorId(db, context, record, 'Use GET /monitors/{id}/checks.')
      return await getMonitorProof(db, context, id, period)
    }
    const proof = await read().catch(throwProblemText)
    if (proof.done < proof.due) process.exitCode = 1
    if (json) return printJson(proof)
    printText(proof, record ? `${record.owner} ${record.recordType}` : undefined)
  })
}

function printText(proof: MonitorChecks | OrganizationChecks, record: string | undefined): void {
  const { since, until, due, done, late, missed, withheld, longest_gap: longest, gaps, gap_count } = proof
  const what = 'monitors' in proof ? `${proof.monitors} monitors` : record
  print(`Checks of ${what} from ${timeText(since)} to ${timeText(until)} (UTC)`)
  print(table(['DUE', 'DONE', 'LATE', 'MISSED', 'WITHHELD'], [[due, done, late, missed, withheld].map(String)]))
  if (longest === null) {
    print('Every check was made in time.')
    return
  }
  const shown = gap_count > gaps.length ? `The newest ${gaps.length} of ${gap_count} gaps:` : 'All gaps:'
  print(`The longest gap lasted ${longest.seconds} s. ${shown}`)
  const headings = ['MONITOR', 'FROM (UTC)', 'TO (UTC)', 'SECONDS', 'MISSED', 'WITHHELD']
  const rows = gaps.map((gap) => [
    ...('monitor_id' in gap ? [gap.monitor_id] : []),
    timeText(gap.since),
    gap.until === null ? '-' : timeText(gap.until),
    ...[gap.seconds, gap.missed, gap.withheld].map(String),
  ])
  print(table(headings.slice(record === undefined ? 0 : 1), rows))
}
