import { type Static, type TSchema, Type } from 'typebox'
import { StrictObject } from './common.ts'
import { DnssecCause, dnssecFindingText } from './dnssec.ts'
import { listed, pathOf } from './reason-wording.ts'
import type { VerdictReason } from './reasons.ts'
import { type MonitorRecordType, RECORD_TYPE_TEXTS } from './record-types.ts'
import type { Warning } from './warnings.ts'

type Params = {
  /** The name that has, or should have, the record: the end of the CNAME chain. */
  owner: string
  name: string
  record_type: string
  add: readonly string[]
  remove: readonly string[]
  missing: readonly string[]
  extend: readonly string[]
  target: string
  chain: readonly string[]
  zone: string
  name_servers: readonly string[]
  causes: readonly DnssecFinding[]
}

/** Why the answers of some name servers fail DNSSEC validation. */
export type DnssecFinding = { name_servers: string[]; cause: DnssecCause }
type Template<P extends keyof Params> = {
  title: string
  params: readonly P[]
  steps(params: Pick<Params, P>): string[]
}
const entry = <const P extends keyof Params>(
  title: string,
  params: readonly P[],
  steps: Template<P>['steps'],
): Template<P> => ({ title, params, steps })

/** The sentence for those who own the monitor. A customer can only change the records. */
const ACCEPT = 'If the change was intended, accept the current values instead.'

/** What the owner of a zone can do, by code. `steps`: sentences in order; they mention the records to add and to remove. */
export const ADVICE = {
  replace_records: entry('Replace the records', ['name', 'owner', 'record_type', 'add', 'remove'], (params) => [
    ...chainStep(params),
    `Replace ${listed(params.remove)} with ${listed(params.add)} in the ${recordText(params, 2)} of ${params.owner} ${placeText(params)}.`,
    ACCEPT,
  ]),
  add_records: entry('Add the missing records', ['name', 'owner', 'record_type', 'add'], (params) => [
    ...chainStep(params),
    `Add ${listed(params.add)} to the ${recordText(params, 2)} of ${params.owner} ${placeText(params)}.`,
  ]),
  extend_record: entry('Extend the record', ['name', 'owner', 'record_type', 'missing', 'extend'], (params) => [
    ...chainStep(params),
    `Extend ${listed(params.extend)} in the ${recordText(params, 2)} of ${params.owner} ${placeText(params)}, so that it contains all parts of ${listed(params.missing)}. Two records of this kind are an error.`,
  ]),
  remove_records: entry('Remove the unexpected records', ['name', 'owner', 'record_type', 'remove'], (params) => [
    ...chainStep(params),
    `Remove ${listed(params.remove)} from the ${recordText(params, 2)} of ${params.owner} ${placeText(params)}.`,
    ACCEPT,
  ]),
  complete_planned_change: entry('Complete the planned change', ['owner', 'record_type'], (params) => [
    `Set the ${recordText(params, 2)} of ${params.owner} ${placeText(params)} to the new values, or cancel the planned change.`,
  ]),
  create_name: entry('Create the name', ['name', 'record_type', 'add'], (params) => [
    `Create ${params.name} ${placeText(params)} with ${listed(params.add)} as its ${recordText(params, params.add.length)}.`,
    'If the whole domain is missing, check at your registrar that it is registered, has not expired and has name servers.',
  ]),
  fix_cname_target: entry('Fix the CNAME or its target', ['name', 'record_type', 'target'], (params) => [
    `Point the CNAME of ${params.name} to a name that has ${recordText(params, 2)}, or create them at ${params.target}.`,
  ]),
  keep_one_record: entry('Keep one record', ['owner', 'record_type'], (params) => [
    `Receivers treat several records of this kind as an error. Combine them in one record of ${params.owner}, and remove the others.`,
  ]),
  break_cname_loop: entry('Break the CNAME loop', ['name', 'chain'], (params) => [
    `The CNAME chain of ${params.name} is a loop: ${pathOf(params.chain)}. Point one of these CNAME records to a name that has records.`,
  ]),
  shorten_cname_chain: entry('Shorten the CNAME chain', ['name'], (params) => [
    `Point the CNAME of ${params.name} closer to the end of its chain. Resolvers follow a limited number of CNAME records.`,
  ]),
  correct_name_servers: entry('Correct the name servers', ['zone', 'name_servers'], ({ zone, name_servers }) => [
    name_servers.length === 0
      ? `Compare the name servers of ${zone} at your registrar with the ones that your DNS provider lists.`
      : `None of the name servers of ${zone} (${listed(name_servers)}) serves the zone. Set it up there, or enter the name servers of your DNS provider at your registrar.`,
  ]),
  restore_name_servers: entry('Restore the name servers', ['name'], ({ name }) => [
    `Check that the name servers of ${name} run and can be reached on port 53 over UDP and TCP.`,
    'If you use a DNS provider, check its status page.',
  ]),
  fix_dnssec: entry('Fix DNSSEC', ['name', 'causes'], ({ name, causes = [] }) => [
    ...causes.map(dnssecFindingText),
    `Compare the DS record at your registrar with the DNSKEY records of the zone of ${name}, and check that its signatures have not expired.`,
    'Sign the zone again, or remove the DS record. Until then most users cannot resolve the name.',
  ]),
  check_zone: entry('Check the zone', ['name'], ({ name }) => [
    `Check at your DNS provider that the zone of ${name} loads without errors and that all its name servers run.`,
    'If you changed your provider or DNSSEC, compare the name servers and the DS record at your registrar.',
  ]),
  contact_provider: entry('Contact your DNS provider', ['name'], ({ name }) => [
    `The answers for ${name} cannot be used. Send the evidence to your DNS provider.`,
  ]),
} as const
export type AdviceCode = keyof typeof ADVICE

/** What to do about a verdict; null if there is nothing to do. `warnings`: of the check; they may say why DNSSEC validation fails. */
export function adviceFor({ code, params }: VerdictReason, warnings: readonly Warning[] = []): Advice | null {
  switch (code) {
    case 'as_expected':
    case 'records_found':
    case 'change_in_progress':
    case 'not_certain':
    case 'unclassified':
      return null
    case 'unexpected_values':
      return newAdvice('replace_records', { ...recordParams(params), add: params.missing, remove: params.unexpected })
    case 'missing_values': {
      const extend = params.observed.filter((text) => params.missing.some((missing) => isOfOnePolicy(missing, text)))
      if (extend.length > 0)
        return newAdvice('extend_record', { ...recordParams(params), missing: params.missing, extend })
      // A name can have only one such record, so it is replaced in flexible mode too.
      return RECORD_TYPE_TEXTS[params.record_type as MonitorRecordType]?.isSingle
        ? newAdvice('replace_records', { ...recordParams(params), add: params.missing, remove: params.observed })
        : newAdvice('add_records', { ...recordParams(params), add: params.missing })
    }
    case 'extra_values':
      return newAdvice('remove_records', { ...recordParams(params), remove: params.unexpected })
    case 'unexpected_during_change':
    case 'change_not_arrived':
      return newAdvice('complete_planned_change', recordParams(params))
    case 'no_such_name':
      return newAdvice('create_name', { ...recordParams(params), add: params.missing })
    case 'no_records':
      return newAdvice('add_records', { ...recordParams(params), add: params.missing })
    case 'no_such_target':
    case 'no_records_at_target':
      return newAdvice('fix_cname_target', params)
    case 'several_spf_records':
    case 'several_dmarc_records':
      return newAdvice('keep_one_record', recordParams(params))
    case 'cname_loop':
      return newAdvice('break_cname_loop', params)
    case 'cname_chain_too_long':
      return newAdvice('shorten_cname_chain', params)
    case 'lame_delegation':
      return newAdvice('correct_name_servers', params)
    case 'query_refused':
      return newAdvice('correct_name_servers', { zone: params.name, name_servers: [] })
    case 'no_answer':
    case 'no_answer_over_tcp':
    case 'unreachable':
    case 'name_servers_unreachable':
      return newAdvice('restore_name_servers', params)
    case 'dnssec_failed':
      return newAdvice('fix_dnssec', { ...params, ...causesIn(warnings) })
    case 'query_failed':
      return newAdvice('check_zone', params)
    case 'referral':
    case 'malformed_answer':
      return newAdvice('contact_provider', params)
  }
}

/** Texts such as SPF, DMARC and DKIM records begin with their version, which DKIM may omit. A name can have one of each. */
function isOfOnePolicy(expected: string, text: string): boolean {
  const version = versionOf(expected)
  return version !== '' && (versionOf(text) === version || (version === 'dkim1' && /(?:^|;)\s*p\s*=/.test(text)))
}

const versionOf = (text: string) => /^["\s]*v\s*=\s*(\w+)/i.exec(text)?.[1]?.toLowerCase() ?? ''

/** Absent if the name servers were not asked, or none of their answers fails validation. */
function causesIn(warnings: readonly Warning[]): { causes?: DnssecFinding[] } {
  const causes = warnings.flatMap(({ code, params }) => (code === 'dnssec_bogus' ? [params] : []))
  return causes.length > 0 ? { causes } : {}
}

/** The sentences of an advice, in order. */
export const stepsOf = ({ code, params }: Pick<Advice, 'code' | 'params'>): string[] =>
  (ADVICE[code] as Template<keyof Params>).steps(params as Params)

/** The sentences for a customer, who sees the record to create, but no monitor. */
export const customerStepsOf = (advice: Pick<Advice, 'code' | 'params'>): string[] =>
  advice.code === 'complete_planned_change' || advice.code === 'add_records'
    ? []
    : stepsOf(advice).filter((step) => step !== ACCEPT)

function newAdvice(code: AdviceCode, values: Partial<Params>): Advice {
  const { params: names } = ADVICE[code] as Template<keyof Params>
  const params = Object.fromEntries(names.map((name) => [name, values[name]])) as Advice['params']
  return { code, params, text: stepsOf({ code, params }).join(' ') }
}

type RecordParams = { name: string; record_type: string; record: { name: string } }
const recordParams = ({ name, record_type, record }: RecordParams) => ({ name, record_type, owner: record.name })

const chainStep = ({ name, owner }: Pick<Params, 'name' | 'owner'>): string[] =>
  name === owner ? [] : [`The records of ${name} are at ${owner}, the end of its CNAME chain.`]

const textsOf = (type: string) => RECORD_TYPE_TEXTS[type as MonitorRecordType]

/** Where the record is changed. */
const placeText = ({ record_type }: Pick<Params, 'record_type'>): string =>
  textsOf(record_type)?.place ?? 'at your DNS provider'

const recordText = ({ record_type }: Pick<Params, 'record_type'>, count: number): string =>
  `${textsOf(record_type)?.name ?? record_type} record${count === 1 ? '' : 's'}`

const PARAMS = {
  owner: Type.String({ description: 'The name that has, or should have, the record: the end of the CNAME chain.' }),
  name: Type.String({ description: 'The monitored name.' }),
  record_type: Type.String(),
  add: Type.Array(Type.String(), { description: 'Records to add.' }),
  remove: Type.Array(Type.String(), { description: 'Records to remove.' }),
  missing: Type.Array(Type.String(), { description: 'What the record has to contain.' }),
  extend: Type.Array(Type.String(), { description: 'The record that does not contain it.' }),
  target: Type.String({ description: 'The end of the CNAME chain.' }),
  chain: Type.Array(Type.String()),
  zone: Type.String(),
  name_servers: Type.Array(Type.String(), { description: 'The delegation; empty if it is not known.' }),
  causes: Type.Array(StrictObject({ name_servers: Type.Array(Type.String()), cause: DnssecCause }), {
    description: 'Why DNSSEC validation fails, and at which name servers; absent if that is not known.',
  }),
} satisfies Record<keyof Params, TSchema>

export const Advice = StrictObject(
  {
    code: Type.Enum(Object.keys(ADVICE) as AdviceCode[], { type: 'string' }),
    params: Type.Partial(StrictObject(PARAMS)),
    text: Type.String({ description: 'What to do, in English.' }),
  },
  {
    title: 'Advice',
    description:
      'What the owner of the zone can do about the verdict. Codes and parameter names never change their meaning. New ones may be added.',
    examples: [
      {
        code: 'restore_name_servers',
        params: { name: 'www.example.com' },
        text: 'Check that the name servers of www.example.com run and can be reached on port 53 over UDP and TCP. If you use a DNS provider, check its status page.',
      },
    ],
  },
)
export type Advice = Static<typeof Advice>
