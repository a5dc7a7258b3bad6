import { hash } from 'node:crypto'
import type { CauseKind } from '../database/schema-alerts.ts'

/** What monitors share that fail together. `key`: one open incident has it. `value`: what people see of it. */
export type Cause = { key: string; kind: CauseKind; value: string | null }

export type CausingEvent = {
  new_state: string
  domain: string
  record_type: string
  current_values: string | null
  diagnosis: string | null
}

type Path = { path?: string; name?: string; server?: string; outcome?: { kind?: string } | null }

/** Name servers of one event that are looked at. */
const MOST_SERVERS = 8
const MOST_CHARACTERS = 100
/** Of a server that answers nobody. One that refuses, or fails for one zone, says nothing of the others. */
const SILENT = new Set(['timeout', 'unreachable'])
/** States of which a name server or a resolver may be the cause. */
const OF_SERVERS = new Set(['TIMEOUT', 'INVALID', 'BAD_SETUP'])

/** The causes of a failure. The zone comes first: a monitor joins the incident of its zone before any other. */
export function causesOf(event: CausingEvent): [Cause, ...Cause[]] {
  const { new_state, domain } = event
  const zone = { key: `${new_state} ${domain}`, kind: 'zone' as const, value: null }
  if (new_state === 'MISMATCH') return [zone, ...wrongValue(event)]
  return OF_SERVERS.has(new_state) ? [zone, ...failingServers(event)] : [zone]
}

/** The same records where others were expected, in any zone. */
function wrongValue({ record_type, current_values }: CausingEvent): Cause[] {
  const values: string[] = current_values === null ? [] : JSON.parse(current_values)
  if (values.length === 0) return []
  const sorted = [...values].sort()
  const key = `value ${record_type} ${hash('sha256', JSON.stringify(sorted), 'hex')}`
  const text = sorted.join(', ').replace(/\p{Cc}+/gu, ' ')
  const value = text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS).toWellFormed()}…`
  return [{ key, kind: 'value', value }]
}

/** Name servers of the zone that answered nothing. Without any of them the resolvers, where each of them timed out. */
function failingServers({ diagnosis }: CausingEvent): Cause[] {
  const paths: Path[] = diagnosis === null ? [] : (JSON.parse(diagnosis).paths ?? [])
  const authoritative = paths.filter(({ path, name }) => path === 'authoritative' && name !== undefined)
  if (authoritative.length > 0)
    return silent(authoritative, ({ name }) => name!.toLowerCase()).map((name) => ({
      key: `name_server ${name}`,
      kind: 'name_server' as const,
      value: name,
    }))
  const recursive = paths.filter(({ path, server }) => path === 'recursive' && server !== undefined)
  const servers = new Set(recursive.map(({ server }) => server!))
  const failing = silent(recursive, ({ server }) => server!)
  if (failing.length === 0 || failing.length < servers.size) return []
  const value = failing.join(', ')
  return [{ key: `upstream ${value}`, kind: 'upstream', value }]
}

/** The servers that answered nothing in any exchange, in order. */
function silent(paths: readonly Path[], nameOf: (path: Path) => string): string[] {
  const isSilent = ({ outcome }: Path) => outcome?.kind !== undefined && SILENT.has(outcome.kind)
  return [...Map.groupBy(paths, nameOf)]
    .flatMap(([name, all]) => (all.every(isSilent) ? [name] : []))
    .sort()
    .slice(0, MOST_SERVERS)
}
