import type { VerdictReason } from './reasons.ts'

/** What a cause on the dashboard's overview is about. `observed` and `expected`: values that all monitors of the cause share. */
type Params = {
  name: string
  record_type: string
  domain: string
  count: number
  observed: readonly string[]
  expected: readonly string[]
}
type Entry<P extends keyof Params> = { about: string; params: readonly P[]; text(params: Pick<Params, P>): string }
const entry = <const P extends keyof Params>(
  about: string,
  params: readonly P[],
  text: Entry<P>['text'],
): Entry<P> => ({ about, params, text })

/** One template for each case: of one monitor, and of several monitors of a domain. A single monitor may have its own reason instead. */
export const CAUSES = {
  answers_instead: entry('MISMATCH of one monitor.', ['name', 'record_type', 'observed', 'expected'], (params) => {
    // Not "the A record of": behind a CNAME that is another name's.
    return `${params.name} (${params.record_type}) answers ${listed(params.observed)} instead of ${listed(params.expected)}.`
  }),
  answers_unexpected: entry(
    'MISMATCH of one monitor whose expected values are too long to show.',
    ['name', 'record_type', 'observed'],
    (params) => `${params.name} (${params.record_type}) answers ${listed(params.observed)}, which is not expected.`,
  ),
  answers_differ: entry('MISMATCH of one monitor, with values too long to show.', ['name', 'record_type'], (params) => {
    return `${params.name} (${params.record_type}) answers other values than expected.`
  }),
  records_answer_instead: entry(
    'MISMATCH of several monitors.',
    ['count', 'domain', 'observed', 'expected'],
    ({ count, domain, observed, expected }) =>
      `${count} records of ${domain} answer ${listed(observed)} instead of ${listed(expected)}.`,
  ),
  records_answer_unexpected: entry(
    'MISMATCH of several monitors that expect different values.',
    ['count', 'domain', 'observed'],
    ({ count, domain, observed }) => `${count} records of ${domain} answer ${listed(observed)}, which is not expected.`,
  ),
  records_differ: entry('MISMATCH of several monitors, with different values.', ['count', 'domain'], (params) => {
    return `${params.count} records of ${params.domain} answer other values than expected.`
  }),
  name_not_found: entry('NOT_FOUND of one monitor.', ['name'], ({ name }) => `${name} does not exist (NXDOMAIN).`),
  names_not_found: entry('NOT_FOUND of several monitors.', ['count', 'domain'], ({ count, domain }) => {
    return `${count} names of ${domain} do not exist (NXDOMAIN).`
  }),
  record_missing: entry('NO_DATA of one monitor.', ['name', 'record_type'], ({ name, record_type }) => {
    return `${name} has no ${record_type} record.`
  }),
  records_missing: entry('NO_DATA of several monitors.', ['count', 'domain'], ({ count, domain }) => {
    return `${count} names of ${domain} have no record of the monitored type.`
  }),
  record_times_out: entry('TIMEOUT of one monitor.', ['name', 'record_type'], ({ name, record_type }) => {
    return `No name server answers for the ${record_type} record of ${name}.`
  }),
  records_time_out: entry('TIMEOUT of several monitors.', ['count', 'domain'], ({ count, domain }) => {
    return `No name server answers for ${count} records of ${domain}.`
  }),
  lookup_fails: entry('INVALID of one monitor.', ['name', 'record_type'], ({ name, record_type }) => {
    return `The lookup of the ${record_type} record of ${name} fails.`
  }),
  lookups_fail: entry('INVALID of several monitors.', ['count', 'domain'], ({ count, domain }) => {
    return `The lookup of ${count} records of ${domain} fails.`
  }),
  name_misconfigured: entry('BAD_SETUP of one monitor.', ['name'], ({ name }) => `${name} is misconfigured.`),
  names_misconfigured: entry('BAD_SETUP of several monitors.', ['count', 'domain'], ({ count, domain }) => {
    return `${count} names of ${domain} are misconfigured.`
  }),
} as const
export type CauseCode = keyof typeof CAUSES

export type CauseReason = { code: CauseCode | VerdictReason['code']; params: object; text: string }

/** `params` may hold more than the code has. */
export function causeReason(code: CauseCode, given: Params): CauseReason {
  const { params, text } = CAUSES[code] as Entry<keyof Params>
  return { code, params: Object.fromEntries(params.map((name) => [name, given[name]])), text: text(given) }
}

function listed(values: readonly string[]): string {
  return values.length < 2 ? values.join('') : `${values.slice(0, -1).join(', ')} and ${values.at(-1)}`
}
