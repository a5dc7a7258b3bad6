import { type Static, Type } from 'typebox'
import { Advice } from './advice.ts'
import { firstExample, Instant, Nullable, StrictObject } from './common.ts'
import { ConfirmationReasonAnswer, VerdictReasonAnswer } from './reasons.ts'
import { WarningAnswer } from './warnings.ts'

const chain = Type.Array(StrictObject({ name: Type.String(), target: Type.String(), ttl: Type.Integer() }), {
  description: 'The CNAME records from the queried name, in order.',
})
const ede = Type.Array(StrictObject({ code: Type.Integer(), text: Type.String() }), {
  description: 'Extended DNS errors, RFC 8914.',
})
const reason = Type.String({ description: 'The reason, in a few words.' })
const nameServers = Type.Array(Type.String())

/** The result of one query: `Outcome` of server/dns/outcome.ts as JSON. */
export const DnsOutcome = Type.Union(
  [
    StrictObject({
      kind: Type.Literal('answer'),
      rrset: StrictObject({
        name: Type.String({ description: 'Owner name.' }),
        type: Type.String({ description: 'Record type.' }),
        ttl: Type.Integer({ description: 'The lowest TTL of the RRset, in seconds.' }),
        values: Type.Array(Type.String(), { description: 'The values; shortened if there are many.' }),
      }),
      chain,
      pool: Type.Optional(
        Type.Enum(['whole', 'part'], {
          type: 'string',
          description: 'Present if the answers rotate: whether `values` are the whole RRset or part of it.',
        }),
      ),
    }),
    StrictObject({
      kind: Type.Enum(['nodata', 'nxdomain', 'cname_loop'], {
        type: 'string',
        description:
          '`nodata`: the name exists, without records of this type. `nxdomain`: the name does not exist. `cname_loop`: a CNAME loop, or more than 16 CNAME records.',
      }),
      chain,
    }),
    StrictObject({
      kind: Type.Literal('failure'),
      rcode: Type.String(),
      ede,
      bogus: Type.Optional(Type.Literal(true, { description: 'DNSSEC validation failed.' })),
    }),
    StrictObject({
      kind: Type.Literal('referral'),
      chain,
      zone: Type.Optional(Type.String({ description: 'Absent if only a CNAME chain ended here.' })),
      nameServers,
      glue: Type.Array(StrictObject({ name: Type.String(), ip: Type.String() })),
      ttl: Type.Integer({ description: 'Seconds.' }),
    }),
    StrictObject({ kind: Type.Literal('lame'), zone: Type.String(), nameServers, reason }),
    StrictObject({ kind: Type.Enum(['malformed', 'unreachable'], { type: 'string' }), reason }),
    StrictObject({ kind: Type.Literal('timeout') }),
  ],
  { title: 'DnsOutcome', description: 'The result of one query.' },
)
export type DnsOutcome = Static<typeof DnsOutcome>

/** One exchange with one name server. */
export const DiagnosisPath = StrictObject(
  {
    at: Type.Optional(Instant('When the query was sent. Diagnoses of older versions have none.')),
    server: Type.String({ description: '`ip:port`, IPv6 in brackets.', examples: ['192.0.2.53:53'] }),
    name: Type.Optional(
      Type.String({ description: 'The name of the server, if it was found by following the delegation.' }),
    ),
    path: Type.Enum(['recursive', 'authoritative'], { type: 'string' }),
    question: Type.Optional(
      StrictObject(
        { name: Type.String(), type: Type.String() },
        {
          description:
            'Present if the query was not for the name and type of the monitor, such as the target of a CNAME or the NS records of the zone.',
        },
      ),
    ),
    transport: Type.Enum(['udp', 'tcp'], { type: 'string' }),
    rcode: Nullable(Type.String({ description: 'The response code; null without a readable response.' })),
    flags: Type.Array(Type.String(), { description: 'The flags that were set: aa, tc, rd, ra, ad, cd.' }),
    ede,
    ms: Type.Number({ description: 'Milliseconds until the answer or the timeout.' }),
    outcome: Nullable(DnsOutcome),
  },
  {
    title: 'DiagnosisPath',
    description:
      'One exchange with one name server. `outcome` is null if the answer was truncated; Zonewatch then repeated the query over TCP.',
  },
)
export type DiagnosisPath = Static<typeof DiagnosisPath>

/** What the servers above a zone say about it. */
export const Delegation = StrictObject(
  {
    zone: Type.String({ description: 'The zone that the name is in.', examples: ['example.com'] }),
    parent: Type.String({ description: 'The zone that delegates it; the root is an empty string.', examples: ['com'] }),
    parents: Type.Array(
      StrictObject({
        servers: Type.Array(Type.String(), { description: 'The servers of the parent zone that say the same.' }),
        name_servers: Nullable(
          Type.Array(Type.String(), {
            description: 'The name servers that they delegate to; null if they deny the zone.',
          }),
        ),
      }),
      { description: 'What most of them say comes first.' },
    ),
    own_name_servers: Nullable(
      Type.Array(Type.String(), { description: 'The NS records of the zone itself; null if they are not known.' }),
    ),
    truncated: Type.Optional(Type.Literal(true, { description: 'Some names are left out.' })),
  },
  {
    title: 'Delegation',
    description: 'Who answers for the zone, as each server of its parent zone and the zone itself say it.',
  },
)
export type Delegation = Static<typeof Delegation>

const confirmation = {
  decided: Type.String({ description: 'How the verdict was reached: the texts of `confirmation`.' }),
  confirmation: Type.Array(ConfirmationReasonAnswer, {
    description: 'The same as codes: how the verdict was reached and, if the resolvers decided, why.',
  }),
  at: Type.Optional(Instant('When the verdict was reached. Diagnoses of older versions have none.')),
  delegation: Type.Optional(Delegation),
  paths: Type.Array(DiagnosisPath, { description: 'The exchanges that led to the verdict, in order.' }),
}

/** The evidence of a verdict: `?include=diagnosis` on a Monitor, and on one Event. At most 16 KiB of JSON. */
export const Diagnosis = StrictObject(
  {
    reason: Type.String({ description: 'Why the monitor is in this state: the text of `verdict`.' }),
    verdict: VerdictReasonAnswer,
    /** Null if there is nothing to do. */
    advice: Nullable(Advice),
    ...confirmation,
    warnings: Type.Array(WarningAnswer, { description: 'Of the latest check that sent more than one query.' }),
    pending: Type.Optional(
      Type.Literal(true, {
        description:
          'The latest check was inconclusive, or withheld because the network of this server failed. It is repeated. `latest` has what was seen, and why that is not yet a verdict.',
      }),
    ),
    next_at: Type.Optional(
      Instant(
        'When the check is repeated, while `pending`. Absent while the network of this server fails: within seconds of its return.',
      ),
    ),
    latest: Type.Optional(
      StrictObject(confirmation, {
        title: 'Confirmation',
        description: 'The latest check that sent more than one query and found no change, or was inconclusive.',
      }),
    ),
  },
  {
    title: 'Diagnosis',
    description: 'The evidence behind a state.',
    examples: [
      {
        reason: 'www.example.com answers 192.0.2.99 instead of 192.0.2.1.',
        verdict: firstExample(VerdictReasonAnswer),
        advice: null,
        warnings: [],
        decided: 'Confirmed by a second resolver query.',
        confirmation: [firstExample(ConfirmationReasonAnswer)],
        at: '2026-11-21T09:30:00.000Z',
        paths: [
          {
            at: '2026-11-21T09:29:59.900Z',
            server: '192.0.2.53:53',
            path: 'recursive',
            transport: 'udp',
            rcode: 'NOERROR',
            flags: ['rd', 'ra'],
            ede: [],
            ms: 18.4,
            outcome: {
              kind: 'answer',
              rrset: { name: 'www.example.com', type: 'A', ttl: 300, values: ['192.0.2.99'] },
              chain: [],
            },
          },
        ],
      },
    ],
  },
)
export type Diagnosis = Static<typeof Diagnosis>
