import { hash } from 'node:crypto'
import type { CauseKind } from '../database/schema-alerts.ts'
import { oneLine, truncate } from '../text.ts'

/** What monitors that fail together share. `key`: unique among open incidents. `value`: for people. */
export type Cause = { key: string; kind: CauseKind; value: string | null }

export type CausingEvent = {
  new_state: string
  domain: string
  record_type: string
  current_values: string | null
  diagnosis: string | null
}

type Exchange = { path?: string; name?: string; server?: string; outcome?: { kind?: string } | null }

/** For each event. */
const MAX_SERVERS = 8
const MAX_VALUE_LENGTH = 100
/** Outcomes of a server that is down. One that refuses, or fails for one zone, can still serve other zones. */
const DOWN_OUTCOMES = new Set(['timeout', 'unreachable'])
/** States that a name server or a resolver can cause. */
const SERVER_STATES = new Set(['TIMEOUT', 'INVALID', 'BAD_SETUP'])

/** The zone comes first: a monitor joins the incident of its zone rather than any other. */
export function causesOf(event: CausingEvent): [Cause, ...Cause[]] {
  const { new_state, domain } = event
  const zone = { key: `${new_state} ${domain}`, kind: 'zone' as const, value: null }
  if (new_state === 'MISMATCH') return [zone, ...wrongValue(event)]
  return SERVER_STATES.has(new_state) ? [zone, ...failingServers(event)] : [zone]
}

/** The same wrong records, in any zone. */
function wrongValue({ record_type, current_values }: CausingEvent): Cause[] {
  const values: string[] = current_values === null ? [] : JSON.parse(current_values)
  if (values.length === 0) return []
  const sorted = values.toSorted()
  const key = `value ${record_type} ${hash('sha256', JSON.stringify(sorted), 'hex')}`
  return [{ key, kind: 'value', value: truncate(oneLine(sorted.join(', ')), MAX_VALUE_LENGTH) }]
}

/** The name servers of the zone that are down. If none was queried: the resolvers, if all of them are down. */
function failingServers({ diagnosis }: CausingEvent): Cause[] {
  const exchanges: Exchange[] = diagnosis === null ? [] : (JSON.parse(diagnosis).paths ?? [])
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
