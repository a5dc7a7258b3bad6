import { type Static, Type } from 'typebox'
import { Exactly, Instant, Nullable } from './common.ts'
import { Event } from './events.ts'
import { RECORD_TYPES, STATES } from './monitors.ts'

/** What the dashboard asks beside the API, of one organization. Not part of the public API. */

/** Monitors with the same trouble, told together: by the zone where several names of it fail alike, else by the monitor. */
const Cause = Exactly({
  /** What is wrong, in one sentence for people ("3 records of example.com answer 198.51.100.7 instead of 192.0.2.1."). */
  title: Type.String(),
  state: Type.Enum(STATES),
  domain: Type.String(),
  /** Since when the first of them is in this state; null where no event of it is kept. */
  since: Nullable(Instant('Since when.')),
  monitors: Type.Array(
    Exactly({
      id: Type.String(),
      name: Type.String({ description: 'Owner name.' }),
      record_type: Type.Enum(RECORD_TYPES),
    }),
    { description: 'At most 5 of them.' },
  ),
  count: Type.Integer({ description: 'How many there are.' }),
})
export type Cause = Static<typeof Cause>

/** `GET /dashboard/api/overview`. */
export const Overview = Exactly({
  states: Type.Record(Type.String(), Type.Integer(), {
    description: 'Active monitors by state; those without any left out.',
  }),
  active: Type.Integer(),
  disabled: Type.Integer(),
  /** By cause, worst and newest first, at most 20; `more` says how many causes are left out. */
  attention: Type.Array(Cause),
  more: Type.Integer(),
  /** The newest changes, at most 10. */
  changes: Type.Array(Event),
  checks: Exactly({
    /** Of active monitors, how many have a check that is more than a minute overdue, and how many have not. */
    on_time: Type.Integer(),
    late: Type.Integer(),
    last_checked: Nullable(Instant('When the last check ended.')),
  }),
  webhooks: Exactly({
    count: Type.Integer(),
    paused: Type.Array(
      Exactly({
        id: Type.String(),
        url: Type.String(),
        last_error: Nullable(Type.String()),
        waiting: Type.Integer({ description: 'Requests kept for it, at most 1,000 counted.' }),
      }),
      { description: 'At most 20.' },
    ),
  }),
  /** What a new organization has not done yet. */
  has: Exactly({ monitors: Type.Boolean(), webhooks: Type.Boolean(), events: Type.Boolean() }),
})
export type Overview = Static<typeof Overview>

/**
 * `GET /dashboard/api/live?organization=…` (server-sent events). Event `change`: data is a LiveChange; the page fetches what it
 * shows anew. Event `checked`: ids of monitors whose last_checked moved, at most once a second. A comment line every 15 s.
 */
export const LiveChange = Exactly({
  /** What changed: names of lists of the API. */
  lists: Type.Array(Type.Enum(['monitors', 'events', 'webhooks', 'requests', 'groups'])),
  monitors: Type.Array(Type.String(), { description: 'Ids, where they are known; at most 100.' }),
})
export type LiveChange = Static<typeof LiveChange>

/** `POST /dashboard/api/lookup`: what stands in the DNS now, asked once of a recursive server, for a new monitor. */
export const LookupRequest = Exactly({
  /** `www.example.com`, an address, or a URL pasted whole. */
  name: Type.String({ minLength: 1, maxLength: 512 }),
  /** Without one, all types that may be expected of such a name are asked. */
  record_type: Type.Optional(Type.Enum(RECORD_TYPES)),
})
export type LookupRequest = Static<typeof LookupRequest>

const Found = Exactly({
  record_type: Type.Enum(RECORD_TYPES),
  /** The state that a monitor without expectation would be told: VALID when there are records. */
  outcome: Type.Enum(STATES),
  /** In the form of current_value; at most 50. */
  values: Type.Array(Type.String()),
  /** In plain words. */
  sentence: Type.String(),
  milliseconds: Type.Number(),
})
export const Lookup = Exactly({
  full_domain: Type.String({ description: 'As the API takes it, normalised.' }),
  domain: Type.String(),
  subdomain: Type.String(),
  found: Type.Array(Found, { description: 'The types asked, those with records first.' }),
})
export type Lookup = Static<typeof Lookup>
export type Found = Static<typeof Found>

/** `POST /dashboard/api/import`: a dry run; exactly one of the three. Nothing is made. */
export const ImportRequest = Exactly({
  /** A zone file, RFC 1035 section 5. */
  zone: Type.Optional(Type.String({ maxLength: 1_048_576 })),
  /** The zone's name, where the file has no $ORIGIN. */
  origin: Type.Optional(Type.String({ maxLength: 255 })),
  /** With a line of column names: name, type, value, and optionally exact, group, notify, frequency. */
  csv: Type.Optional(Type.String({ maxLength: 1_048_576 })),
  /** Its usual records are looked up: apex, www, mail, SPF, DMARC, common DKIM selectors, NS, MX, CAA. */
  domain: Type.Optional(Type.String({ maxLength: 255 })),
  group: Type.Optional(Type.String({ maxLength: 100 })),
})
export type ImportRequest = Static<typeof ImportRequest>

export const ImportRow = Exactly({
  /** Line of the input where the row began; null for what was discovered. */
  line: Nullable(Type.Integer()),
  full_domain: Type.String(),
  record_type: Type.String(),
  expected_value: Type.Array(Type.String()),
  is_exact_match: Type.Boolean(),
  group: Nullable(Type.String()),
  notify: Nullable(Type.String()),
  frequency: Nullable(Type.Integer()),
  /** `make`: ready for POST /monitors/bulk. `exists`: an equal monitor is there. `skip`: not watched (SOA, DNSKEY …). `refuse`: wrong. */
  fate: Type.Enum(['make', 'exists', 'skip', 'refuse']),
  /** Why it is not made, in plain words; empty for `make`. */
  why: Type.String(),
})
export type ImportRow = Static<typeof ImportRow>
export const ImportPlan = Exactly({ rows: Type.Array(ImportRow, { description: 'At most 5,000.' }) })
export type ImportPlan = Static<typeof ImportPlan>

export const TIMELINE_RANGES = ['24h', '7d', '30d', '90d'] as const
export type TimelineRange = (typeof TIMELINE_RANGES)[number]

/** `GET /dashboard/api/monitors/{id}/timeline?range=…`: in which state the monitor was, without gaps, oldest first. */
export const Timeline = Exactly({
  from: Instant('Begin of the range.'),
  to: Instant('Now.'),
  stretches: Type.Array(
    Exactly({
      from: Instant('Its begin.'),
      to: Instant('Its end.'),
      /** Null where it is not known: before the monitor was made, or events no longer kept. */
      state: Nullable(Type.Enum(STATES)),
      event_id: Nullable(Type.String({ description: 'The event that began it.' })),
    }),
    { description: 'At most 500; shorter ones are then joined with their longer neighbours.' },
  ),
  /** Share of the known time in VALID, 0 to 1; null when nothing is known. */
  valid: Nullable(Type.Number()),
})
export type Timeline = Static<typeof Timeline>

/** `GET /dashboard/api/monitors/{id}/difference`: which records to mark, by the rules of the type and the mode. */
export const ValueDifference = Exactly({
  missing: Type.Array(Type.String(), { description: 'Expected values that nothing current meets.' }),
  extra: Type.Array(Type.String(), { description: 'Current values that are not expected; none in flexible mode.' }),
})
export type ValueDifference = Static<typeof ValueDifference>

/** `POST /dashboard/api/accept/{monitor}`: expects the current values from now on. Answers the Monitor. */
export const Acceptance = Exactly({
  /** What the person saw; where it has changed since, nothing is accepted (409). */
  current_value: Type.Optional(Type.Array(Type.String())),
})
export type Acceptance = Static<typeof Acceptance>

/** The evidence of a verdict: `?include=diagnosis` on a Monitor, and on one Event. */
export type Diagnosis = {
  /** Why the verdict is what it is, in a sentence. */
  reason: string
  /** How it was reached, in a sentence. */
  decided: string
  paths: DiagnosisPath[]
}

/** One exchange with one name server. */
export type DiagnosisPath = {
  /** `ip:port`, IPv6 in brackets; `name` where it was found by following the delegation. */
  server: string
  name?: string
  path: 'recursive' | 'authoritative'
  transport: 'udp' | 'tcp'
  /** Null when nothing readable came. */
  rcode: string | null
  /** Of aa, tc, rd, ra, ad, cd: those that were set. */
  flags: string[]
  /** RFC 8914. */
  ede: { code: number; text: string }[]
  ms: number
  /** Null: truncated, so asked again over TCP. `kind` as in server/dns/outcome.ts. */
  outcome:
    | null
    | { kind: 'answer'; rrset: { name: string; type: string; ttl: number; values: string[] }; chain: AliasChain }
    | { kind: 'nodata' | 'nxdomain' | 'endless_alias'; chain: AliasChain }
    | { kind: 'failure'; rcode: string; bogus?: true }
    | { kind: 'malformed' | 'unreachable' | 'lame'; reason: string }
    | { kind: 'referral'; nameServers: string[] }
    | { kind: 'timeout' }
}

type AliasChain = { name: string; target: string; ttl: number }[]
