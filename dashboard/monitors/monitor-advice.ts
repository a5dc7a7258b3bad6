import type { Diagnosis, DiagnosisPath, ValueDifference } from '#contract/dashboard.ts'
import type { MonitorAnswer } from '#contract/monitors.ts'
import { nameOf } from '../events/event-change.tsx'

/** What to do now. `steps`: sentences, the first thing first. `add` and `remove`: records as they are written at a provider. */
export type Advice = { title: string; steps: string[]; add: string[]; remove: string[] }

type Watched = Pick<
  MonitorAnswer,
  'state' | 'record_type' | 'domain' | 'subdomain' | 'expected_value' | 'current_value' | 'is_active' | 'is_exact_match'
>

/** In plain words, for whoever looks after the zone. Pure. */
export function adviceFor(monitor: Watched, difference: ValueDifference, diagnosis: Diagnosis | undefined): Advice {
  const paths = diagnosis?.paths ?? []
  const type = recordWord(monitor)
  switch (monitor.state) {
    case 'UNSET':
      return monitor.is_active
        ? advice('Wait a moment', 'The first check is under way; its result appears here by itself.')
        : advice('Enable it', 'A disabled monitor is not checked. Enable it to have it checked at once.')
    case 'VALID':
      return advice('Nothing to do', `The ${type} is as expected.`)
    case 'MISMATCH':
      return mismatch(monitor, difference)
    case 'NOT_FOUND':
      return { ...notFound(monitor, paths), add: monitor.expected_value }
    case 'NO_DATA':
      return { ...noData(monitor, paths), add: monitor.expected_value }
    case 'TIMEOUT':
      return timeout(monitor, paths)
    case 'INVALID':
      return invalid(monitor, paths)
    case 'BAD_SETUP':
      return badSetup(monitor, paths)
  }
}

const advice = (title: string, ...steps: string[]): Advice => ({ title, steps, add: [], remove: [] })

function mismatch(monitor: Watched, { missing, extra }: ValueDifference): Advice {
  // In flexible mode nothing is extra; where a name can have one record only, the wrong one has to make room all the same.
  const isSingle = monitor.record_type === 'CNAME' || monitor.record_type === 'SPF'
  const remove = extra.length === 0 && isSingle ? (monitor.current_value ?? []) : extra
  const parts = [
    missing.length > 0 && remove.length > 0 ? 'Replace what is there' : undefined,
    missing.length > 0 && remove.length === 0 ? 'Add what is missing' : undefined,
    missing.length === 0 && remove.length > 0 ? 'Remove what does not belong there' : undefined,
  ]
  return {
    title: parts.find((part) => part !== undefined) ?? 'Compare the records',
    steps: [
      `Change the ${recordWord(monitor, Math.max(missing.length, remove.length))} of ${nameOf(monitor)} ${placeOf(monitor)}.`,
    ],
    add: missing,
    remove,
  }
}

function notFound(monitor: Watched, paths: readonly DiagnosisPath[]): Advice {
  const end = endOfAliases(paths, 'nxdomain')
  if (end) return brokenAlias(monitor, end, 'does not exist')
  if (monitor.subdomain === '' && monitor.record_type !== 'PTR') {
    return advice(
      'Bring the domain back',
      `All of ${monitor.domain} is gone. See at your registrar whether it is registered, has not expired, and has name servers.`,
    )
  }
  if (monitor.record_type === 'PTR') return advice('Create the name', `Create ${nameOf(monitor)} ${placeOf(monitor)}.`)
  return advice(
    'Create the name',
    `Create ${nameOf(monitor)} ${placeOf(monitor)} with the ${recordWord(monitor, monitor.expected_value.length)} below.`,
    `Is all of ${monitor.domain} gone? Then see at your registrar whether it has expired.`,
  )
}

function noData(monitor: Watched, paths: readonly DiagnosisPath[]): Advice {
  const end = endOfAliases(paths, 'nodata')
  if (end) return brokenAlias(monitor, end, `has no ${monitor.record_type} record`)
  return advice(
    'Add the record',
    `${nameOf(monitor)} exists. Add the ${recordWord(monitor, monitor.expected_value.length)} below ${placeOf(monitor)}.`,
  )
}

function brokenAlias(monitor: Watched, end: string, what: string): Advice {
  return advice(
    'Mend the alias or its target',
    `${nameOf(monitor)} is an alias of ${end}, which ${what}.`,
    `Point the alias at a name that exists, or create the ${recordWord(monitor, monitor.expected_value.length)} at ${end}.`,
  )
}

function timeout(monitor: Watched, paths: readonly DiagnosisPath[]): Advice {
  // That recursive servers are silent too is only its echo.
  const silent = serversOf(
    paths,
    ({ path, outcome }) => path === 'authoritative' && (outcome?.kind === 'timeout' || outcome?.kind === 'unreachable'),
  )
  return advice(
    'Bring the name servers back',
    silent.length > 0
      ? `See whether ${listed(silent)} ${silent.length === 1 ? 'runs' : 'run'} and can be reached on port 53, over UDP and TCP.`
      : `See whether the name servers of ${monitor.domain} run and can be reached on port 53, over UDP and TCP.`,
    'Do you use a DNS provider? Look at its status page.',
  )
}

function invalid(monitor: Watched, paths: readonly DiagnosisPath[]): Advice {
  const failures = paths.flatMap(({ outcome }) => (outcome?.kind === 'failure' ? [outcome] : []))
  if (failures.some(({ bogus }) => bogus)) {
    return advice(
      'Mend DNSSEC',
      `The signatures of ${monitor.domain} do not hold, so resolvers that check them refuse it: for most people the name is gone.`,
      'Compare the DS record at your registrar with the DNSKEY of the zone. Sign the zone anew, or remove the DS record.',
    )
  }
  if (failures.some(({ rcode }) => rcode === 'REFUSED')) {
    return advice(
      'Set the right name servers',
      `The servers refuse questions for ${monitor.domain}: most often the zone is no longer set up there.`,
      'Compare the name servers at your registrar with those that your DNS provider names.',
    )
  }
  if (failures.some(({ rcode }) => rcode === 'SERVFAIL')) {
    return advice(
      'Look at the zone',
      `A server cannot answer for ${monitor.domain}. See at your DNS provider whether the zone is loaded without errors and all its name servers run.`,
      'After a change of provider or of DNSSEC, compare name servers and DS record at your registrar.',
    )
  }
  return advice(
    'Ask your DNS provider',
    `The answers for ${nameOf(monitor)} cannot be used. Show your provider the evidence below.`,
  )
}

function badSetup(monitor: Watched, paths: readonly DiagnosisPath[]): Advice {
  const lame = paths.flatMap(({ outcome }) => (outcome?.kind === 'lame' ? [outcome] : []))
  if (lame.length > 0) {
    return advice(
      'Set the right name servers',
      `None of the name servers that ${monitor.domain} is delegated to serves it.`,
      'Set up the zone there, or enter the name servers that your DNS provider names at your registrar.',
    )
  }
  const records = spfRecords(paths)
  if (monitor.record_type === 'SPF' && records.length > 1) {
    return {
      title: 'Keep one SPF record',
      steps: [
        'Mail servers treat several SPF records as an error. Join their mechanisms in one, and remove the others.',
      ],
      add: [],
      remove: records.filter((record) => !monitor.expected_value.includes(record)),
    }
  }
  return advice(
    'Untie the aliases',
    `The CNAME records behind ${nameOf(monitor)} never end at an address. Follow them in the evidence below, and point one of them at a name that has records.`,
  )
}

function spfRecords(paths: readonly DiagnosisPath[]): string[] {
  const texts = paths.flatMap(({ outcome }) => (outcome?.kind === 'answer' ? outcome.rrset.values : []))
  return [...new Set(texts)].filter((text) => /^v=spf1(\s|$)/i.test(text))
}

/** The last name of an alias chain that led to nothing. */
function endOfAliases(paths: readonly DiagnosisPath[], kind: 'nxdomain' | 'nodata'): string | undefined {
  const outcome = paths.findLast((path) => path.outcome?.kind === kind)?.outcome
  return outcome?.kind === kind ? outcome.chain.at(-1)?.target : undefined
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
  if (record_type === 'PTR') return 'where the address comes from: its hosting or network provider sets reverse names'
  if (record_type === 'NS') return 'in the zone, and at your registrar too'
  return 'at your DNS provider'
}

/** SPF is written as TXT. */
const recordWord = ({ record_type }: Pick<Watched, 'record_type'>, count = 1): string =>
  `${record_type === 'SPF' ? 'SPF (TXT)' : record_type} record${count === 1 ? '' : 's'}`
