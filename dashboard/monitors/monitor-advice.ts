import type { ValueDifference } from '#contract/dashboard.ts'
import type { Diagnosis, DiagnosisPath } from '#contract/diagnosis.ts'
import type { MonitorAnswer } from '#contract/monitors.ts'
import { RECORD_TYPE_TEXTS } from '#contract/record-types.ts'
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
  const at = placedAt(monitor, paths)
  const type = recordWord(monitor)
  switch (monitor.state) {
    case 'UNSET':
      return monitor.is_active
        ? advice('Wait a moment', 'The first check is under way; its result appears here by itself.')
        : advice('Enable it', 'A disabled monitor is not checked. Enable it to have it checked at once.')
    case 'VALID':
      return advice('Nothing to do', `The ${type} is as expected.`)
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

function mismatch(monitor: Watched, { missing, extra }: ValueDifference, at: Placed): Advice {
  // In flexible mode nothing is extra; where a name can have one record only, the wrong one has to make room all the same.
  const { isSingle } = RECORD_TYPE_TEXTS[monitor.record_type]
  const remove = extra.length === 0 && isSingle ? (monitor.current_value ?? []) : extra
  const parts = [
    missing.length > 0 && remove.length > 0 ? 'Replace what is there' : undefined,
    missing.length > 0 && remove.length === 0 ? 'Add what is missing' : undefined,
    missing.length === 0 && remove.length > 0 ? 'Remove what does not belong there' : undefined,
  ]
  const records = recordWord(monitor, Math.max(missing.length, remove.length))
  return {
    title: parts.find((part) => part !== undefined) ?? 'Compare the records',
    steps: at.alias
      ? [
          `${aliasSentence(monitor, at)}.`,
          `Change the ${records} of ${at.owner}, or point the CNAME record of ${at.alias} at another name.`,
        ]
      : [`Change the ${records} of ${at.owner} ${placeOf(monitor)}.`],
    add: missing,
    remove,
  }
}

function notFound(monitor: Watched, at: Placed): Advice {
  if (at.alias) return brokenAlias(monitor, at, 'does not exist')
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

function noData(monitor: Watched, at: Placed): Advice {
  if (at.alias) return brokenAlias(monitor, at, `has no ${recordWord(monitor)}`)
  return advice(
    'Add the record',
    `${at.owner} exists. Add the ${recordWord(monitor, monitor.expected_value.length)} below ${placeOf(monitor)}.`,
  )
}

function brokenAlias(monitor: Watched, at: Placed, what: string): Advice {
  return advice(
    'Mend the alias or its target',
    `${aliasSentence(monitor, at)}, which ${what}.`,
    `Point the CNAME record of ${at.alias} at a name that exists, or create the ${recordWord(monitor, monitor.expected_value.length)} at ${at.owner}.`,
  )
}

function timeout(paths: readonly DiagnosisPath[], { zone }: Placed): Advice {
  // That recursive servers are silent too is only its echo.
  const silent = serversOf(
    paths,
    ({ path, outcome }) => path === 'authoritative' && (outcome?.kind === 'timeout' || outcome?.kind === 'unreachable'),
  )
  return advice(
    'Bring the name servers back',
    silent.length > 0
      ? `See whether ${listed(silent)} ${silent.length === 1 ? 'runs' : 'run'} and can be reached on port 53, over UDP and TCP.`
      : `See whether the name servers of ${zone} run and can be reached on port 53, over UDP and TCP.`,
    'Do you use a DNS provider? Look at its status page.',
  )
}

function invalid(paths: readonly DiagnosisPath[], { owner, zone }: Placed): Advice {
  const failures = paths.flatMap(({ outcome }) => (outcome?.kind === 'failure' ? [outcome] : []))
  if (failures.some(({ bogus }) => bogus)) {
    return advice(
      'Mend DNSSEC',
      `The signatures of ${zone} do not hold, so resolvers that check them refuse it: for most people the name is gone.`,
      'Compare the DS record at your registrar with the DNSKEY of the zone. Sign the zone anew, or remove the DS record.',
    )
  }
  if (failures.some(({ rcode }) => rcode === 'REFUSED')) {
    return advice(
      'Set the right name servers',
      `The servers refuse questions for ${zone}: most often the zone is no longer set up there.`,
      'Compare the name servers at your registrar with those that your DNS provider names.',
    )
  }
  if (failures.some(({ rcode }) => rcode === 'SERVFAIL')) {
    return advice(
      'Look at the zone',
      `A server cannot answer for ${zone}. See at your DNS provider whether the zone is loaded without errors and all its name servers run.`,
      'After a change of provider or of DNSSEC, compare name servers and DS record at your registrar.',
    )
  }
  return advice(
    'Ask your DNS provider',
    `The answers for ${owner} cannot be used. Show your provider the evidence below.`,
  )
}

function badSetup(monitor: Watched, paths: readonly DiagnosisPath[], at: Placed): Advice {
  const lame = paths.flatMap(({ outcome }) => (outcome?.kind === 'lame' ? [outcome] : []))
  if (lame.length > 0) {
    return advice(
      'Set the right name servers',
      `None of the name servers that ${lame.at(-1)?.zone ?? at.zone} is delegated to serves it.`,
      'Set up the zone there, or enter the name servers that your DNS provider names at your registrar.',
    )
  }
  const records = spfRecords(paths)
  if (monitor.record_type === 'SPF' && records.length > 1) {
    return {
      title: 'Keep one SPF record',
      steps: [
        ...(at.alias ? [`${aliasSentence(monitor, at)}.`] : []),
        `Mail servers treat several SPF records as an error. Join their mechanisms in one record of ${at.owner}, and remove the others.`,
      ],
      add: [],
      remove: records.filter((record) => !monitor.expected_value.includes(record)),
    }
  }
  return advice(
    'Untie the aliases',
    at.alias
      ? `The CNAME records behind ${nameOf(monitor)} never end at an address: the one of ${at.alias} points at ${at.owner}. Point it at a name that has records.`
      : `The CNAME records behind ${nameOf(monitor)} never end at an address. Follow them in the evidence below, and point one of them at a name that has records.`,
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
type Placed = { owner: string; alias: string | undefined; names: string[]; zone: string }

function placedAt(monitor: Watched, paths: readonly DiagnosisPath[]): Placed {
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

/** Without its full stop. */
function aliasSentence(monitor: Watched, { names }: Placed): string {
  const [first, ...others] = names.slice(1, 5)
  return `${nameOf(monitor)} is an alias (CNAME) of ${first}${others.map((each) => `, which is an alias of ${each}`).join('')}`
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
