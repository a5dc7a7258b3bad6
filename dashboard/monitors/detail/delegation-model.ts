import type { Delegation, DiagnosisPath } from '#contract/diagnosis.ts'
import { visible } from '#contract/visible-text.ts'
import type { Warning } from '#contract/warnings.ts'
import { plural } from '#contract/wording.ts'
import type { Tone } from '../../ui/state.tsx'
import { answerText } from './evidence-text.ts'
import { agree, groupByServer, hasRecords, isAnswered, type QueriedServer } from './servers.ts'

/** From left to right. Zones are below each other. */
export const COLUMNS = ['zones', 'name servers', 'answers', 'resolvers'] as const
export const COLUMN_TITLES: Record<(typeof COLUMNS)[number], string> = {
  zones: 'Zones',
  'name servers': 'Name servers',
  answers: 'Answers',
  resolvers: 'Resolvers, with caches',
}

/** `sign`: what is wrong, or special, in two or three words. `sentence`: all of it, for the list and for screen readers. */
export type PictureNode = {
  id: string
  column: (typeof COLUMNS)[number]
  title: string
  lines: string[]
  tone: Tone
  sign: string | undefined
  sentence: string
}
/** `isCached`: the answer may be a copy in a cache. */
export type PictureEdge = { from: string; to: string; tone: Tone; isCached: boolean }
export type Picture = { nodes: PictureNode[]; edges: PictureEdge[] }

type Evidence = { delegation?: Delegation; paths: readonly DiagnosisPath[] }
type Shown = { name: string; isValid: boolean | undefined; warnings: readonly Warning[] }

const MAX_VALUES = 5

/**
 * Who answers for a name, from the zone above down to the records. Undefined if the delegation is not in the evidence. Pure.
 * `isValid`: whether the answer that counts is as expected; undefined if that is not certain yet.
 */
export function delegationPicture({ delegation, paths }: Evidence, shown: Shown): Picture | undefined {
  if (!delegation) return undefined
  const { servers } = groupByServer(paths)
  const answers = answersOf(servers, shown)
  const nameServers = nameServersOf(
    delegation,
    servers.filter(({ path }) => path === 'authoritative'),
  )
  const resolvers = servers.filter(({ path, answers }) => path === 'recursive' && answers.some(isOwnQuestion))
  const zones = zonesOf(delegation, shown.warnings)
  const zone = zones.at(-1)!
  const edges: PictureEdge[] = zones
    .slice(1)
    .map((each, index) => ({ from: zones[index]!.id, to: each.id, tone: each.tone, isCached: false }))
  for (const { node, servers } of nameServers) {
    edges.push({ from: zone.id, to: node.id, tone: node.tone === 'good' ? 'idle' : node.tone, isCached: false })
    edges.push(...edgesTo(answers, node, servers, false))
  }
  const resolverNodes = resolvers.map((server) => ({ node: resolverNode(server), servers: [server] }))
  for (const { node, servers } of resolverNodes) edges.push(...edgesTo(answers, node, servers, true))
  return {
    nodes: [
      ...zones,
      ...nameServers.map(({ node }) => node),
      ...answers.map(({ node }) => node),
      ...resolverNodes.map(({ node }) => node),
    ].map(withVisibleText),
    edges,
  }
}

/** The owner of the zone chose the values. */
const withVisibleText = (node: PictureNode): PictureNode => ({
  ...node,
  title: visible(node.title),
  lines: node.lines.map(visible),
  sentence: visible(node.sentence),
})

const isOwnQuestion = (path: DiagnosisPath) => path.question === undefined

// Zones

function zonesOf({ zone, parent, parents, own_name_servers: own }: Delegation, warnings: readonly Warning[]) {
  const [most, ...others] = parents
  const isDenied = most?.name_servers === null
  const delegated = most?.name_servers ?? []
  const says = isDenied
    ? `denies ${zone}`
    : `delegates ${zone} to ${plural(delegated.length, 'one name server', (number) => `${number} name servers`)}`
  const servers = parents.reduce((sum, each) => sum + each.servers.length, 0)
  const asked = plural(servers, '1 server asked', (number) => `${number} servers asked`)
  const differing = others.flatMap((each) => each.servers)
  const above: PictureNode = {
    ...{ id: `zone ${parent}`, column: 'zones', title: parent || '.', lines: [asked] },
    tone: isDenied ? 'bad' : differing.length > 0 ? 'warn' : 'idle',
    sign: isDenied ? 'Denies the zone' : differing.length > 0 ? 'Its servers differ' : undefined,
    sentence: `${zoneName(parent)} ${says}${differing.length > 0 ? `; ${differing.join(', ')} ${differing.length === 1 ? 'says' : 'say'} something else` : ''} (${asked}).`,
  }
  const isOther = own !== null && !isDenied && !isSameSet(own, delegated)
  const dnssec = DNSSEC.find(({ code }) => warnings.some((warning) => warning.code === code))
  const node: PictureNode = {
    ...{ id: `zone ${zone}`, column: 'zones', title: zone || '.' },
    lines: dnssec && dnssec.tone !== 'bad' ? [dnssec.text] : [],
    tone: isDenied || dnssec?.tone === 'bad' ? 'bad' : isOther ? 'warn' : 'idle',
    sign:
      dnssec?.tone === 'bad' ? `DNSSEC: ${dnssec.text.toLowerCase()}` : isOther ? 'Parent and zone differ' : undefined,
    sentence: [
      own === null
        ? `The NS records of ${zoneName(zone)} itself are not known.`
        : isOther
          ? `${zoneName(zone)} itself names other name servers than its parent: ${own.join(', ')}.`
          : `${zoneName(zone)} itself names the same name servers.`,
      ...(dnssec ? [`DNSSEC: ${dnssec.text.toLowerCase()}.`] : []),
    ].join(' '),
  }
  const root: PictureNode = {
    ...{ id: 'zone .', column: 'zones', title: '.', lines: ['Root'], tone: 'idle', sign: undefined },
    sentence: 'The root of the DNS.',
  }
  return parent === '' ? [{ ...above, id: 'zone .', lines: ['Root', ...above.lines] }, node] : [root, above, node]
}

const zoneName = (zone: string) => zone || 'The root'

const DNSSEC: { code: Warning['code']; text: string; tone: Tone }[] = [
  { code: 'dnssec_bogus', text: 'Validation fails', tone: 'bad' },
  { code: 'dnssec_secure', text: 'Signed, valid', tone: 'good' },
  { code: 'dnssec_unsigned', text: 'Not signed', tone: 'idle' },
]

const isSameSet = (one: readonly string[], other: readonly string[]) =>
  [...one].sort().join(' ') === [...other].sort().join(' ')

// Servers

type ServerNode = { node: PictureNode; servers: QueriedServer[] }

/** Those that the parent names, those that the zone names, and those that were queried. A server may have several addresses. */
function nameServersOf(
  { parents, own_name_servers: own, truncated }: Delegation,
  queried: readonly QueriedServer[],
): ServerNode[] {
  const delegated = parents[0]?.name_servers ?? []
  const byName = Map.groupBy(queried, ({ name, server }) => name ?? server)
  const others = parents.slice(1).flatMap((each) => each.name_servers ?? [])
  // Not those of other zones, on the way down or behind a CNAME record.
  const answering = [...byName.keys()].filter((name) =>
    byName.get(name)!.some(({ answers }) => answers.some((path) => isOwnQuestion(path) && isAnswered(path))),
  )
  const names = new Set([...delegated, ...others, ...(own ?? []), ...answering])
  return [...names].map((name) => {
    const servers = (byName.get(name) ?? []).filter(({ answers }) => answers.some(isOwnQuestion))
    const isOnlyInZone = !truncated && !delegated.includes(name) && (own ?? []).includes(name)
    const isNotInZone = !truncated && own !== null && delegated.includes(name) && !own.includes(name)
    const place = isOnlyInZone ? 'Not at the parent' : isNotInZone ? 'Not in the zone' : undefined
    return { node: serverNode('name servers', name, servers, place), servers }
  })
}

function serverNode(
  column: PictureNode['column'],
  title: string,
  servers: readonly QueriedServer[],
  place?: string,
): PictureNode {
  const failing = servers.flatMap(({ answers }) => answers).find((path) => !isAnswered(path))
  const differs = servers.some(({ standing }) => standing === 'differs')
  const failure = failing && FAILURES[failing.outcome?.kind ?? '']
  const sign = failing
    ? (failure ?? (failing.rcode === 'REFUSED' ? 'Refuses' : failing.rcode) ?? 'Fails')
    : differs
      ? 'Differs'
      : place
  const tone: Tone = failing ? 'bad' : differs || place ? 'warn' : servers.length === 0 ? 'idle' : 'good'
  const lines = [...new Set(servers.map(({ server }) => server.replace(/:53$/, '').replace(/^\[(.*)\]$/, '$1')))]
  return {
    ...{ id: `${column} ${title}`, column, title, tone, sign: sign === title ? undefined : sign },
    lines: servers.length === 0 ? ['Not asked'] : lines.filter((line) => line !== title).slice(0, 2),
    sentence: [
      servers.length === 0 ? `${title} was not asked.` : `${title} ${said(servers)}`,
      ...(differs ? ['Most others say something else.'] : []),
      ...(place ? [`${place}.`] : []),
    ].join(' '),
  }
}

const resolverNode = (server: QueriedServer) =>
  serverNode('resolvers', server.server.replace(/:53$/, '').replace(/^\[(.*)\]$/, '$1'), [server])

const FAILURES: Record<string, string> = {
  timeout: 'No answer',
  unreachable: 'Unreachable',
  lame: 'Lame',
  referral: 'Lame',
  malformed: 'Unusable answer',
}

function said(servers: readonly QueriedServer[]): string {
  const texts = servers.flatMap(({ answers }) => answers.map(answerSentence))
  return [...new Set(texts)].join(' ')
}

function answerSentence(path: DiagnosisPath): string {
  const { text, values, chain } = answerText(path)
  const last = chain.at(-1)
  const by = last ? ` by way of ${chain.map(({ target }) => target || '.').join(', ')}` : ''
  if (values.length === 0 && last && !text) return `answered ${last.target || '.'}.`
  return values.length > 0
    ? `answered ${values.slice(0, MAX_VALUES).join(', ')}${by}.`
    : `answered: ${text.replace(/\.$/, '')}${by}.`
}

// Answers

type AnswerNode = { node: PictureNode; path: DiagnosisPath; isRotating: boolean }

/** What was answered, each different answer once. The parts of a rotating RRset are one. */
function answersOf(servers: readonly QueriedServer[], { name, isValid }: Shown): AnswerNode[] {
  const usable = servers.flatMap((server) => server.answers.filter((path) => isOwnQuestion(path) && isAnswered(path)))
  const isRotating = servers.some(({ answers }) => answers.filter(hasRecords).length > 1)
  const isSame = (one: DiagnosisPath, other: DiagnosisPath) =>
    agree(one, other) || (isRotating && hasRecords(one) && hasRecords(other))
  const agreed = servers.find(({ standing }) => standing === 'agrees')?.answers.at(-1)
  const groups: DiagnosisPath[][] = []
  for (const path of usable) {
    const group = groups.find(([first]) => isSame(first!, path))
    if (group) group.push(path)
    else groups.push([path])
  }
  const counts = (group: readonly DiagnosisPath[]) => agreed !== undefined && isSame(group[0]!, agreed)
  groups.sort((one, other) => Number(counts(other)) - Number(counts(one)))
  return groups.map((group, index) => {
    const path = longest(group)
    const { text, values, chain, ttl } = answerText(path)
    const all = isRotating && hasRecords(path) ? [...new Set(group.flatMap((each) => answerText(each).values))] : values
    const hops = chain.map(({ target }) => `→ ${target || '.'}`)
    const [title = '', ...others] = [...(text ? [denial(path, text)] : []), ...hops, ...all]
    const more = others.length > MAX_VALUES ? [`… ${others.length - MAX_VALUES} more`] : []
    const isMost = counts(group)
    const cache = ttl === undefined ? [] : [`TTL ${ttl} s`]
    const tone: Tone = !isMost ? 'warn' : isValid === undefined ? 'idle' : isValid ? 'good' : 'bad'
    const judgement = !isMost
      ? ' Most servers say something else.'
      : isValid === undefined
        ? ''
        : isValid
          ? ' As expected.'
          : ' Not as expected.'
    const sign = isMost
      ? isValid === false
        ? 'Not as expected'
        : isRotating
          ? 'The answers rotate'
          : undefined
      : 'Not what most say'
    return {
      ...{ path, isRotating },
      node: {
        ...{ id: `answer ${index}`, column: 'answers', title, tone, sign },
        lines: [...others.slice(0, MAX_VALUES), ...more, ...cache],
        sentence: `${name || '.'}: ${[title, ...others].join(', ')}.${judgement}`,
      },
    }
  })
}

/** A server that knows only the beginning of a CNAME chain agrees with one that followed it. */
const longest = (group: readonly DiagnosisPath[]): DiagnosisPath =>
  group.reduce((best, path) => (answerText(path).chain.length > answerText(best).chain.length ? path : best))

function denial({ outcome }: DiagnosisPath, text: string): string {
  switch (outcome?.kind) {
    case 'nxdomain':
      return 'NXDOMAIN'
    case 'nodata':
      return 'NODATA'
    case 'cname_loop':
      return 'CNAME loop'
    default:
      return text.replace(/\.$/, '')
  }
}

function edgesTo(
  answers: readonly AnswerNode[],
  { id, tone }: PictureNode,
  servers: readonly QueriedServer[],
  isCached: boolean,
): PictureEdge[] {
  const given = servers.flatMap((server) => server.answers.filter((path) => isOwnQuestion(path) && isAnswered(path)))
  const reached = answers.filter(({ path, isRotating }) =>
    given.some((one) => agree(one, path) || (isRotating && hasRecords(one) && hasRecords(path))),
  )
  return reached.map(({ node }) => ({ from: id, to: node.id, tone: tone === 'bad' ? 'warn' : node.tone, isCached }))
}
