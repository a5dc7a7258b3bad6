import { randomUUID } from 'node:crypto'
import type { LookupResult } from '#contract/dashboard.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import { invalid } from '../../problem.ts'
import { expectationOf } from '../../record-types/record-types.ts'
import { parseMonitorName, pastedName } from '../names.ts'
import { type LookupDeps, queryTypes, typesLikelyAt } from './lookup.ts'
import type { InputRow } from './rows.ts'

const HOST_NAMES = ['www', 'mail', 'autodiscover']
/** The DKIM selectors of the large mail providers. */
const DKIM_SELECTORS = ['default', 'dkim', 'google', 'k1', 'k2', 'k3', 'mail', 's1', 's2', 'selector1', 'selector2']
const TXT_NAMES = ['_dmarc', '_mta-sts', '_smtp._tls']

type NamedResult = { name: string; result: LookupResult }

/** The usual records of a domain that exist. Throws a 400 for an invalid name. */
export async function discover(deps: LookupDeps, text: string): Promise<InputRow[]> {
  const parsed = parseMonitorName({ full_domain: pastedName(text) }, 'PTR')
  if (!parsed.ok) throw invalid({ domain: parsed.errors.full_domain! })
  const domain = parsed.name.owner
  const apex = await queryTypes(deps, domain, typesLikelyAt('apex'))
  const nonexistent = apex.find(({ outcome }) => outcome === 'NOT_FOUND')
  if (nonexistent) return [refusedRow(domain, nonexistent)]
  const subdomains = await querySubdomains(deps, domain)
  return [
    ...apex.flatMap((result) =>
      isFailure(result) ? [refusedRow(domain, result)] : rowsOf({ name: domain, result }, apex),
    ),
    ...subdomains.flatMap((result) => rowsOf(result, [])),
  ]
}

/** The records below the domain, except answers of a wildcard record. */
async function querySubdomains(deps: LookupDeps, domain: string): Promise<NamedResult[]> {
  const query = async (name: string, types: readonly MonitorRecordType[]) =>
    (await queryTypes(deps, `${name}.${domain}`, types)).map((result) => ({ name: `${name}.${domain}`, result }))
  const [wildcardResults = [], ...results] = await Promise.all([
    query(`zw-${randomUUID().slice(0, 8)}`, ['CNAME', 'A', 'AAAA', 'TXT']),
    ...HOST_NAMES.map((name) => query(name, ['CNAME', 'A', 'AAAA'])),
    ...TXT_NAMES.map((name) => query(name, ['CNAME', 'TXT'])),
    ...DKIM_SELECTORS.map((name) => query(`${name}._domainkey`, ['CNAME', 'TXT'])),
  ])
  const wildcardTexts = new Set(wildcardResults.map(({ result }) => textOf(result)))
  return results.flatMap((named) => {
    const specific = named.filter(({ result }) => result.values.length > 0 && !wildcardTexts.has(textOf(result)))
    // The records of a CNAME target belong to another owner.
    const cname = specific.find(({ result }) => result.record_type === 'CNAME')
    return cname ? [cname] : specific
  })
}

const textOf = ({ record_type, values }: LookupResult) => JSON.stringify([record_type, values])

const isFailure = ({ outcome }: LookupResult) =>
  outcome === 'TIMEOUT' || outcome === 'INVALID' || outcome === 'BAD_SETUP'

function rowsOf({ name, result }: NamedResult, apex: readonly LookupResult[]): InputRow[] {
  const { record_type: type } = result
  const spf = apex.find((apexResult) => apexResult.record_type === 'SPF')?.values ?? []
  // SPF has a separate row. Other TXT records of a domain change often, so the row is flexible.
  const observed = type === 'TXT' ? result.values.filter((text) => !spf.includes(text)) : result.values
  if (observed.length === 0) return []
  const { values, isExact } = expectationOf(type, observed)
  return [{ line: null, name, type, values, isExact: isExact && (type !== 'TXT' || apex.length === 0) }]
}

function refusedRow(name: string, { record_type: type, outcome, sentence }: LookupResult): InputRow {
  const code = outcome.toLowerCase() as 'timeout' | 'invalid' | 'bad_setup' | 'not_found'
  return { line: null, name, type, values: [], isExact: true, result: 'reject', code, reason: sentence }
}
