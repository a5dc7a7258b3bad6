import type { MonitorState } from './monitors.ts'
import type { VerdictReason } from './reasons.ts'

/** The parameters of the causes on the dashboard's overview. `observed` and `expected`: the values, if all monitors of the cause have the same. */
type CauseParams = {
  name: string
  record_type: string
  domain: string
  count: number
  observed: readonly string[]
  expected: readonly string[]
}
type Template<P extends keyof CauseParams> = {
  about: string
  params: readonly P[]
  text(params: Pick<CauseParams, P>): string
}
const template = <const P extends keyof CauseParams>(
  about: string,
  params: readonly P[],
  text: Template<P>['text'],
): Template<P> => ({ about, params, text })

/** For one monitor, and for several monitors of a domain. A single monitor may have a more precise reason instead. */
export const CAUSES = {
  answers_instead: template('MISMATCH of one monitor.', ['name', 'record_type', 'observed', 'expected'], (params) => {
    // Not "the A record of": with a CNAME, the A record belongs to another name.
    return `${params.name} (${params.record_type}) answers ${comparisonText(params)}.`
  }),
  answers_unexpected: template(
    'MISMATCH of one monitor whose expected values are too long to show.',
    ['name', 'record_type', 'observed'],
    (params) =>
      `${params.name} (${params.record_type}) answers ${joinWithAnd(params.observed)}, which is not expected.`,
  ),
  answers_differ: template(
    'MISMATCH of one monitor, with values too long to show.',
    ['name', 'record_type'],
    (params) => {
      return `${params.name} (${params.record_type}) answers other values than expected.`
    },
  ),
  records_answer_instead: template(
    'MISMATCH of several monitors.',
    ['count', 'domain', 'observed', 'expected'],
    ({ count, domain, ...values }) => `${count} records of ${domain} answer ${comparisonText(values)}.`,
  ),
  records_answer_unexpected: template(
    'MISMATCH of several monitors that expect different values.',
    ['count', 'domain', 'observed'],
    ({ count, domain, observed }) =>
      `${count} records of ${domain} answer ${joinWithAnd(observed)}, which is not expected.`,
  ),
  records_differ: template('MISMATCH of several monitors, with different values.', ['count', 'domain'], (params) => {
    return `${params.count} records of ${params.domain} answer other values than expected.`
  }),
  name_not_found: template('NOT_FOUND of one monitor.', ['name'], ({ name }) => `${name} does not exist (NXDOMAIN).`),
  names_not_found: template('NOT_FOUND of several monitors.', ['count', 'domain'], ({ count, domain }) => {
    return `${count} names of ${domain} do not exist (NXDOMAIN).`
  }),
  record_missing: template('NO_DATA of one monitor.', ['name', 'record_type'], ({ name, record_type }) => {
    return `${name} has no ${record_type} record.`
  }),
  records_missing: template('NO_DATA of several monitors.', ['count', 'domain'], ({ count, domain }) => {
    return `${count} names of ${domain} have no record of the monitored type.`
  }),
  record_times_out: template('TIMEOUT of one monitor.', ['name', 'record_type'], ({ name, record_type }) => {
    return `No name server answers for the ${record_type} record of ${name}.`
  }),
  records_time_out: template('TIMEOUT of several monitors.', ['count', 'domain'], ({ count, domain }) => {
    return `No name server answers for ${count} records of ${domain}.`
  }),
  lookup_fails: template('INVALID of one monitor.', ['name', 'record_type'], ({ name, record_type }) => {
    return `The lookup of the ${record_type} record of ${name} fails.`
  }),
  lookups_fail: template('INVALID of several monitors.', ['count', 'domain'], ({ count, domain }) => {
    return `The lookup of ${count} records of ${domain} fails.`
  }),
  name_misconfigured: template('BAD_SETUP of one monitor.', ['name'], ({ name }) => `${name} is misconfigured.`),
  names_misconfigured: template('BAD_SETUP of several monitors.', ['count', 'domain'], ({ count, domain }) => {
    return `${count} names of ${domain} are misconfigured.`
  }),
} as const
export type CauseCode = keyof typeof CAUSES

export type CauseReason = { code: CauseCode | VerdictReason['code']; params: object; text: string }

/** `owner` and `recordType`: of the first monitor. `current` and `expected`: set if all monitors have the same. */
type CauseInput = {
  state: MonitorState
  domain: string
  count: number
  owner: string
  recordType: string
  current?: readonly string[]
  expected?: readonly string[]
  /** The reason of the check, if `count` is 1. */
  reason?: CauseReason
}

/** What is wrong, as a code with parameters and as text. Pure. */
export function causeReasonOf(input: CauseInput): CauseReason {
  const { state, count, owner, recordType, domain, current = [], expected = [] } = input
  const one = count === 1
  const params = { name: owner, record_type: recordType, count, domain, observed: current, expected }
  switch (state) {
    case 'MISMATCH':
      if (input.reason) return input.reason
      if (!isShort(current)) return causeReason(one ? 'answers_differ' : 'records_differ', params)
      if (!isShort(expected)) return causeReason(one ? 'answers_unexpected' : 'records_answer_unexpected', params)
      return causeReason(one ? 'answers_instead' : 'records_answer_instead', params)
    case 'NOT_FOUND':
      return input.reason ?? causeReason(one ? 'name_not_found' : 'names_not_found', params)
    case 'NO_DATA':
      return input.reason ?? causeReason(one ? 'record_missing' : 'records_missing', params)
    case 'TIMEOUT':
      return causeReason(one ? 'record_times_out' : 'records_time_out', params)
    case 'INVALID':
      return input.reason ?? causeReason(one ? 'lookup_fails' : 'lookups_fail', params)
    case 'BAD_SETUP':
      return input.reason ?? causeReason(one ? 'name_misconfigured' : 'names_misconfigured', params)
    case 'UNSET':
    case 'VALID':
      throw new Error(`${state} is no failure.`)
  }
}

const MAX_VALUES = 3
const MAX_VALUE_LENGTH = 60

/** Long values are not part of the text. The monitor's page shows them. */
function isShort(values: readonly string[]): boolean {
  if (values.length === 0 || values.length > MAX_VALUES) return false
  return values.every((value) => value.length <= MAX_VALUE_LENGTH && value.trim() !== '')
}

/** The values of these JSON texts, if all are the same. */
export function commonValues(texts: readonly (string | null)[]): string[] | undefined {
  const [first] = texts
  return first && texts.every((text) => text === first) ? JSON.parse(first) : undefined
}

/** Selects the parameters that the code uses. */
function causeReason(code: CauseCode, values: CauseParams): CauseReason {
  const { params, text } = CAUSES[code] as Template<keyof CauseParams>
  return { code, params: Object.fromEntries(params.map((name) => [name, values[name]])), text: text(values) }
}

/** The same difference in the same words as in the reason of a check. */
function comparisonText({ observed, expected }: Pick<CauseParams, 'observed' | 'expected'>): string {
  const unexpected = observed.filter((value) => !expected.includes(value))
  const missing = expected.filter((value) => !observed.includes(value))
  if (missing.length === 0) return `${joinWithAnd(observed)}; not expected: ${joinWithAnd(unexpected)}`
  if (unexpected.length === 0) return `${joinWithAnd(observed)} without the expected ${joinWithAnd(missing)}`
  return `${joinWithAnd(unexpected)} instead of ${joinWithAnd(missing)}`
}

function joinWithAnd(values: readonly string[]): string {
  return values.length < 2 ? values.join('') : `${values.slice(0, -1).join(', ')} and ${values.at(-1)}`
}
