import { type Static, type TProperties, Type } from 'typebox'
import { StrictObject } from './common.ts'
import {
  DnssecCause,
  dnssecFindingText,
  UNKNOWN_REASONS,
  UNSIGNED_REASONS,
  type UnknownReason,
  type UnsignedReason,
} from './dnssec.ts'
import { listed } from './reason-wording.ts'

const names = (description: string) => Type.Array(Type.String(), { description })
const nameServers = names('Name servers of the zone, by name.')
const resolvers = names('Resolvers, as `ip:port`.')

type Entry<P extends TProperties> = { about: string; params: P; text(params: Params<P>): string }
type Params<P extends TProperties> = { [Name in keyof P]: Static<P[Name]> }
const entry = <P extends TProperties>(about: string, params: P, text: Entry<P>['text']): Entry<P> => ({
  about,
  params,
  text,
})

/** The first letter in lower case, without the section. */
const withoutRfc = (text: string) => `${text[0]!.toLowerCase()}${text.slice(1).split(' RFC ', 1)[0]}`

/** What a check noticed beside its verdict. The state of the monitor does not depend on it. */
export const WARNINGS = {
  name_servers_differ: entry(
    'Some name servers of the zone answer otherwise than the verdict. They may lag behind.',
    { name_servers: nameServers, values: names('What the first of them answers; empty for a denial.') },
    ({ name_servers, values }) =>
      `${listed(name_servers)} ${name_servers.length === 1 ? 'answers' : 'answer'} otherwise: ${values.length === 0 ? 'no records' : listed(values)}.`,
  ),
  name_servers_silent: entry(
    'Some name servers of the zone did not answer in time, or cannot be reached.',
    { name_servers: nameServers },
    ({ name_servers }) => `${listed(name_servers)} did not answer.`,
  ),
  name_servers_without_tcp: entry(
    'Some name servers of the zone truncate their answer over UDP, and do not answer over TCP, RFC 7766 section 5.',
    { name_servers: nameServers },
    ({ name_servers }) =>
      `${listed(name_servers)} ${name_servers.length === 1 ? 'truncates its answer' : 'truncate their answers'} over UDP, and did not answer over TCP.`,
  ),
  name_servers_lame: entry(
    'Some name servers of the zone do not serve it: they refuse it, answer without authority, or have no address.',
    { name_servers: nameServers },
    ({ name_servers }) =>
      `${listed(name_servers)} ${name_servers.length === 1 ? 'does' : 'do'} not serve the zone (lame delegation).`,
  ),
  name_servers_fail: entry(
    'Some name servers of the zone answer with an error.',
    { name_servers: nameServers },
    ({ name_servers }) => `${listed(name_servers)} ${name_servers.length === 1 ? 'answers' : 'answer'} with an error.`,
  ),
  delegations_differ: entry(
    'The servers of the parent zone give different delegations: a change is spreading, or one of them is out of date.',
    { zone: Type.String(), name_servers: names('The servers of the parent zone that are in the minority.') },
    ({ zone, name_servers }) => `${listed(name_servers)} of the parent zone give another delegation of ${zone}.`,
  ),
  parent_and_child_differ: entry(
    'The name servers in the delegation and in the zone itself are different sets.',
    { zone: Type.String(), parent: names('In the delegation.'), child: names('In the zone.') },
    ({ zone, parent, child }) =>
      `${zone} is delegated to ${listed(parent)}, but its own NS records are ${listed(child)}.`,
  ),
  resolvers_outdated: entry(
    'Some resolvers still have other records than the name servers of the zone. Their copies expire; with an old delegation they may take copies again.',
    {
      resolvers,
      expires_at: Type.String({
        description: 'When the TTL of the latest copy runs out, ISO 8601.',
        format: 'date-time',
      }),
    },
    ({ resolvers, expires_at }) =>
      `${listed(resolvers)} still ${resolvers.length === 1 ? 'has' : 'have'} an old copy, until ${expires_at.slice(0, 16).replace('T', ' ')} UTC or later.`,
  ),
  resolvers_stale: entry(
    'Some resolvers answered from expired copies, because they cannot reach the zone (RFC 8767).',
    { resolvers },
    ({ resolvers }) => `${listed(resolvers)} ${resolvers.length === 1 ? 'answers' : 'answer'} from an expired copy.`,
  ),
  dnssec_bogus: entry(
    'What some name servers of the zone answer fails DNSSEC validation, and why.',
    { name_servers: nameServers, cause: DnssecCause },
    dnssecFindingText,
  ),
  dnssec_secure: entry(
    'What some name servers of the zone answer passes DNSSEC validation with the DS records of the parent zone. The chain above them is not verified.',
    {
      name_servers: nameServers,
      expires_at: Type.String({ description: 'When the first signature expires, ISO 8601.', format: 'date-time' }),
    },
    ({ name_servers, expires_at }) =>
      `The signatures of ${listed(name_servers)} match the DS records of the parent zone and are valid until ${expires_at.slice(0, 16).replace('T', ' ')} UTC.`,
  ),
  dnssec_unsigned: entry(
    'What some name servers of the zone answer is not signed, or validators take it for unsigned.',
    {
      name_servers: nameServers,
      reason: Type.Enum(Object.keys(UNSIGNED_REASONS) as UnsignedReason[], { type: 'string' }),
    },
    ({ name_servers, reason }) =>
      `For validators, the answers of ${listed(name_servers)} are unsigned: ${withoutRfc(UNSIGNED_REASONS[reason])}`,
  ),
  dnssec_unknown: entry(
    'It is not known whether what some name servers of the zone answer passes DNSSEC validation.',
    {
      name_servers: nameServers,
      reason: Type.Enum(Object.keys(UNKNOWN_REASONS) as UnknownReason[], { type: 'string' }),
    },
    ({ name_servers, reason }) =>
      `The answers of ${listed(name_servers)} could not be validated: ${withoutRfc(UNKNOWN_REASONS[reason])}`,
  ),
} as const
export type WarningCode = keyof typeof WARNINGS

/** As it is stored: a code with its parameters. */
export type Warning = {
  [Code in WarningCode]: { code: Code; params: Params<(typeof WARNINGS)[Code]['params']> }
}[WarningCode]

export const shownWarning = (warning: Warning): Warning & { text: string } => ({
  ...warning,
  text: (WARNINGS[warning.code] as Entry<TProperties>).text(warning.params as never),
})

/** A warning with its text, as in responses. */
export const WarningAnswer = Type.Unsafe<Warning & { text: string }>(
  Type.Union(
    (Object.entries(WARNINGS) as [WarningCode, Entry<TProperties>][]).map(([code, { about, params }]) =>
      StrictObject({
        code: Type.Enum([code], { type: 'string', description: about }),
        params: StrictObject(params),
        text: Type.String({ description: 'The warning in English.' }),
      }),
    ),
    {
      title: 'Warning',
      description:
        'What a check noticed beside its verdict. Codes and parameter names never change their meaning. New ones may be added.',
      examples: [shownWarning({ code: 'name_servers_silent', params: { name_servers: ['ns2.example.net'] } })],
    },
  ),
)
