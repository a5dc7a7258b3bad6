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

/** Selects the parameters that the code uses. */
export function causeReason(code: CauseCode, values: CauseParams): CauseReason {
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
