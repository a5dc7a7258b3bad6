import type { ValueDifference } from '#contract/dashboard.ts'
import type { Diagnosis, DiagnosisPath } from '#contract/diagnosis.ts'
import type { MonitorResponse } from '#contract/monitors.ts'
import { RECORD_TYPE_TEXTS } from '#contract/record-types.ts'
import { nameOf } from '../events/event-change.tsx'

/** What to do now. `steps`: sentences, the first thing first. `add` and `remove`: records as they are written at a provider. */
export type Advice = { title: string; steps: string[]; add: string[]; remove: string[] }

type Watched = Pick<
  MonitorResponse,
  'state' | 'record_type' | 'domain' | 'subdomain' | 'expected_value' | 'current_value' | 'is_active' | 'is_exact_match'
>

/** In plain words, for anyone who looks after the zone. Pure. */
export function adviceFor(monitor: Watched, difference: ValueDifference, diagnosis: Diagnosis | undefined): Advice {
  const paths = diagnosis?.paths ?? []
  const at = placedAt(monitor, paths)
  const type = recordWord(monitor)
  switch (monitor.state) {
    case 'UNSET':
      return monitor.is_active
        ? advice('First check in progress', 'The result appears here as soon as the check ends.')
        : advice('Enable the monitor', 'Zonewatch does not check disabled monitors. Enable it to run a check now.')
    case 'VALID':
      return advice('No action needed', `The ${type} is as expected.`)
    case 'MISMATCH':
      return mismatch(monitor, difference, at)
    case 'NOT_FOUND':
      return { ...notFound(monitor, at), add: monitor.expected_value }
    case 'NO_DATA':
      return { ...noData(monitor, at), add: monitor.expected_value }
    case 'TIMEOUT':
      return timeout(paths, at)
    case 'INVALID':
      return invalid(paths, at)
    case 'BAD_SETUP':
      return badSetup(monitor, paths, at)
  }
}

const advice = (title: string, ...steps: string[]): Advice => ({ title, steps, add: [], remove: [] })

function mismatch(monitor: Watched, { missing, extra }: ValueDifference, at: IndexedRow): Advice {
  // In flexible mode nothing is extra; where a name can have one record only, the wrong one has to make room all the same.
  const { isSingle } = RECORD_TYPE_TEXTS[monitor.record_type]
  const remove = extra.length === 0 && isSingle ? (monitor.current_value ?? []) : extra
  const parts = [
    missing.length > 0 && remove.length > 0 ? 'Replace the records' : undefined,
    missing.length > 0 && remove.length === 0 ? 'Add the missing records' : undefined,
    missing.length === 0 && remove.length > 0 ? 'Remove the unexpected records' : undefined,
  ]
  const records = recordWord(monitor, Math.max(missing.length, remove.length))
  return {
    title: parts.find((part) => part !== undefined) ?? 'Compare the records',
    steps: at.alias
      ? [
          `The records are at the end of the CNAME chain ${chainOf(at)}.`,
          `Change the ${records} of ${at.owner}, or point the CNAME of ${at.alias} to another name.`,
        ]
      : [`Change the ${records} of ${at.owner} ${placeOf(monitor)}.`],
    add: missing,
    remove,
  }
}

function notFound(monitor: Watched, at: IndexedRow): Advice {
  if (at.alias) return brokenAlias(monitor, at, `The CNAME chain ${chainOf(at)} ends at a name that does not exist.`)
  if (monitor.subdomain === '' && monitor.record_type !== 'PTR') {
    return advice(
      'Restore the domain',
      `The domain ${monitor.domain} does not exist. Check at your registrar that it is registered, has not expired and has name servers.`,
    )
  }
  if (monitor.record_type === 'PTR') return advice('Create the name', `Create ${nameOf(monitor)} ${placeOf(monitor)}.`)
  return advice(
    'Create the name',
    `Create ${nameOf(monitor)} ${placeOf(monitor)} with the ${recordWord(monitor, monitor.expected_value.length)} below.`,
    `If all of ${monitor.domain} is missing, check at your registrar whether the domain has expired.`,
  )
}

function noData(monitor: Watched, at: IndexedRow): Advice {
  if (at.alias) {
    const sentence = `The CNAME chain ${chainOf(at)} ends at a name without ${recordWord(monitor)}.`
    return brokenAlias(monitor, at, sentence)
  }
  return advice(
    'Add the record',
    `${at.owner} exists. Add the ${recordWord(monitor, monitor.expected_value.length)} below ${placeOf(monitor)}.`,
  )
}

function brokenAlias(monitor: Watched, at: IndexedRow, sentence: string): Advice {
  return advice(
    'Fix the CNAME or its target',
    sentence,
    `Point the CNAME of ${at.alias} to a name that exists, or create the ${recordWord(monitor, monitor.expected_value.length)} at ${at.owner}.`,
  )
}

function timeout(paths: readonly DiagnosisPath[], { zone }: IndexedRow): Advice {
  // That recursive servers are silent too is only its echo.
  const silent = serversOf(
    paths,
    ({ path, outcome }) => path === 'authoritative' && (outcome?.kind === 'timeout' || outcome?.kind === 'unreachable'),
  )
  return advice(
    'Restore the name servers',
    silent.length > 0
      ? `Check that these name servers run and can be reached on port 53 over UDP and TCP: ${listed(silent)}.`
      : `Check that the name servers of ${zone} run and can be reached on port 53 over UDP and TCP.`,
    'If you use a DNS provider, check its status page.',
  )
}

function invalid(paths: readonly DiagnosisPath[], { owner, zone }: IndexedRow): Advice {
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

function badSetup(monitor: Watched, paths: readonly DiagnosisPath[], at: IndexedRow): Advice {
  const lame = paths.flatMap(({ outcome }) => (outcome?.kind === 'lame' ? [outcome] : []))
  if (lame.length > 0) {
    return advice(
      'Correct the name servers',
      `None of the name servers that ${lame.at(-1)?.zone ?? at.zone} is delegated to serves the zone.`,
      'Set up the zone there, or enter the name servers of your DNS provider at your registrar.',
    )
  }
  const records = spfRecords(paths)
  if (monitor.record_type === 'SPF' && records.length > 1) {
    return {
      title: 'Keep one SPF record',
      steps: [
        ...(at.alias ? [`The records are at the end of the CNAME chain ${chainOf(at)}.`] : []),
        `Mail servers treat more than one SPF record as an error. Combine the mechanisms in one record of ${at.owner} and remove the others.`,
      ],
      add: [],
      remove: records.filter((record) => !monitor.expected_value.includes(record)),
    }
  }
  return advice(
    'Break the CNAME loop',
    at.alias
      ? `The CNAME chain of ${nameOf(monitor)} is a loop: ${at.alias} points to ${at.owner}. Point it to a name that has records.`
      : `The CNAME chain of ${nameOf(monitor)} is a loop. Find it in the evidence below and point one CNAME to a name that has records.`,
  )
}

function spfRecords(paths: readonly DiagnosisPath[]): string[] {
  const texts = paths.flatMap(({ outcome }) => (outcome?.kind === 'answer' ? outcome.rrset.values : []))
  return [...new Set(texts)].filter((text) => /^v=spf1(\s|$)/i.test(text))
}

/**
 * Where the record is, by the CNAME records in the evidence. `owner` has it, `alias` is the name whose CNAME record points
 * there (undefined: the name that is watched owns the record itself), `zone` is what is delegated.
 */
type IndexedRow = { owner: string; alias: string | undefined; names: string[]; zone: string }

function placedAt(monitor: Watched, paths: readonly DiagnosisPath[]): IndexedRow {
  const name = nameOf(monitor)
  // What settled the verdict stands last.
  const targets = new Map(
    paths.flatMap(({ outcome }) =>
      outcome && 'chain' in outcome ? outcome.chain.map((link) => [link.name, link.target || '.'] as const) : [],
    ),
  )
  const names = [name]
  // Who watches a CNAME record means the record of the name itself.
  for (let at = monitor.record_type === 'CNAME' ? undefined : targets.get(name); at; at = targets.get(at)) {
    const isLoop = names.includes(at)
    names.push(at)
    if (isLoop) break
  }
  const owner = names.at(-1)!
  return { owner, alias: names.at(-2), names, zone: names.length > 1 ? owner : monitor.domain }
}

function chainOf({ names }: IndexedRow): string {
  const shown = names.length > 5 ? [...names.slice(0, 3), '…', names.at(-1)] : names
  return shown.join(' → ')
}

function serversOf(paths: readonly DiagnosisPath[], isSo: (path: DiagnosisPath) => boolean): string[] {
  return [...new Set(paths.filter(isSo).map(({ name, server }) => name ?? server))]
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, 4)
  if (names.length > shown.length) return `${shown.join(', ')} and ${names.length - shown.length} more`
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`
}

/** Who can change the record. */
function placeOf({ record_type }: Pick<Watched, 'record_type'>): string {
  return RECORD_TYPE_TEXTS[record_type].place ?? 'at your DNS provider'
}

const recordWord = ({ record_type }: Pick<Watched, 'record_type'>, count = 1): string =>
  `${RECORD_TYPE_TEXTS[record_type].name ?? record_type} record${count === 1 ? '' : 's'}`
