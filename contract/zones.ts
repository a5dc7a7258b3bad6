import { type Static, Type } from 'typebox'
import { firstExample, Instant, Nullable, ONE_LINE, pageQuery, SET_BY_SERVER, StrictObject } from './common.ts'
import {
  FINDING_LEVELS,
  REGISTRATION_PROBLEMS,
  REGISTRATION_STATES,
  type RegistrationProblem,
  WITHHELD_REASONS,
  type WithheldReason,
  ZONE_FINDING_CODES,
  ZONE_HEALTH,
} from './zone-codes.ts'

/** Of an organization. A plan with fewer monitors allows as many zones as monitors. */
export const MAX_ZONES = 10_000
export const MAX_IGNORED = 100
const MAX_NAME_SERVERS = 26

const Code = Type.Enum(ZONE_FINDING_CODES, {
  type: 'string',
  title: 'ZoneFindingCode',
  description: 'What was found. Codes and the names of parameters never change their meaning. New ones may be added.',
})
const Level = Type.Enum(FINDING_LEVELS, {
  type: 'string',
  title: 'FindingLevel',
  description: '`info` never affects the health of a zone.',
})
const Health = Type.Enum(ZONE_HEALTH, {
  type: 'string',
  title: 'ZoneHealth',
  description:
    'The worst level of the confirmed findings that are not ignored. `unknown`: no look at the zone had a result yet.',
})
const about = Type.String({
  description: 'What it is about: the name of a name server; empty for the whole zone.',
  maxLength: 255,
})
const Params = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true })

const Ignored = StrictObject(
  {
    code: Code,
    about: Nullable(about),
    reason: Type.String({ description: 'Why it is ignored.' }),
    until: Nullable(Instant('When it counts again; null: never.')),
  },
  { description: 'Findings that do not count. With `about` null, all findings with the code.' },
)

const ZoneServer = StrictObject({
  name: Type.String(),
  is_delegated: Type.Boolean({ description: 'The parent zone delegates to it.' }),
  is_in_zone: Type.Boolean({ description: 'The NS records of the zone itself name it.' }),
  ip_addresses: Type.Array(Type.String(), {
    description: 'At most 4 are shown. Empty if there are none, or if unknown.',
  }),
  state: Type.Enum(['answers', 'lame', 'refuses', 'silent', 'no_address', 'unknown'], {
    type: 'string',
    description: 'What it answered when Zonewatch asked it for the SOA record of the zone.',
  }),
  serial: Nullable(Type.Integer({ description: 'Of its SOA record.' })),
  tcp: Nullable(Type.Boolean({ description: 'Whether it answers over TCP. Null if unknown.' })),
})

const ZoneDnssec = StrictObject({
  state: Type.Enum(['unsigned', 'secure', 'partly_bogus', 'bogus', 'unknown'], {
    type: 'string',
    description: '`partly_bogus`: the answers of some name servers fail validation.',
  }),
  reason: Nullable(Type.String({ description: 'Why it is unsigned, bogus or unknown, in English.' })),
  signatures_expire: Nullable(
    Instant('When the first of the signatures of the SOA, NS and DNSKEY records expires, of all name servers.'),
  ),
})

const GoesDark = StrictObject(
  {
    at: Instant('When.'),
    reason: Type.Enum(['signature_expires', 'secondary_expires', 'registration_expires'], { type: 'string' }),
    name_server: Nullable(Type.String({ description: 'Null for the registration.' })),
    record_type: Nullable(Type.String({ description: 'Whose signature expires.' })),
    text: Type.String({ description: 'What happens then, in English.' }),
  },
  {
    description:
      'The first time at which the registration ends, or a name server no longer gives answers that resolvers accept, if nobody acts. A signer that works moves it on, and so does a registrar that renews. Null if no such time is known.',
  },
)

const ZoneRegistration = StrictObject(
  {
    domain: Type.String({ description: 'The registered domain of the zone.' }),
    state: Type.Enum(REGISTRATION_STATES, {
      type: 'string',
      description:
        '`not_found`: the registry does not know the domain. `no_rdap`: the registry has no RDAP server. `unknown`: not looked up yet.',
    }),
    registrar: Nullable(Type.String({ description: 'As the registry writes it, without special characters.' })),
    expires: Nullable(Instant('When it ends; null if the registry does not say.')),
    statuses: Type.Array(Type.String(), { description: 'In the words of RFC 8056, such as `client hold`.' }),
    looked_up: Nullable(Instant('The last look-up that saw this.')),
    problem: Nullable(
      StrictObject(
        {
          code: Type.Enum(Object.keys(REGISTRATION_PROBLEMS) as RegistrationProblem[], { type: 'string' }),
          text: Type.String(),
        },
        { description: 'Why the last look-up had no result. What is known stays.' },
      ),
    ),
  },
  {
    description:
      'What the registry says of the domain, by RDAP, once a day. Null without a registered domain, and with RDAP=off.',
  },
)

const exampleIgnored = {
  code: 'single_network' as const,
  about: null,
  reason: 'One data center on purpose.',
  until: '2030-01-01T00:00:00.000Z',
}
const exampleNameServers = ['ns1.example.net', 'ns2.example.net']

export const Zone = StrictObject(
  {
    id: Type.String({ description: 'Begins with `zon_`.' }),
    created: Instant('When the zone was added.'),
    name: Type.String({ description: 'A-labels in lower case.' }),
    health: Health,
    checked: Nullable(Instant('The last look at the zone that had a result; null before the first.')),
    withheld: Nullable(
      StrictObject(
        {
          since: Instant('The first look without a result.'),
          reason: Type.Enum(Object.keys(WITHHELD_REASONS) as WithheldReason[], { type: 'string' }),
          text: Type.String(),
        },
        { description: 'Why the last look had no result. Findings neither begin nor end meanwhile.' },
      ),
    ),
    findings: StrictObject(
      {
        critical: Type.Integer(),
        error: Type.Integer(),
        warning: Type.Integer(),
        info: Type.Integer(),
        ignored: Type.Integer(),
      },
      { description: 'How many confirmed findings there are. Ignored ones are counted only in `ignored`.' },
    ),
    expected_name_servers: Nullable(
      Type.Array(Type.String(), {
        description:
          'A delegation to another server is `unexpected_name_server`. Learned at the first look, until somebody sets them. Null before that.',
      }),
    ),
    name_servers_confirmed: Nullable(Instant('When somebody set `expected_name_servers`; null: they were learned.')),
    servers: Type.Array(ZoneServer, {
      description: 'The name servers, as the last look with a result saw them, at most 13.',
    }),
    dnssec: Nullable(ZoneDnssec),
    goes_dark: Nullable(GoesDark),
    registration: Nullable(ZoneRegistration),
    ignored: Type.Array(Ignored),
  },
  {
    title: 'Zone',
    description: 'A zone that Zonewatch looks at every hour: its delegation, name servers and signatures.',
    examples: [
      {
        id: 'zon_01kaj3x7v8q2n5m4r6t9w0y1zb',
        created: '2026-11-20T08:00:00.000Z',
        name: 'example.com',
        health: 'warning',
        checked: '2026-11-21T09:30:00.000Z',
        withheld: null,
        findings: { critical: 0, error: 0, warning: 1, info: 0, ignored: 1 },
        expected_name_servers: exampleNameServers,
        name_servers_confirmed: '2026-11-20T08:10:00.000Z',
        servers: [
          ...exampleNameServers.map((name, index) => ({
            name,
            is_delegated: true,
            is_in_zone: true,
            ip_addresses: [`192.0.2.${index + 1}`],
            state: 'answers',
            serial: 2026112101 - index,
            tcp: true,
          })),
        ],
        dnssec: { state: 'unsigned', reason: 'The parent zone has no DS records.', signatures_expire: null },
        goes_dark: {
          at: '2027-08-13T04:00:00.000Z',
          reason: 'registration_expires',
          name_server: null,
          record_type: null,
          text: 'The registration of example.com ends, unless it is renewed.',
        },
        registration: {
          domain: 'example.com',
          state: 'registered',
          registrar: 'Example Registrar, Inc.',
          expires: '2027-08-13T04:00:00.000Z',
          statuses: ['client transfer prohibited'],
          looked_up: '2026-11-21T03:12:00.000Z',
          problem: null,
        },
        ignored: [exampleIgnored],
      },
    ],
  },
)
export type Zone = Static<typeof Zone>

const exampleFinding = {
  code: 'serial_behind' as const,
  about: 'ns2.example.net',
  level: 'warning' as const,
  params: {
    name_server: 'ns2.example.net',
    serial: 2026112100,
    newest: 2026112101,
    since: '2026-11-21T06:30:00.000Z',
  },
  text: 'ns2.example.net has served serial 2026112100 since 2026-11-21 06:30 UTC, although another server has 2026112101.',
  advice: 'Check the zone transfer to ns2.example.net: NOTIFY, allowed addresses, TSIG key, and its log.',
}

export const ZoneFinding = StrictObject(
  {
    code: Code,
    about,
    level: Level,
    params: Params,
    text: Type.String({ description: 'The finding in one sentence, in English.' }),
    advice: Type.String({ description: 'What to do, in English.' }),
    since: Instant('The first look that saw it.'),
    confirmed: Nullable(Instant('The later look that confirmed it; null while it is not confirmed.')),
    missing_since: Nullable(Instant('The look that did not see it any more. A second one ends it.')),
    evidence: Type.Array(StrictObject({ seen: Instant('When.'), text: Type.String(), params: Params }), {
      description: 'What the first look, the confirming one and the last one saw.',
    }),
    ignored: Nullable(
      StrictObject({ reason: Type.String(), until: Nullable(Instant('When it counts again; null: never.')) }),
    ),
  },
  {
    title: 'ZoneFinding',
    description: 'Something that is wrong with a zone, or soon will be.',
    examples: [
      {
        ...exampleFinding,
        since: '2026-11-21T09:30:00.000Z',
        confirmed: '2026-11-21T09:35:00.000Z',
        missing_since: null,
        evidence: [{ seen: '2026-11-21T09:30:00.000Z', text: exampleFinding.text, params: exampleFinding.params }],
        ignored: null,
      },
    ],
  },
)
export type ZoneFinding = Static<typeof ZoneFinding>

export const ZoneFindingQuery = StrictObject(pageQuery('ZoneFindingOrder', ['level']))
export type ZoneFindingQuery = Static<typeof ZoneFindingQuery>

export const ZoneEvent = StrictObject(
  {
    id: Type.String({ description: 'Begins with `zev_`.' }),
    zone_id: Type.String(),
    occurred: Instant('When a look confirmed it.'),
    kind: Type.Enum(['began', 'ended'], { type: 'string' }),
    code: Code,
    about,
    level: Level,
    params: Params,
    text: Type.String({ description: 'The finding, in English.' }),
  },
  {
    title: 'ZoneEvent',
    description: 'A finding that was confirmed, or that ended.',
    examples: [
      {
        id: 'zev_01kaj3x7v8q2n5m4r6t9w0y1zb',
        zone_id: 'zon_01kaj3x7v8q2n5m4r6t9w0y1zb',
        occurred: '2026-11-21T09:35:00.000Z',
        kind: 'began',
        code: exampleFinding.code,
        about: exampleFinding.about,
        level: exampleFinding.level,
        params: exampleFinding.params,
        text: exampleFinding.text,
      },
    ],
  },
)
export type ZoneEvent = Static<typeof ZoneEvent>

export const NewZone = StrictObject(
  { name: Type.String({ minLength: 1, maxLength: 255, description: 'The name of the zone, such as `example.com`.' }) },
  { title: 'NewZone', examples: [{ name: 'example.com' }] },
)
export type NewZone = Static<typeof NewZone>

export const MAX_ZONES_AT_ONCE = 1_000

export const NewZones = StrictObject(
  {
    names: Type.Array(NewZone.properties.name, {
      minItems: 1,
      maxItems: MAX_ZONES_AT_ONCE,
      description: `1 to ${MAX_ZONES_AT_ONCE} names. Zones that exist stay as they are.`,
    }),
  },
  { title: 'NewZones', examples: [{ names: ['example.com', 'example.net'] }] },
)
export type NewZones = Static<typeof NewZones>

export const ZoneList = Type.Array(Zone, { title: 'ZoneList', examples: [[firstExample(Zone)]] })

export const ZoneChange = StrictObject(
  {
    expected_name_servers: Type.Optional(
      Nullable(
        Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
          minItems: 1,
          maxItems: MAX_NAME_SERVERS,
          description:
            'The name servers to which the parent zone may delegate. Null: they are learned again at the next look.',
        }),
      ),
    ),
    ignored: Type.Optional(
      Nullable(
        Type.Array(
          StrictObject({
            code: Code,
            about: Type.Optional(Nullable(about)),
            reason: Type.String({ minLength: 1, maxLength: 500, pattern: ONE_LINE, description: 'Why.' }),
            until: Type.Optional(
              Nullable(Type.String({ maxLength: 40, description: 'When it counts again. Null or absent: never.' })),
            ),
          }),
          { maxItems: MAX_IGNORED, description: 'Replaces the whole list. Null: nothing is ignored.' },
        ),
      ),
    ),
  },
  {
    title: 'ZoneChange',
    description: 'Fields you leave out keep their values.',
    examples: [{ expected_name_servers: exampleNameServers, ignored: [exampleIgnored] }],
    'x-elsewhere': {
      id: SET_BY_SERVER,
      created: SET_BY_SERVER,
      health: SET_BY_SERVER,
      checked: SET_BY_SERVER,
      findings: SET_BY_SERVER,
      name: 'cannot change. Delete the zone and add another one.',
    },
  },
)
export type ZoneChange = Static<typeof ZoneChange>

export const ZoneQuery = StrictObject({
  ...pageQuery('ZoneOrder', ['created', 'name']),
  name: Type.Optional(Type.String({ maxLength: 255, description: 'Only the zone with this name.' })),
  health: Type.Optional(Type.Enum(ZONE_HEALTH, { type: 'string', description: 'Only zones with this health.' })),
})
export type ZoneQuery = Static<typeof ZoneQuery>

export const ZoneEventQuery = StrictObject(pageQuery('ZoneEventOrder', ['occurred']))
export type ZoneEventQuery = Static<typeof ZoneEventQuery>
