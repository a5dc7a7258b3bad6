import type { ValueDifference } from '#contract/dashboard.ts'
import type { Diagnosis, DiagnosisPath } from '#contract/diagnosis.ts'
import type { MonitorResponse } from '#contract/monitors.ts'
import { RECORD_TYPE_TEXTS } from '#contract/record-types.ts'
import { recordName } from '#contract/wording.ts'

/** What to do. `steps` are sentences in order, `add` and `remove` records in the form that DNS providers use. */
export type Advice = { title: string; steps: string[]; add: string[]; remove: string[] }

type MonitorFacts = Pick<
  MonitorResponse,
  'state' | 'record_type' | 'domain' | 'subdomain' | 'expected_value' | 'current_value' | 'is_active' | 'is_exact_match'
>

/** Instructions for the owner of the zone. Pure. */
export function adviceFor(
  monitor: MonitorFacts,
  difference: ValueDifference,
  diagnosis: Diagnosis | undefined,
): Advice {
  const paths = diagnosis?.paths ?? []
  const location = locateRecord(monitor, paths)
  const type = recordText(monitor)
  switch (monitor.state) {
    case 'UNSET':
      return monitor.is_active
        ? advice('First check in progress', 'The result appears here as soon as the check ends.')
        : advice('Enable the monitor', 'Zonewatch does not check disabled monitors. Enable it to run a check now.')
    case 'VALID':
      return advice('No action needed', `The ${type} is as expected.`)
    case 'MISMATCH':
      return mismatch(monitor, difference, location)
    case 'NOT_FOUND':
      return { ...notFound(monitor, location), add: monitor.expected_value }
    case 'NO_DATA':
      return { ...noData(monitor, location), add: monitor.expected_value }
    case 'TIMEOUT':
      return timeout(paths, location)
    case 'INVALID':
      return invalid(paths, location)
    case 'BAD_SETUP':
      return badSetup(monitor, paths, location)
  }
}

const advice = (title: string, ...steps: string[]): Advice => ({ title, steps, add: [], remove: [] })

function mismatch(monitor: MonitorFacts, { missing, extra }: ValueDifference, location: RecordLocation): Advice {
  // In flexible mode nothing is extra. If a name can have only one record, the wrong one is replaced all the same.
  const { isSingle } = RECORD_TYPE_TEXTS[monitor.record_type]
  const remove = extra.length === 0 && isSingle ? (monitor.current_value ?? []) : extra
  const parts = [
    missing.length > 0 && remove.length > 0 ? 'Replace the records' : undefined,
    missing.length > 0 && remove.length === 0 ? 'Add the missing records' : undefined,
    missing.length === 0 && remove.length > 0 ? 'Remove the unexpected records' : undefined,
  ]
  const records = recordText(monitor, Math.max(missing.length, remove.length))
  return {
    title: parts.find((part) => part !== undefined) ?? 'Compare the records',
    steps: location.alias
      ? [
          `The records are at the end of the CNAME chain ${chainText(location)}.`,
          `Change the ${records} of ${location.owner}, or point the CNAME of ${location.alias} to another name.`,
        ]
      : [`Change the ${records} of ${location.owner} ${providerText(monitor)}.`],
    add: missing,
    remove,
  }
}

function notFound(monitor: MonitorFacts, location: RecordLocation): Advice {
  if (location.alias)
    return brokenAlias(monitor, location, `The CNAME chain ${chainText(location)} ends at a name that does not exist.`)
  if (monitor.subdomain === '' && monitor.record_type !== 'PTR') {
    return advice(
      'Restore the domain',
      `The domain ${monitor.domain} does not exist. Check at your registrar that it is registered, has not expired and has name servers.`,
    )
  }
  if (monitor.record_type === 'PTR')
    return advice('Create the name', `Create ${recordName(monitor)} ${providerText(monitor)}.`)
  return advice(
    'Create the name',
    `Create ${recordName(monitor)} ${providerText(monitor)} with the ${recordText(monitor, monitor.expected_value.length)} below.`,
    `If all of ${monitor.domain} is missing, check at your registrar whether the domain has expired.`,
  )
}

function noData(monitor: MonitorFacts, location: RecordLocation): Advice {
  if (location.alias) {
    const sentence = `The CNAME chain ${chainText(location)} ends at a name without ${recordText(monitor)}.`
    return brokenAlias(monitor, location, sentence)
  }
  return advice(
    'Add the record',
    `${location.owner} exists. Add the ${recordText(monitor, monitor.expected_value.length)} below ${providerText(monitor)}.`,
  )
}

function brokenAlias(monitor: MonitorFacts, location: RecordLocation, sentence: string): Advice {
  return advice(
    'Fix the CNAME or its target',
    sentence,
    `Point the CNAME of ${location.alias} to a name that exists, or create the ${recordText(monitor, monitor.expected_value.length)} at ${location.owner}.`,
  )
}

function timeout(paths: readonly DiagnosisPath[], { zone }: RecordLocation): Advice {
  // Recursive resolvers time out as a consequence, so they are not listed.
  const silent = serverNames(
    paths,
    ({ path, outcome }) => path === 'authoritative' && (outcome?.kind === 'timeout' || outcome?.kind === 'unreachable'),
  )
  return advice(
    'Restore the name servers',
    silent.length > 0
      ? `Check that these name servers run and can be reached on port 53 over UDP and TCP: ${listText(silent)}.`
      : `Check that the name servers of ${zone} run and can be reached on port 53 over UDP and TCP.`,
    'If you use a DNS provider, check its status page.',
  )
}

function invalid(paths: readonly DiagnosisPath[], { owner, zone }: RecordLocation): Advice {
  const failures = paths.flatMap(({ outcome }) => (outcome?.kind === 'failure' ? [outcome] : []))
  if (failures.some(({ bogus }) => bogus)) {
    return advice(
      'Fix DNSSEC',
      `DNSSEC validation of ${zone} fails. Validating resolvers answer SERVFAIL, so most users cannot resolve the name.`,
      'Compare the DS record at your registrar with the DNSKEY record of the zone. Sign the zone again or remove the DS record.',
    )
  }
  if (failures.some(({ rcode }) => rcode === 'REFUSED')) {
    return advice(
      'Correct the name servers',
      `The name servers refuse queries for ${zone}. Usually the zone is no longer configured there.`,
      'Compare the name servers at your registrar with the ones your DNS provider lists.',
    )
  }
  if (failures.some(({ rcode }) => rcode === 'SERVFAIL')) {
    return advice(
      'Check the zone',
      `A name server fails to answer for ${zone}. Check at your DNS provider that the zone loads without errors and that all its name servers run.`,
      'If you changed your provider or DNSSEC, compare the name servers and the DS record at your registrar.',
    )
  }
  return advice(
    'Contact your DNS provider',
    `The answers for ${owner} are malformed. Send your provider the evidence below.`,
  )
}

function badSetup(monitor: MonitorFacts, paths: readonly DiagnosisPath[], location: RecordLocation): Advice {
  const lame = paths.flatMap(({ outcome }) => (outcome?.kind === 'lame' ? [outcome] : []))
  if (lame.length > 0) {
    return advice(
      'Correct the name servers',
      `None of the name servers that ${lame.at(-1)?.zone ?? location.zone} is delegated to serves the zone.`,
      'Set up the zone there, or enter the name servers of your DNS provider at your registrar.',
    )
  }
  const records = spfRecords(paths)
  if (monitor.record_type === 'SPF' && records.length > 1) {
    return {
      title: 'Keep one SPF record',
      steps: [
        ...(location.alias ? [`The records are at the end of the CNAME chain ${chainText(location)}.`] : []),
        `Mail servers treat more than one SPF record as an error. Combine the mechanisms in one record of ${location.owner} and remove the others.`,
      ],
      add: [],
      remove: records.filter((record) => !monitor.expected_value.includes(record)),
    }
  }
  return advice(
    'Break the CNAME loop',
    location.alias
      ? `The CNAME chain of ${recordName(monitor)} is a loop: ${location.alias} points to ${location.owner}. Point it to a name that has records.`
      : `The CNAME chain of ${recordName(monitor)} is a loop. Find it in the evidence below and point one CNAME to a name that has records.`,
  )
}

function spfRecords(paths: readonly DiagnosisPath[]): string[] {
  const texts = paths.flatMap(({ outcome }) => (outcome?.kind === 'answer' ? outcome.rrset.values : []))
  return [...new Set(texts)].filter((text) => /^v=spf1(\s|$)/i.test(text))
}

/**
 * Where the record is, after the CNAME chain in the evidence. `owner` has the record, `alias` is the name whose CNAME points to
 * it (undefined without a CNAME chain), `zone` is the delegated zone.
 */
type RecordLocation = { owner: string; alias: string | undefined; names: string[]; zone: string }

function locateRecord(monitor: MonitorFacts, paths: readonly DiagnosisPath[]): RecordLocation {
  const name = recordName(monitor)
  // Later paths win: they decided the verdict.
  const targets = new Map(
    paths.flatMap(({ outcome }) =>
      outcome && 'chain' in outcome ? outcome.chain.map((link) => [link.name, link.target || '.'] as const) : [],
    ),
  )
  const names = [name]
  // A monitor of a CNAME record is about the record of the name itself.
  for (let next = monitor.record_type === 'CNAME' ? undefined : targets.get(name); next; next = targets.get(next)) {
    const isLoop = names.includes(next)
    names.push(next)
    if (isLoop) break
  }
  const owner = names.at(-1)!
  return { owner, alias: names.at(-2), names, zone: names.length > 1 ? owner : monitor.domain }
}

function chainText({ names }: RecordLocation): string {
  const shown = names.length > 5 ? [...names.slice(0, 3), '…', names.at(-1)] : names
  return shown.join(' → ')
}

function serverNames(paths: readonly DiagnosisPath[], matches: (path: DiagnosisPath) => boolean): string[] {
  return [...new Set(paths.filter(matches).map(({ name, server }) => name ?? server))]
}

function listText(names: readonly string[]): string {
  const shown = names.slice(0, 4)
  if (names.length > shown.length) return `${shown.join(', ')} and ${names.length - shown.length} more`
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`
}

/** Where the record is changed. */
function providerText({ record_type }: Pick<MonitorFacts, 'record_type'>): string {
  return RECORD_TYPE_TEXTS[record_type].place ?? 'at your DNS provider'
}

const recordText = ({ record_type }: Pick<MonitorFacts, 'record_type'>, count = 1): string =>
  `${RECORD_TYPE_TEXTS[record_type].name ?? record_type} record${count === 1 ? '' : 's'}`
