import { type Static, type TObject, type TProperties, Type } from 'typebox'
import { StrictObject } from './common.ts'
import { errorCodes, hiddenDifference, listed, MAX_NAME_SERVERS, pathOf, plain } from './reason-wording.ts'
import { WAIT_HOURS } from './setup-pages.ts'

const REASONS_ARE_STABLE = 'Codes and parameter names never change their meaning. New ones may be added.'

const texts = (description: string) => Type.Array(Type.String(), { description })
const name = Type.String({ description: 'The monitored name.', examples: ['www.example.com'] })
const zone = Type.String({ description: 'The zone; `.` for the root.', examples: ['example.com'] })
const truncated = Type.Optional(
  Type.Literal(true, { description: 'Present if lists or values were shortened to fit.' }),
)
const record = StrictObject(
  { name: Type.String(), type: Type.String() },
  {
    description:
      'The RRset that has to change: add `missing`, remove `unexpected`. `name` is the end of the CNAME chain, if there is one.',
  },
)
const missing = texts('Expected values that no record matches.')

const Values = StrictObject({
  name,
  record_type: Type.String({ description: 'The record type of the monitor.' }),
  observed: texts('The values that the DNS answered.'),
  matched: texts('Expected values that a record matches.'),
  missing,
  unexpected: texts('Observed values that are not expected; empty if `is_exact_match` is false.'),
  counts: StrictObject(
    { observed: Type.Integer(), matched: Type.Integer(), missing: Type.Integer(), unexpected: Type.Integer() },
    { description: 'The number of values in each list before it was shortened.' },
  ),
  record,
  truncated,
})
const Changing = StrictObject({
  ...Values.properties,
  old_value: texts('The values before the planned change.'),
  new_value: texts('The values after it.'),
})
const Absent = StrictObject({ name, record_type: Type.String(), missing, record, truncated })
const AbsentAtTarget = StrictObject({
  ...Absent.properties,
  target: Type.String({ description: 'The end of the CNAME chain.' }),
})
const Chain = StrictObject({ name, chain: texts('The names of the CNAME chain, in order.'), truncated })
const Failure = StrictObject({
  name,
  rcode: Type.String({ examples: ['SERVFAIL'] }),
  extended_errors: Type.Array(StrictObject({ code: Type.Integer(), text: Type.String() }), {
    description: 'Extended DNS errors, RFC 8914.',
  }),
  truncated,
})
const Detail = StrictObject({
  name,
  detail: Type.String({ description: 'Diagnostic text in English; may change.' }),
  truncated,
})
const Name = StrictObject({ name, truncated })
const None = StrictObject({ truncated })
const Zone = StrictObject({ zone, truncated })
const Unclassified = StrictObject({ text: Type.String({ description: 'The text as it was recorded.' }), truncated })

/** A reason is a code with parameters. The text is built from a template when it is shown, so a translation replaces only templates. */
type Entry<P extends TProperties> = { about: string; params: TObject<P>; text(params: Static<TObject<P>>): string }
const entry = <P extends TProperties>(about: string, params: TObject<P>, text: Entry<P>['text']): Entry<P> => ({
  about,
  params,
  text,
})

const unclassified = entry('Recorded by an older version, as text only.', Unclassified, ({ text }) => text)

/** Why a monitor is in its state. */
export const VERDICT_REASONS = {
  as_expected: entry('VALID: the records match the expected values.', Values, ({ name, observed, counts }) => {
    return `${name} answers ${listed(observed, counts.observed)}, as expected.`
  }),
  unexpected_values: entry(
    'MISMATCH: expected values are missing, and other values are there instead.',
    Values,
    ({ name, missing, unexpected, counts }) =>
      `${name} answers ${listed(unexpected, counts.unexpected)} instead of ${listed(missing, counts.missing)}.${hiddenDifference(missing, unexpected)}`,
  ),
  missing_values: entry(
    'MISMATCH: expected values are missing.',
    Values,
    ({ name, observed, missing, counts }) =>
      `${name} answers ${listed(observed, counts.observed)} without the expected ${listed(missing, counts.missing)}.${hiddenDifference(missing, observed)}`,
  ),
  extra_values: entry(
    'MISMATCH: all expected values are there, and others too.',
    Values,
    ({ name, observed, unexpected, counts }) =>
      `${name} answers ${listed(observed, counts.observed)}; not expected: ${listed(unexpected, counts.unexpected)}.`,
  ),
  change_in_progress: entry('VALID: a planned change is in progress.', Changing, (params) => {
    const { name, observed, counts, new_value } = params
    return `${name} answers ${listed(observed, counts.observed)}. The planned change to ${listed(new_value)} is in progress.`
  }),
  unexpected_during_change: entry('MISMATCH: the values are not part of a planned change.', Changing, (params) => {
    const { name, observed, counts, old_value, new_value } = params
    return `${name} answers ${listed(observed, counts.observed)}, which is not part of the planned change from ${listed(old_value)} to ${listed(new_value)}.`
  }),
  change_not_arrived: entry('MISMATCH: the period of a planned change ended before it arrived.', Changing, (params) => {
    const { name, observed, counts, new_value } = params
    return `${name} answers ${listed(observed, counts.observed)}. The planned change to ${listed(new_value)} has not arrived in its period.`
  }),
  records_found: entry('VALID: a lookup without expected values found records.', Values, (params) => {
    return `${params.name} answers ${listed(params.observed, params.counts.observed)}.`
  }),
  no_such_name: entry('NOT_FOUND: the name does not exist.', Absent, ({ name }) => {
    return `${name} does not exist (NXDOMAIN).`
  }),
  no_such_target: entry(
    'NOT_FOUND: the name is a CNAME, and the end of its chain does not exist.',
    AbsentAtTarget,
    ({ name, target }) => `${name} points to ${target} (CNAME), which does not exist (NXDOMAIN).`,
  ),
  no_records: entry('NO_DATA: the name has no record of the type.', Absent, ({ name, record_type }) => {
    return `${name} exists but has no ${record_type} record.`
  }),
  no_records_at_target: entry(
    'NO_DATA: the name is a CNAME, and the end of its chain has no record of the type.',
    AbsentAtTarget,
    ({ name, target, record_type }) =>
      `${name} points to ${target} (CNAME), which exists but has no ${record_type} record.`,
  ),
  several_spf_records: entry(
    'BAD_SETUP: receivers treat more than one SPF record as an error, RFC 7208 section 4.5.',
    Values,
    ({ name, counts }) => `${name} has ${counts.observed} SPF records; only one is allowed.`,
  ),
  several_dmarc_records: entry(
    'BAD_SETUP: receivers apply no policy if there is more than one DMARC record, RFC 7489 section 6.6.3.',
    Values,
    ({ name, counts }) => `${name} has ${counts.observed} DMARC records; only one is allowed.`,
  ),
  cname_loop: entry('BAD_SETUP: the CNAME chain is a loop.', Chain, ({ name, chain }) => {
    return `CNAME loop at ${name} (${pathOf(chain)}).`
  }),
  cname_chain_too_long: entry('BAD_SETUP: the chain has more than 16 CNAME records.', Chain, ({ name, chain }) => {
    return `The CNAME chain of ${name} is too long (${pathOf(chain)}).`
  }),
  lame_delegation: entry(
    'BAD_SETUP: no name server that the zone is delegated to serves it.',
    StrictObject({ ...Detail.properties, zone, name_servers: texts('The delegation.') }),
    ({ name, detail }) => `${name} cannot be resolved: ${plain(detail)}.`,
  ),
  dnssec_failed: entry('INVALID: DNSSEC validation fails.', Failure, (params) => {
    return `${params.name} fails DNSSEC validation (${errorCodes(params)}).`
  }),
  name_servers_unreachable: entry('INVALID: the resolver reaches no name server of the zone.', Failure, (params) => {
    return `${params.name} cannot be resolved: no name server of the zone can be reached (${errorCodes(params)}).`
  }),
  query_refused: entry('INVALID: the name server refuses the query.', Failure, (params) => {
    return `${params.name} cannot be resolved: the name server refuses the query (${errorCodes(params)}).`
  }),
  query_failed: entry('INVALID: the response code is an error.', Failure, (params) => {
    return `${params.name} cannot be resolved: the query failed (${errorCodes(params)}).`
  }),
  referral: entry('INVALID: the name server answered with a referral.', Name, ({ name }) => {
    return `${name} cannot be resolved: the name server answered with a referral.`
  }),
  malformed_answer: entry('INVALID: the answer cannot be used.', Detail, ({ name, detail }) => {
    return `The answer for ${name} is malformed: ${plain(detail)}.`
  }),
  no_answer: entry('TIMEOUT: no name server answered in time.', Name, ({ name }) => {
    return `${name} timed out: no name server answered in time.`
  }),
  unreachable: entry('TIMEOUT: no name server can be reached.', Detail, ({ name, detail }) => {
    return `${name} cannot be resolved: no name server can be reached (${plain(detail)}).`
  }),
  no_answer_over_tcp: entry('TIMEOUT: truncated over UDP, no answer over TCP.', Detail, ({ name, detail }) => {
    return `${name} cannot be resolved: its answer is truncated over UDP, and no name server answers over TCP (${plain(detail)}).`
  }),
  not_certain: entry('UNSET: the checks so far were inconclusive.', Name, ({ name }) => {
    return `${name} was checked, but the result is not certain yet.`
  }),
  unclassified,
} as const

const NameServers = StrictObject({ name_servers: texts("The zone's name servers, by name."), truncated })
const sentence = (about: string, text: string) => entry(about, None, () => text)

/** How a verdict was reached, or why there is none yet. */
export const CONFIRMATION_REASONS = {
  wait_timed_out: sentence(
    'The monitor was created with `until`, and its expected records did not appear in time. Nothing changed.',
    `The expected records did not appear within ${WAIT_HOURS} hours.`,
  ),
  resolver_confirmed: sentence(
    'The same resolver gave the same answer twice.',
    'Confirmed by a second resolver query.',
  ),
  resolvers_agree: sentence('Several resolvers gave the same answer.', 'The resolvers agreed.'),
  resolvers_disagree: sentence('No verdict yet: the answers differ.', 'The resolvers disagree.'),
  resolvers_majority: sentence(
    'The resolvers disagreed for three checks in a row.',
    'The resolvers still disagreed after repeated queries. The majority answer counts.',
  ),
  name_server_confirmed: entry('One of the name servers of the zone answered.', NameServers, ({ name_servers }) => {
    return `Confirmed by the zone's name server ${listed(name_servers)}.`
  }),
  name_servers_agree: entry('Name servers of the zone gave the same answer.', NameServers, ({ name_servers }) => {
    return `The zone's name servers ${listed(name_servers, name_servers.length, MAX_NAME_SERVERS)} agreed.`
  }),
  name_servers_disagree: sentence(
    'No verdict yet: each name server keeps to its own answer.',
    'The name servers disagree, and repeated queries return the same answers.',
  ),
  name_servers_majority: entry(
    'The name servers disagreed for three checks in a row.',
    StrictObject({ ...NameServers.properties, supporters: texts('The name servers that gave the majority answer.') }),
    ({ name_servers }) =>
      `The zone's name servers ${listed(name_servers, name_servers.length, MAX_NAME_SERVERS)} still disagreed after repeated queries. The majority answer counts.`,
  ),
  name_servers_silent: sentence(
    'No verdict yet: the resolvers answer, and the name servers of the zone do not.',
    "The zone's own name servers did not answer. Zonewatch queries them again before it relies on the resolvers.",
  ),
  only_copies: sentence(
    'No verdict yet: the name servers of the zone fail, and the resolvers answer from their caches.',
    "The zone's own name servers fail, and the resolvers have only copies in their caches.",
  ),
  copies_do_not_count: sentence(
    'The name servers of the zone failed for four checks in a row, and the resolvers could not reach them either.',
    "The zone's own name servers failed, and the resolvers could not reach them either: they answered only from their caches.",
  ),
  few_name_servers: sentence(
    'Fewer than half of the delegated name servers answer, and the resolvers contradict them.',
    "Fewer than half of the zone's name servers answer, and the resolvers give other answers.",
  ),
  delegation_changing: sentence(
    'No verdict yet: the servers of the parent zone give different delegations.',
    'The servers of the parent zone give different delegations. The change counts when they agree.',
  ),
  resolvers_chosen: sentence(
    'Why the resolvers decide: the monitor has `resolution` set to `resolvers`.',
    'The monitor is set to the answers of the resolvers.',
  ),
  zone_denied: entry(
    'The servers of the parent zone deny the zone.',
    StrictObject({ ...Zone.properties, ...NameServers.properties }),
    ({ zone, name_servers }) =>
      `The servers of ${zone} (${listed(name_servers, name_servers.length, MAX_NAME_SERVERS)}) did not delegate the zone.`,
  ),
  failure_confirmed: sentence(
    'Two queries failed, with a pause between them.',
    'Confirmed by a second query after a pause.',
  ),
  all_servers_fail: sentence(
    'Neither the resolvers nor the name servers answer.',
    "The resolvers and the zone's own name servers failed.",
  ),
  validation_fails: sentence(
    'The resolvers return the records only without DNSSEC validation.',
    'The resolvers answered SERVFAIL, but returned the records with DNSSEC validation disabled.',
  ),
  validation_fails_above: sentence('A zone above fails DNSSEC validation.', 'The signatures of a zone above fail.'),
  name_servers_fail_validation: entry(
    'What every name server of the zone that answers returns fails DNSSEC validation.',
    NameServers,
    ({ name_servers }) =>
      `The answers of the zone's name servers (${listed(name_servers, name_servers.length, MAX_NAME_SERVERS)}) do not match the DS records of the parent zone.`,
  ),
  validation_unconfirmed: sentence(
    'No verdict yet: DNSSEC validation seems to fail.',
    'A resolver answers SERVFAIL, or did so in an earlier check. Further checks confirm whether DNSSEC validation fails.',
  ),
  loop_by_links: sentence(
    'Each CNAME record was queried separately, and the chain is a loop.',
    'The resolvers failed, but answered when each CNAME record was queried separately.',
  ),
  recorded_values_returned: sentence(
    'One failed query was not confirmed.',
    'One query failed. A second query returned the recorded values.',
  ),
  rotating: sentence(
    'Each answer contains part of a larger RRset.',
    'The answers rotated: each contained part of the RRset. The values are all of its records.',
  ),
  rotation_unconfirmed: sentence(
    'No verdict yet: the answers differ from query to query.',
    'The answers differ. Further queries show which values belong to the RRset.',
  ),
  rotation_ended: sentence('All answers are the same again.', 'The answers no longer rotate: all are identical.'),
  absence_unconfirmed: sentence(
    'No verdict yet: the missing values may appear in another answer.',
    'Only some expected values were returned. Further queries show whether the answers rotate.',
  ),
  flapping: sentence(
    'Some answers contain records and some do not.',
    'The name servers sometimes returned records and sometimes did not. The most frequent answer counts.',
  ),
  own_network_down: sentence(
    'No verdict: the network of this server is at fault.',
    'No canary name resolves. Check the network of this server and DNS_SERVERS.',
  ),
  name_servers_busy: sentence(
    'Why the resolvers decide: too many queries wait for the name servers of the zone.',
    "The zone's own name servers were not queried: too many queries to them are pending.",
  ),
  name_servers_failed: entry(
    'Why the resolvers decide: the name servers of the zone gave no usable answer.',
    StrictObject({
      outcome: Type.String({ description: 'The kind of the outcome: `timeout`, `failure`, …' }),
      truncated,
    }),
    ({ outcome }) => `The zone's own name servers returned no usable answer (${outcome}).`,
  ),
  root_servers_unreachable: sentence(
    'Why the resolvers decide: no root server answers.',
    "The zone's own name servers were not queried: no root server can be reached. A firewall may block port 53.",
  ),
  queries_intercepted: sentence(
    'Why the resolvers decide: other servers answer in place of the root servers.',
    "The zone's own name servers were not queried: the network intercepts DNS queries to the root servers.",
  ),
  split_horizon: entry('Why the resolvers decide: they serve another zone than the public one.', Zone, ({ zone }) => {
    return `The resolvers serve a different zone than the public ${zone} (split horizon). Their answer counts.`
  }),
  split_horizon_possible: entry(
    'Why the resolvers decide: the name may exist only on them.',
    Zone,
    ({ zone }) =>
      `The name does not exist in the public zone ${zone}. It may exist only on the resolvers (split horizon).`,
  ),
  unclassified,
} as const

type ReasonCatalog = Record<string, { about: string; params: TObject; text(params: never): string }>
/** A reason as it is stored: a code with its parameters. */
type StoredReason<C extends ReasonCatalog> = {
  [Code in keyof C]: { code: Code; params: Static<C[Code]['params']> }
}[keyof C]
export type VerdictReason = StoredReason<typeof VERDICT_REASONS>
export type ConfirmationReason = StoredReason<typeof CONFIRMATION_REASONS>

const REASONS: ReasonCatalog = { ...VERDICT_REASONS, ...CONFIRMATION_REASONS }

/** The English text of a reason. */
export function textOf({ code, params }: VerdictReason | ConfirmationReason): string {
  return REASONS[code]!.text(params as never)
}

/** A reason with its text, as in responses. */
export function shown<R extends VerdictReason | ConfirmationReason>(reason: R): R & { text: string } {
  return { ...reason, text: textOf(reason) }
}

/** Codes with the same parameters share a schema. */
function schemaOf(
  catalog: ReasonCatalog,
  documentation: { title: string; description: string; examples: (VerdictReason | ConfirmationReason)[] },
) {
  const codesByParams = Map.groupBy(Object.entries(catalog), ([, { params }]) => params)
  const schemas = [...codesByParams].map(([params, entries]) =>
    StrictObject({
      code: Type.Enum(
        entries.map(([code]) => code),
        { type: 'string', description: entries.map(([code, { about }]) => `\`${code}\`: ${about}`).join('\n\n') },
      ),
      params,
      text: Type.String({ description: 'The reason in English.' }),
    }),
  )
  return Type.Union(schemas, { ...documentation, examples: documentation.examples.map(shown) })
}

const EXAMPLE: VerdictReason = {
  code: 'unexpected_values',
  params: {
    name: 'www.example.com',
    record_type: 'A',
    observed: ['192.0.2.99'],
    matched: [],
    missing: ['192.0.2.1'],
    unexpected: ['192.0.2.99'],
    counts: { observed: 1, matched: 0, missing: 1, unexpected: 1 },
    record: { name: 'www.example.com', type: 'A' },
  },
}

export const VerdictReasonAnswer = Type.Unsafe<VerdictReason & { text: string }>(
  schemaOf(VERDICT_REASONS, {
    title: 'VerdictReason',
    description: `Why the monitor is in its state. ${REASONS_ARE_STABLE}`,
    examples: [EXAMPLE],
  }),
)
export const ConfirmationReasonAnswer = Type.Unsafe<ConfirmationReason & { text: string }>(
  schemaOf(CONFIRMATION_REASONS, {
    title: 'ConfirmationReason',
    description: `How a verdict was reached, or why there is none yet. ${REASONS_ARE_STABLE}`,
    examples: [{ code: 'resolver_confirmed', params: {} }],
  }),
)
