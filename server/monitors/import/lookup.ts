import type { Lookup, LookupRequest, LookupResult } from '#contract/dashboard.ts'
import { fieldError } from '#contract/field-errors.ts'
import { textOf } from '#contract/reasons.ts'
import { type MonitorRecordType, RECORD_TYPES } from '#contract/record-types.ts'
import { evaluate } from '../../checks/verdict.ts'
import type { Clock } from '../../clock.ts'
import type { DnsClient, QueryOptions } from '../../dns/client.ts'
import type { Reply } from '../../dns/outcome.ts'
import { invalid } from '../../problem.ts'
import type { NameKind } from '../../record-types/record-type.ts'
import { expectationOf, recordTypeOf } from '../../record-types/record-types.ts'
import { parseMonitorName, pastedName } from '../names.ts'

export type LookupDeps = { dns: DnsClient; clock: Clock }

/** For all queries together. */
const DEADLINE_MS = 5_000
/** For each attempt, so that three servers can be queried within the deadline. */
const TIMEOUT_MS = 1_600
const ATTEMPTS = 3
const MAX_VALUES = 50

/** The live records of a name. Throws a 400 for a text that holds no name. Writes nothing. */
export async function lookUp(deps: LookupDeps, { name, record_type }: LookupRequest): Promise<Lookup> {
  const pasted = pastedName(name)
  const isAddress = pasted.endsWith('.arpa') && !name.trim().toLowerCase().includes('.arpa')
  if (isAddress && record_type !== undefined && record_type !== 'PTR') {
    throw invalid({ record_type: fieldError('ptr_required') })
  }
  const parsed = parseMonitorName({ full_domain: pasted }, 'PTR')
  if (!parsed.ok) throw invalid({ name: parsed.errors.full_domain! })
  const { owner, domain, subdomain } = parsed.name
  const types = record_type === undefined ? typesLikelyAt(nameKindOf(parsed.name)) : [record_type]
  const results = await queryTypes(deps, owner, types)
  const [withValues, withoutValues] = [
    results.filter(({ values }) => values.length > 0),
    results.filter(({ values }) => values.length === 0),
  ]
  return { full_domain: owner || '.', domain, subdomain, found: [...withValues, ...withoutValues] }
}

/** Sends one query for each type in the DNS: SPF and TXT share one. */
export async function queryTypes(
  { dns, clock }: LookupDeps,
  owner: string,
  types: readonly MonitorRecordType[],
): Promise<LookupResult[]> {
  const deadline = new AbortController()
  const finished = new AbortController()
  void clock.sleep(DEADLINE_MS, finished.signal).then(() => deadline.abort())
  const options: QueryOptions = { timeoutMs: TIMEOUT_MS, attempts: ATTEMPTS, signal: deadline.signal }
  const replies = new Map<string, Promise<Reply & { ms: number }>>()
  const queryOnce = (recordType: MonitorRecordType) => {
    const type = recordTypeOf(recordType).queryType
    const startedAt = clock.elapsed()
    const reply =
      replies.get(type) ??
      dns
        .query({ name: owner, type }, options)
        .catch((error): Reply => {
          if (!deadline.signal.aborted) throw error
          return { outcome: { kind: 'timeout' }, evidence: [] }
        })
        .then((reply) => ({ ...reply, ms: clock.elapsed() - startedAt }))
    replies.set(type, reply)
    return reply
  }
  try {
    return await Promise.all(types.map(async (type) => toResult(owner, type, await queryOnce(type))))
  } finally {
    finished.abort()
  }
}

/** CNAME first, because the other records of an alias are those of its target. */
export function typesLikelyAt(kind: NameKind): MonitorRecordType[] {
  const types = new Set<MonitorRecordType>(['CNAME', ...RECORD_TYPES])
  return [...types].filter((type) => recordTypeOf(type).suggestedFor.includes(kind))
}

function nameKindOf({ owner, subdomain }: { owner: string; subdomain: string }): NameKind {
  if (owner.endsWith('.in-addr.arpa') || owner.endsWith('.ip6.arpa')) return 'address'
  if (owner.startsWith('_')) return 'service'
  return subdomain === '' ? 'apex' : 'host'
}

function toResult(owner: string, recordType: MonitorRecordType, { outcome, ms }: Reply & { ms: number }): LookupResult {
  const {
    state,
    values = [],
    reason,
  } = evaluate({ owner, recordType: recordTypeOf(recordType), expectedValues: [], isExactMatch: false }, outcome)
  const expected = expectationOf(recordType, values)
  return {
    record_type: recordType,
    outcome: state,
    values: values.slice(0, MAX_VALUES),
    expected_value: expected.values,
    is_exact_match: expected.isExact,
    sentence: textOf(reason.code === 'as_expected' ? { ...reason, code: 'records_found' } : reason),
    milliseconds: Math.round(ms),
  }
}
