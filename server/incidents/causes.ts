import { hash } from 'node:crypto'
import { getDomain } from 'tldts'
import type { CauseKind } from '../database/schema-alerts.ts'
import { oneLine, truncate } from '../text.ts'
import { providerOf } from '../waits/providers.ts'

/**
 * What monitors that fail together share. `key`: unique among open incidents. `value`: for people. `isCircumstantial`: monitors of
 * different zones may share it without a common cause, so it takes several zones at about the same time.
 */
export type Cause = { key: string; kind: CauseKind; value: string | null; isCircumstantial?: true }

/** A failure of a monitor or a zone, as incidents group it. `label`: for people. */
export type GroupedFailure = {
  /** The zone of the records. */
  domain: string
  new_state: string
  occurred_at: number
  label: string
  causes: [Cause, ...Cause[]]
  /** It joins an open incident with one of these causes before all others, and adds none of them to its incident. */
  folds: string[]
}

/** Of a critical zone: the failures of the records below it fold into its incident. */
export const recordsOf = (zone: string): string => `records ${zone}`

/** The names of zones that a record can be in, without top-level domains. */
export function enclosingZones(name: string): string[] {
  const labels = name.split('.')
  return labels.slice(0, -1).map((_, index) => labels.slice(index).join('.'))
}

export type CausingEvent = {
  new_state: string
  domain: string
  record_type: string
  current_values: string | null
  diagnosis: string | null
}

type Exchange = { path?: string; name?: string; server?: string; outcome?: { kind?: string } | null }
type Reason = { code?: string; params?: { zone?: string; target?: string; name_servers?: string[] } }
type Evidence = { verdict?: Reason; confirmation?: Reason[]; paths?: Exchange[] }

/** For each event. */
const MAX_SERVERS = 8
const MAX_PROVIDERS = 2
const MAX_VALUE_LENGTH = 100
/** Outcomes of a server that is down. One that refuses, or fails for one zone, can still serve other zones. */
const DOWN_OUTCOMES = new Set(['timeout', 'unreachable'])
/** States that a name server or a resolver can cause. */
const SERVER_STATES = new Set(['TIMEOUT', 'INVALID', 'BAD_SETUP'])
/** Results of a server that is not the one of the zone, or that answers well. */
const OTHER_OUTCOMES = new Set(['referral', 'answer'])

/** The zone comes first: a monitor joins the incident of its zone rather than any other. Circumstantial causes come last. */
export function causesOf(event: CausingEvent): [Cause, ...Cause[]] {
  const { new_state, domain } = event
  const zone = { key: `${new_state} ${domain}`, kind: 'zone' as const, value: null }
  if (new_state === 'MISMATCH') return [zone, ...wrongValue(event)]
  const evidence: Evidence = event.diagnosis === null ? {} : JSON.parse(event.diagnosis)
  return [
    zone,
    ...missingTarget(event, evidence),
    ...(SERVER_STATES.has(new_state) ? failingServers(evidence) : []),
    ...sharedAuthority(event, evidence),
  ]
}

/** The same wrong records, in any zone. */
function wrongValue({ record_type, current_values }: CausingEvent): Cause[] {
  const values: string[] = current_values === null ? [] : JSON.parse(current_values)
  if (values.length === 0) return []
  const sorted = values.toSorted()
  const key = `value ${record_type} ${hash('sha256', JSON.stringify(sorted), 'hex')}`
  return [{ key, kind: 'value', value: truncate(oneLine(sorted.join(', ')), MAX_VALUE_LENGTH) }]
}

/** The same CNAME target without the record. If every customer has a target of its own: their domain. */
function missingTarget({ new_state }: CausingEvent, { verdict }: Evidence): Cause[] {
  const target = verdict?.params?.target?.toLowerCase()
  if (!target || !['no_such_target', 'no_records_at_target'].includes(verdict?.code ?? '')) return []
  const exact: Cause = { key: `target ${new_state} ${target}`, kind: 'target', value: target }
  const domain = registrableDomain(target)
  if (domain === null || domain === target) return [exact]
  const value = `*.${domain}`
  return [exact, { key: `targets ${new_state} ${domain}`, kind: 'target', value, isCircumstantial: true }]
}

/** The name servers of the zone that are down. If none was queried: the resolvers, if all of them are down. */
function failingServers({ paths: exchanges = [] }: Evidence): Cause[] {
  const authoritative = exchanges.filter(({ path, name }) => path === 'authoritative' && name !== undefined)
  if (authoritative.length > 0)
    return serversDown(authoritative, ({ name }) => name!.toLowerCase()).map((name) => ({
      key: `name_server ${name}`,
      kind: 'name_server' as const,
      value: name,
    }))
  const recursive = exchanges.filter(({ path, server }) => path === 'recursive' && server !== undefined)
  const resolvers = new Set(recursive.map(({ server }) => server!))
  const down = serversDown(recursive, ({ server }) => server!)
  if (down.length === 0 || down.length < resolvers.size) return []
  const value = down.join(', ')
  return [{ key: `upstream ${value}`, kind: 'upstream', value }]
}

/** Servers that answered in none of the exchanges, sorted. */
function serversDown(exchanges: readonly Exchange[], serverName: (exchange: Exchange) => string): string[] {
  const isDown = ({ outcome }: Exchange) => outcome?.kind !== undefined && DOWN_OUTCOMES.has(outcome.kind)
  return [...Map.groupBy(exchanges, serverName)]
    .flatMap(([name, ofServer]) => (ofServer.every(isDown) ? [name] : []))
    .sort()
    .slice(0, MAX_SERVERS)
}

/**
 * The parent zone that does not delegate the zone, or the provider of its name servers, with the code of the verdict: many unrelated
 * zones are at one large provider, and break for their own reasons.
 */
function sharedAuthority({ new_state, domain }: CausingEvent, evidence: Evidence): Cause[] {
  const parent = evidence.confirmation?.find(({ code }) => code === 'zone_denied')?.params?.zone
  if (parent !== undefined)
    return [{ key: `parent ${new_state} ${parent}`, kind: 'parent', value: parent, isCircumstantial: true }]
  const code = evidence.verdict?.code ?? new_state
  const providers = new Set(
    zoneServers(evidence)
      .filter((server) => registrableDomain(server) !== domain)
      .map((server) => providerOf([server])?.name ?? registrableDomain(server) ?? server),
  )
  return [...providers]
    .sort()
    .slice(0, MAX_PROVIDERS)
    .map((provider) => ({
      ...{ key: `provider ${code} ${provider}`, kind: 'provider', value: provider, isCircumstantial: true },
    }))
}

/** The names of the name servers of the zone: those that decided, those of the delegation, or those that were queried. */
function zoneServers({ verdict, confirmation = [], paths = [] }: Evidence): string[] {
  const decided = [...confirmation, ...(verdict ? [verdict] : [])].flatMap(({ params }) => params?.name_servers ?? [])
  if (decided.length > 0) return decided.map((name) => name.toLowerCase())
  return paths.flatMap(({ path, name, outcome }) =>
    path !== 'authoritative' || name === undefined || OTHER_OUTCOMES.has(outcome?.kind ?? '')
      ? []
      : [name.toLowerCase()],
  )
}

const registrableDomain = (name: string): string | null =>
  getDomain(name, { allowPrivateDomains: false, extractHostname: false, validateHostname: false, detectIp: false })
