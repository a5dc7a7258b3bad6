import { type Static, Type } from 'typebox'
import type { CauseReason } from './causes.ts'
import { Instant, Nullable, StrictObject } from './common.ts'
import { Event } from './events.ts'
import { IMPORT_REASONS } from './import-codes.ts'
import { newLabels } from './labels.ts'
import { STATES } from './monitors.ts'
import { RECORD_TYPES } from './record-types.ts'
import { REQUEST_STATUSES, Replay, WebhookRequest } from './webhooks.ts'

/** What the dashboard asks beside the API, of one organization. Not part of the public API. */

/** Monitors with the same failure, as one: by the zone where several names of it fail alike, else by the monitor. */
const Cause = StrictObject({
  /** What is wrong: "3 records of example.com answer 198.51.100.7 instead of 192.0.2.1." */
  reason: Type.Unsafe<CauseReason>(
    StrictObject({ code: Type.String(), params: Type.Object({}, { additionalProperties: true }), text: Type.String() }),
  ),
  state: Type.Enum(STATES),
  domain: Type.String(),
  /** Since when the first of them is in this state; null where no event of it is kept. */
  since: Nullable(Instant('Since when.')),
  monitors: Type.Array(
    StrictObject({
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
export const Overview = StrictObject({
  states: Type.Record(Type.String(), Type.Integer(), {
    description: 'Active monitors by state; those without any left out.',
  }),
  active: Type.Integer(),
  disabled: Type.Integer(),
  /** By cause, worst and newest first, at most 20; `more` says how many causes are left out. */
  attention: Type.Array(Cause),
  more: Type.Integer(),
  /** The newest changes, at most 10. First results, of a new monitor or a new expectation, are no changes. */
  changes: Type.Array(Event),
  /** Those of the last 24 hours, in one; null without any. */
  first_results: Nullable(
    StrictObject({
      count: Type.Integer({ description: 'At most 10,000 counted.' }),
      from: Instant('The oldest of them.'),
      to: Instant('The newest of them.'),
    }),
  ),
  checks: StrictObject({
    /** Of active monitors, how many have a check that is more than a minute overdue, and how many have not. */
    on_time: Type.Integer(),
    late: Type.Integer(),
    last_checked: Nullable(Instant('When the last check ended.')),
  }),
  webhooks: StrictObject({
    count: Type.Integer(),
    paused: Type.Integer(),
    failing: Type.Integer({ description: 'Active ones whose last attempt failed.' }),
    /** Active ones that have had something to send for more than a minute. */
    late: Type.Integer(),
    trouble: Type.Array(
      StrictObject({
        id: Type.String(),
        url: Type.String(),
        health: Type.Enum(['paused', 'failing']),
        last_error: Nullable(Type.String()),
        waiting: Type.Integer({ description: 'Its requests that are not delivered, at most 1,000 counted.' }),
      }),
      { description: 'The paused and the failing ones, paused first, at most 20.' },
    ),
  }),
  /** Of the server's processes, how many do what. One that was silent for 8 seconds is not counted. */
  processes: StrictObject({
    checking: Type.Integer(),
    cut_off: Type.Integer({ description: 'Of those that check: none of their canary names resolves.' }),
    delivering: Type.Integer(),
  }),
  /** What a new organization has not done yet. */
  has: StrictObject({ monitors: Type.Boolean(), webhooks: Type.Boolean(), events: Type.Boolean() }),
})
export type Overview = Static<typeof Overview>

/**
 * `GET /dashboard/api/live?organization=…` (server-sent events). Event `change`: data is a LiveChange; the page fetches what it
 * shows again. Event `checked`: ids of monitors whose last_checked moved, at most once a second. Event `beat` every 5 s
 * while the database answers: what was fetched and not told of is current.
 */
export const LiveChange = StrictObject({
  /** What changed: names of lists of the API. */
  lists: Type.Array(Type.Enum(['monitors', 'events', 'webhooks', 'requests', 'groups'])),
  monitors: Type.Array(Type.String(), { description: 'Ids, where they are known; at most 100.' }),
})
export type LiveChange = Static<typeof LiveChange>

/** `POST /dashboard/api/lookup`: the live records of a name, queried once from a recursive server, for a new monitor. */
export const LookupRequest = StrictObject({
  /** `www.example.com`, an address, or a URL pasted whole. */
  name: Type.String({ minLength: 1, maxLength: 512 }),
  /** Without one, all types that may be expected of such a name are asked. */
  record_type: Type.Optional(Type.Enum(RECORD_TYPES)),
})
export type LookupRequest = Static<typeof LookupRequest>

const Found = StrictObject({
  record_type: Type.Enum(RECORD_TYPES),
  /** The state that a monitor without expectation would be told: VALID when there are records. */
  outcome: Type.Enum(STATES),
  /** In the form of current_value; at most 50. */
  values: Type.Array(Type.String()),
  /** What a new monitor would expect of them; at most 10. */
  expected_value: Type.Array(Type.String()),
  is_exact_match: Type.Boolean(),
  /** In plain words. */
  sentence: Type.String(),
  milliseconds: Type.Number(),
})
export const Lookup = StrictObject({
  full_domain: Type.String({ description: 'As the API takes it, normalised.' }),
  domain: Type.String(),
  subdomain: Type.String(),
  found: Type.Array(Found, { description: 'The types asked, those with records first.' }),
})
export type Lookup = Static<typeof Lookup>
export type Found = Static<typeof Found>

/** `POST /dashboard/api/import`: a dry run; exactly one of the three. Nothing is made. */
export const ImportRequest = StrictObject({
  /** A zone file, RFC 1035 section 5. */
  zone: Type.Optional(Type.String({ maxLength: 1_048_576 })),
  /** The zone's name, where the file has no $ORIGIN. */
  origin: Type.Optional(Type.String({ maxLength: 255 })),
  /** With a line of column names: name, type, value, and optionally exact, group, notify, frequency, external_id, tags, metadata. */
  csv: Type.Optional(Type.String({ maxLength: 1_048_576 })),
  /** Its usual records are looked up: apex, www, mail, SPF, DMARC, common DKIM selectors, NS, MX, CAA. */
  domain: Type.Optional(Type.String({ maxLength: 255 })),
  group: Type.Optional(Type.String({ maxLength: 100 })),
  /** Whose monitors are compared with the input: those of the group, or of the domains in the input. */
  compare: Type.Optional(Type.Enum(['group', 'domains'])),
})
export type ImportRequest = Static<typeof ImportRequest>

const Expectation = {
  expected_value: Type.Array(Type.String(), { minItems: 1, maxItems: 10 }),
  is_exact_match: Type.Boolean(),
}

/** A monitor of the same name and type that expects something else. */
const OtherMonitor = StrictObject({ id: Type.String(), ...Expectation, group: Type.String({ description: 'Slug.' }) })

/** A monitor of those that are compared, which the input does not have. */
const GoneMonitor = StrictObject({
  id: Type.String(),
  name: Type.String(),
  record_type: Type.Enum(RECORD_TYPES),
  expected_value: Type.String({ description: 'The first expected value, at most 200 characters.' }),
})

export const ImportRow = StrictObject({
  /** Line of the input where the row began; null for discovered rows. */
  line: Nullable(Type.Integer()),
  full_domain: Type.String(),
  record_type: Type.String(),
  expected_value: Type.Array(Type.String()),
  is_exact_match: Type.Boolean(),
  group: Nullable(Type.String()),
  notify: Nullable(Type.String()),
  frequency: Nullable(Type.Integer()),
  external_id: Nullable(Type.String()),
  /** Null where the input has no column for them. */
  tags: Nullable(Type.Array(Type.String())),
  metadata: Nullable(Type.Record(Type.String(), Type.String())),
  /**
   * `make`: ready for POST /monitors/bulk. `differs`: `monitor` has the external id of the row, or else its name and type, and is
   * different. `exists`: an equal monitor is there. `skip`: not watched (SOA, DNSKEY …). `refuse`: wrong.
   */
  fate: Type.Enum(['make', 'differs', 'exists', 'skip', 'refuse']),
  /** With `differs`, and where the external id says which; else null. */
  monitor: Nullable(OtherMonitor),
  /** Why it is not made, in plain words; empty for `make`. */
  why: Type.String(),
  /** Stays the same when the words change; null for `make`, `differs` and `exists`. */
  code: Nullable(Type.Enum(IMPORT_REASONS)),
})
export type ImportRow = Static<typeof ImportRow>
/** Monitors that are compared with an input. */
export const MAX_COMPARED_MONITORS = 10_000
export const ImportPlan = StrictObject({
  rows: Type.Array(ImportRow, { description: 'At most 5,000.' }),
  /** With `compare`, else null. */
  gone: Nullable(
    StrictObject({
      monitors: Type.Array(GoneMonitor),
      is_partial: Type.Boolean({ description: `Whether there are more than the first ${MAX_COMPARED_MONITORS}.` }),
    }),
  ),
})
export type ImportPlan = Static<typeof ImportPlan>
export type GoneMonitor = Static<typeof GoneMonitor>

/** `POST /dashboard/api/import/updates`: gives monitors that differ the expectation of their rows. */
export const ImportUpdates = StrictObject({
  updates: Type.Array(
    StrictObject({
      id: Type.String({ maxLength: 40 }),
      /** What the preview showed: a monitor that expects something else by now is left as it is. */
      was: StrictObject(Expectation),
      ...Expectation,
      /** What else of a row with the external id of the monitor is different. */
      full_domain: Type.Optional(Type.String({ maxLength: 512 })),
      record_type: Type.Optional(Type.Enum(RECORD_TYPES)),
      group: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
      tags: newLabels.tags,
      metadata: newLabels.metadata,
    }),
    { minItems: 1, maxItems: 100 },
  ),
})
export type ImportUpdates = Static<typeof ImportUpdates>
export const ImportUpdated = StrictObject({
  updated: Type.Integer(),
  refused: Type.Array(StrictObject({ id: Type.String(), code: Type.Enum(IMPORT_REASONS), why: Type.String() })),
})
export type ImportUpdated = Static<typeof ImportUpdated>

/** `GET /dashboard/api/labels`: what can complete a tag, a key of metadata, or the value of one key. */
export const KnownLabelsQuery = StrictObject({
  of: Type.String({ pattern: '^(tag|metadata|metadata\\.[A-Za-z0-9_.-]{1,40})$' }),
  begin: Type.Optional(Type.String({ maxLength: 255, description: 'Those that begin so.' })),
  organization: Type.Optional(Type.String({ maxLength: 40 })),
})
export const KnownLabels = StrictObject({
  labels: Type.Array(Type.String(), { description: 'The first 20, in order.' }),
})
export type KnownLabels = Static<typeof KnownLabels>

export const TIMELINE_RANGES = ['24h', '7d', '30d', '90d'] as const
export type TimelineRange = (typeof TIMELINE_RANGES)[number]

/** `GET /dashboard/api/monitors/{id}/timeline?range=…`: in which state the monitor was, without gaps, oldest first. */
export const Timeline = StrictObject({
  from: Instant('Begin of the range.'),
  to: Instant('Now.'),
  segments: Type.Array(
    StrictObject({
      from: Instant('Its begin.'),
      to: Instant('Its end.'),
      /** Null where it is not known: before the monitor was made, or events no longer kept. */
      state: Nullable(Type.Enum(STATES)),
      event_id: Nullable(Type.String({ description: 'The event that began it.' })),
    }),
    { description: 'At most 500; shorter ones are then joined with their longer neighbours.' },
  ),
  changes: Type.Integer({
    description: 'Events in the range as incidence_count counts them: first outcomes after UNSET left out.',
  }),
  /** Share of the known time in VALID, 0 to 1; UNSET is not known. Null when nothing is known. */
  valid: Nullable(Type.Number()),
})
export type Timeline = Static<typeof Timeline>

/** `GET /dashboard/api/monitors/{id}/difference`: which records to mark, by the rules of the type and the mode. */
export const ValueDifference = StrictObject({
  missing: Type.Array(Type.String(), { description: 'Expected values that nothing current meets.' }),
  extra: Type.Array(Type.String(), { description: 'Current values that are not expected; none in flexible mode.' }),
})
export type ValueDifference = Static<typeof ValueDifference>

/** `POST /dashboard/api/accept/{monitor}`: expects the current values from now on. Answers the Monitor. */
export const Acceptance = StrictObject({
  /** What the person saw; where it has changed since, nothing is accepted (409). */
  current_value: Type.Optional(Type.Array(Type.String())),
})
export type Acceptance = Static<typeof Acceptance>

const attempts = Type.Integer({ description: 'How many attempts were made, manual retries included.' })
/** `GET /dashboard/api/webhooks/{id}/requests`: as the API's list, with the number of attempts. */
export const LoggedRequest = StrictObject({ ...WebhookRequest.properties, attempts })
export type LoggedRequest = Static<typeof LoggedRequest>

/** `GET /dashboard/api/webhooks/{id}/requests/{id}/body`: the body that every attempt sends, octet for octet (UTF-8). */
export const SentBody = StrictObject({ body: Type.String() })
export type SentBody = Static<typeof SentBody>

/** Counting ends there. */
export const MAX_COUNTED_REQUESTS = 10_000
const count = (what: string) => Type.Integer({ description: `${what}; at most 10,000 are counted.` })
/** `GET /dashboard/api/webhooks/{id}/replay?since=…&until=…`: how many requests of the period have each status, tests left out. */
export const ReplayCounts = StrictObject({
  PENDING: count('Not attempted yet'),
  RETRYING: count('Waiting for a retry'),
  FAILED: count('Given up'),
  DELIVERED: count('Delivered'),
})
export type ReplayCounts = Static<typeof ReplayCounts>
/** `POST /dashboard/api/webhooks/{id}/replay`: as the API's, of several statuses. Answers what the API answers. */
export const ReplaySelection = StrictObject({
  since: Replay.properties.since,
  until: Replay.properties.until,
  statuses: Type.Array(Type.Enum(REQUEST_STATUSES), { minItems: 1, maxItems: 4 }),
})
export type ReplaySelection = Static<typeof ReplaySelection>
