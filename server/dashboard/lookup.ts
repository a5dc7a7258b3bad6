import type { Found, Lookup, LookupRequest } from '#contract/dashboard.ts'
import { fieldError } from '#contract/field-errors.ts'
import { textOf } from '#contract/reasons.ts'
import { type MonitorRecordType, RECORD_TYPES } from '#contract/record-types.ts'
import { evaluate } from '../checks/verdict.ts'
import type { Deps } from '../deps.ts'
import type { Reply } from '../dns/outcome.ts'
import { parseMonitorName, pastedName } from '../monitors/names.ts'
import type { NameKind } from '../monitors/record-types/record-type.ts'
import { expectationOf, recordTypeOf } from '../monitors/record-types/record-types.ts'
import { invalid } from '../problem.ts'

export type LookupDeps = Pick<Deps, 'dns' | 'clock'>

/** All of them together. */
const DEADLINE_MS = 5_000
/** For each question, so that three servers can be asked within the deadline. */
const TIMEOUT_MS = 1_600
const TRIES = 3
const MOST_VALUES = 50

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
  const types = record_type === undefined ? typesLikelyAt(kindOf(parsed.name)) : [record_type]
  const found = await askTypes(deps, owner, types)
  const [some, none] = [
    found.filter(({ values }) => values.length > 0),
    found.filter(({ values }) => values.length === 0),
  ]
  return { full_domain: owner || '.', domain, subdomain, found: [...some, ...none] }
}

/** One question for each type that is asked on the wire: SPF and TXT share theirs. */
export async function askTypes(
  { dns, clock }: LookupDeps,
  owner: string,
  types: readonly MonitorRecordType[],
): Promise<Found[]> {
  const deadline = new AbortController()
  const over = new AbortController()
  void clock.sleep(DEADLINE_MS, over.signal).then(() => deadline.abort())
  const options = { timeoutMs: TIMEOUT_MS, tries: TRIES, signal: deadline.signal }
  const questions = new Map<string, Promise<Reply & { ms: number }>>()
  const replyTo = (recordType: MonitorRecordType) => {
    const type = recordTypeOf(recordType).queryType
    const began = clock.elapsed()
    const asked =
      questions.get(type) ??
      dns
        .query({ name: owner, type }, options)
        .catch((error): Reply => {
          if (!deadline.signal.aborted) throw error
          return { outcome: { kind: 'timeout' }, evidence: [] }
        })
        .then((reply) => ({ ...reply, ms: clock.elapsed() - began }))
    questions.set(type, asked)
    return asked
  }
  try {
    return await Promise.all(types.map(async (type) => toFound(owner, type, await replyTo(type))))
  } finally {
    over.abort()
  }
}

/** CNAME first: behind an alias all others are those of its target. */
export function typesLikelyAt(kind: NameKind): MonitorRecordType[] {
  const types = new Set<MonitorRecordType>(['CNAME', ...RECORD_TYPES])
  return [...types].filter((type) => recordTypeOf(type).suggestedFor.includes(kind))
}

function kindOf({ owner, subdomain }: { owner: string; subdomain: string }): NameKind {
  if (owner.endsWith('.in-addr.arpa') || owner.endsWith('.ip6.arpa')) return 'address'
  if (owner.startsWith('_')) return 'service'
  return subdomain === '' ? 'apex' : 'host'
}

function toFound(owner: string, recordType: MonitorRecordType, { outcome, ms }: Reply & { ms: number }): Found {
  const {
    state,
    values = [],
    reason,
  } = evaluate({ owner, recordType: recordTypeOf(recordType), expectedValues: [], isExactMatch: false }, outcome)
  const expected = expectationOf(recordType, values)
  return {
    record_type: recordType,
    outcome: state,
    values: values.slice(0, MOST_VALUES),
    expected_value: expected.values,
    is_exact_match: expected.isExact,
    sentence: textOf(reason.code === 'as_expected' ? { ...reason, code: 'records_found' } : reason),
    milliseconds: Math.round(ms),
  }
}
