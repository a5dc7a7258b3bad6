import { type Static, Type } from 'typebox'
import type { CauseReason } from './causes.ts'
import { Instant, Nullable, organizationField, StrictObject } from './common.ts'
import { Event } from './events.ts'
import { IMPORT_REASONS } from './import-codes.ts'
import { Incident } from './incidents.ts'
import { newLabels } from './labels.ts'
import { STATES } from './monitors.ts'
import { RECORD_TYPES } from './record-types.ts'
import { REQUEST_STATUSES, Replay, WebhookRequest } from './webhooks.ts'

/** What the dashboard requests beside the API, for one organization. Not part of the public API. */

/** Monitors of one domain with the same state and answer. */
const Cause = StrictObject({
  /** What is wrong: "3 records of example.com answer 198.51.100.7 instead of 192.0.2.1." */
  reason: Type.Unsafe<CauseReason>(
    StrictObject({ code: Type.String(), params: Type.Object({}, { additionalProperties: true }), text: Type.String() }),
  ),
  state: Type.Enum(STATES),
  domain: Type.String(),
  is_awaited: Type.Boolean({ description: 'Whether all of them wait for their expected records.' }),
  /** When the first of them came into this state; null if no such event is stored. */
  since: Nullable(Instant('Since when.')),
  monitors: Type.Array(
    StrictObject({
      id: Type.String(),
      name: Type.String({ description: 'The owner name.' }),
      record_type: Type.Enum(RECORD_TYPES),
    }),
    { description: 'At most 5 of them.' },
  ),
  count: Type.Integer({ description: 'How many there are.' }),
})
export type Cause = Static<typeof Cause>

/**
 * The one count of trouble. A monitor fails if it is active and neither valid nor unchecked. It is in an open incident, or else
 * awaited, or else failed a moment ago, or else was never valid. Incidents follow their monitors within seconds.
 */
const Failing = StrictObject({
  monitors: Type.Integer({ description: 'How many monitors fail.' }),
  in_incidents: Type.Integer({ description: 'Those that are in an open incident.' }),
  awaited: Type.Integer({ description: 'Others that wait for their expected records.' }),
  failed_now: Type.Integer({ description: 'Others that were valid, and whose incident opens within seconds.' }),
  never_valid: Type.Integer({
    description: 'The others: an incident opens when a monitor fails that was valid before.',
  }),
  incidents: Type.Integer({ description: 'Open incidents.' }),
  acknowledged: Type.Integer({ description: 'Those of them that somebody acknowledged.' }),
})
export type Failing = Static<typeof Failing>

/** `GET /dashboard/api/overview`. */
export const Overview = StrictObject({
  states: Type.Record(Type.String(), Type.Integer(), {
    description: 'Active monitors by state. States without monitors are omitted.',
  }),
  active: Type.Integer(),
  disabled: Type.Integer(),
  failing: Failing,
  /** The open ones, at most 20: those that nobody acknowledged first, then the largest, then the newest. */
  incidents: Type.Array(Incident),
  /** What fails outside of incidents: at most 20 causes, the largest first, then the newest. `more`: how many others there are. */
  attention: Type.Array(Cause),
  more: Type.Integer(),
  /** The newest changes, at most 10, without first results. */
  changes: Type.Array(Event),
  /** First results of new monitors and new expected values in the last 24 hours; null if there are none. */
  first_results: Nullable(
    StrictObject({
      count: Type.Integer({ description: 'At most 10,000 counted.' }),
      from: Instant('The oldest of them.'),
      to: Instant('The newest of them.'),
    }),
  ),
  checks: StrictObject({
    /** Active monitors. `late`: the check is more than a minute overdue. */
    on_time: Type.Integer(),
    late: Type.Integer(),
    last_checked: Nullable(Instant('When the last check ended, of the 500 oldest and the 500 newest active monitors.')),
  }),
  webhooks: StrictObject({
    count: Type.Integer(),
    paused: Type.Integer(),
    failing: Type.Integer({ description: 'Active webhooks whose last attempt failed.' }),
    /** Active webhooks with a request that is more than a minute overdue. */
    late: Type.Integer(),
    trouble: Type.Array(
      StrictObject({
        id: Type.String(),
        url: Type.String(),
        health: Type.Enum(['paused', 'failing']),
        last_error: Nullable(Type.String()),
        waiting: Type.Integer({ description: 'Requests that are not delivered yet. At most 1,000 are counted.' }),
      }),
      { description: 'At most 20, paused webhooks first.' },
    ),
  }),
  /** Processes of the server that reported within the last 8 seconds. */
  processes: StrictObject({
    checking: Type.Integer(),
    cut_off: Type.Integer({ description: 'Checking processes for which no canary name resolves.' }),
    delivering: Type.Integer(),
  }),
  /** The first steps that the organization has completed. */
  has: StrictObject({
    monitors: Type.Boolean(),
    webhooks: Type.Boolean(),
    alerts: Type.Boolean({
      description: 'An active rule sends to an active channel. Email does not count on a server that sends none.',
    }),
    arrived: Type.Boolean({ description: 'A test, an alert or a webhook request was delivered.' }),
  }),
})
export type Overview = Static<typeof Overview>

/**
 * `GET /dashboard/api/live?organization=…` (server-sent events). Event `change`: a LiveChange, after which the page loads its data
 * again. Event `beat`: every 5 s while the database answers, so the data of the page is current. A check without a change is no event.
 */
export const LiveChange = StrictObject({
  /** The lists of the API that changed. */
  lists: Type.Array(Type.Enum(['monitors', 'events', 'webhooks', 'requests', 'groups'])),
  monitors: Type.Array(Type.String(), { description: 'The ids, if known; at most 100.' }),
})
export type LiveChange = Static<typeof LiveChange>

/** `POST /dashboard/api/lookup`: queries the live records of a name from a resolver, for a new monitor. */
export const LookupRequest = StrictObject({
  /** `www.example.com`, an IP address, or a URL. */
  name: Type.String({ minLength: 1, maxLength: 512 }),
  /** Default: all types that are usual for such a name. */
  record_type: Type.Optional(Type.Enum(RECORD_TYPES)),
})
export type LookupRequest = Static<typeof LookupRequest>

const LookupResult = StrictObject({
  record_type: Type.Enum(RECORD_TYPES),
  /** The state of a monitor without expected values: VALID if there are records. */
  outcome: Type.Enum(STATES),
  /** In the form of `current_value`; at most 50. */
  values: Type.Array(Type.String()),
  /** The expected values of a new monitor; at most 10. */
  expected_value: Type.Array(Type.String()),
  is_exact_match: Type.Boolean(),
  /** The result in a sentence. */
  sentence: Type.String(),
  milliseconds: Type.Number(),
})
export const Lookup = StrictObject({
  full_domain: Type.String({ description: 'The name in the form of the API.' }),
  domain: Type.String(),
  subdomain: Type.String(),
  found: Type.Array(LookupResult, { description: 'One entry for each queried type, those with records first.' }),
})
export type Lookup = Static<typeof Lookup>
export type LookupResult = Static<typeof LookupResult>

/** `POST /dashboard/api/import`: a preview, which creates nothing. Exactly one of `zone`, `csv` and `domain`. */
export const ImportRequest = StrictObject({
  /** A zone file, RFC 1035 section 5. */
  zone: Type.Optional(Type.String({ maxLength: 1_048_576 })),
  /** The name of the zone, if the file has no $ORIGIN. */
  origin: Type.Optional(Type.String({ maxLength: 255 })),
  /** The first line names the columns: name, type, value, and optionally exact, group, notify, frequency, external_id, tags, metadata. */
  csv: Type.Optional(Type.String({ maxLength: 1_048_576 })),
  /** A domain whose usual records are queried: apex, www, mail, SPF, DMARC, common DKIM selectors, NS, MX, CAA. */
  domain: Type.Optional(Type.String({ maxLength: 255 })),
  group: Type.Optional(Type.String({ maxLength: 100 })),
  /** Which monitors are compared with the input: those of the group, or those of the domains in the input. */
  compare: Type.Optional(Type.Enum(['group', 'domains'])),
})
export type ImportRequest = Static<typeof ImportRequest>

const Expectation = {
  expected_value: Type.Array(Type.String(), { minItems: 1, maxItems: 10 }),
  is_exact_match: Type.Boolean(),
}

/** A monitor with the same name and type as a row, and different expected values. */
const OtherMonitor = StrictObject({ id: Type.String(), ...Expectation, group: Type.String({ description: 'Slug.' }) })

/** A compared monitor that is missing in the input. */
const MissingMonitor = StrictObject({
  id: Type.String(),
  name: Type.String(),
  record_type: Type.Enum(RECORD_TYPES),
  expected_value: Type.String({ description: 'The first expected value, at most 200 characters.' }),
})

export const ImportRow = StrictObject({
  /** The line of the input in which the row begins; null for discovered rows. */
  line: Nullable(Type.Integer()),
  full_domain: Type.String(),
  record_type: Type.String(),
  expected_value: Type.Array(Type.String()),
  is_exact_match: Type.Boolean(),
  group: Nullable(Type.String()),
  notify: Nullable(Type.String()),
  frequency: Nullable(Type.Integer()),
  external_id: Nullable(Type.String()),
  /** Null if the input has no such column. */
  tags: Nullable(Type.Array(Type.String())),
  metadata: Nullable(Type.Record(Type.String(), Type.String())),
  /**
   * `create`: ready for POST /monitors/bulk. `update`: `monitor` has the external id of the row, or else its name and type, and is
   * different. `unchanged`: an equal monitor exists. `skip`: the type is not imported (SOA, DNSKEY …). `refuse`: invalid.
   */
  result: Type.Enum(['create', 'update', 'unchanged', 'skip', 'reject']),
  /** Set for `update`, and if the external id identifies a monitor; else null. */
  monitor: Nullable(OtherMonitor),
  /** Why no monitor is created, in a sentence; empty for `create`. */
  reason: Type.String(),
  /** The stable code of `reason`; null for `create`, `update` and `unchanged`. */
  code: Nullable(Type.Enum(IMPORT_REASONS)),
})
export type ImportRow = Static<typeof ImportRow>
/** The most monitors that are compared with an input. */
export const MAX_COMPARED_MONITORS = 10_000
export const ImportPlan = StrictObject({
  rows: Type.Array(ImportRow, { description: 'At most 5,000.' }),
  /** Monitors that are missing in the input. Null without `compare`. */
  missing: Nullable(
    StrictObject({
      monitors: Type.Array(MissingMonitor),
      is_partial: Type.Boolean({ description: `Whether there are more than the first ${MAX_COMPARED_MONITORS}.` }),
    }),
  ),
})
export type ImportPlan = Static<typeof ImportPlan>
export type MissingMonitor = Static<typeof MissingMonitor>

/** `POST /dashboard/api/import/updates`: sets the expected values of monitors from their rows. */
export const ImportUpdates = StrictObject({
  updates: Type.Array(
    StrictObject({
      id: Type.String({ maxLength: 40 }),
      /** The expected values in the preview. A monitor that was changed since is not updated. */
      was: StrictObject(Expectation),
      ...Expectation,
      /** Other differences of a row with the external id of the monitor. */
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
  refused: Type.Array(StrictObject({ id: Type.String(), code: Type.Enum(IMPORT_REASONS), reason: Type.String() })),
})
export type ImportUpdated = Static<typeof ImportUpdated>

/** `GET /dashboard/api/labels`: suggestions for a tag, a key of metadata, or the value of a key. */
export const KnownLabelsQuery = StrictObject({
  of: Type.String({ pattern: '^(tag|metadata|metadata\\.[A-Za-z0-9_.-]{1,40})$' }),
  begin: Type.Optional(Type.String({ maxLength: 255, description: 'Only labels with this prefix.' })),
  ...organizationField,
})
export const KnownLabels = StrictObject({
  labels: Type.Array(Type.String(), { description: 'The first 20, in alphabetical order.' }),
})
export type KnownLabels = Static<typeof KnownLabels>

export const TIMELINE_RANGES = ['24h', '7d', '30d', '90d'] as const
export type TimelineRange = (typeof TIMELINE_RANGES)[number]

/** `GET /dashboard/api/monitors/{id}/timeline?range=…`: the states of the monitor over time, without gaps, oldest first. */
export const Timeline = StrictObject({
  from: Instant('The start of the range.'),
  to: Instant('Now.'),
  segments: Type.Array(
    StrictObject({
      from: Instant('The start of the segment.'),
      to: Instant('The end of the segment.'),
      /** Null if it is unknown: before the monitor was created, or because events are no longer stored. */
      state: Nullable(Type.Enum(STATES)),
      event_id: Nullable(Type.String({ description: 'The event with which the segment begins.' })),
    }),
    { description: 'At most 500. If there are more, the shortest are merged with their longer neighbors.' },
  ),
  changes: Type.Integer({
    description: 'Events in the range, without first results.',
  }),
  /** The share of the known time in state VALID, 0 to 1. UNSET counts as unknown. Null if all time is unknown. */
})
export type Timeline = Static<typeof Timeline>

/** `GET /dashboard/api/monitors/{id}/difference`: the values that differ, by the rules of the type and the mode. */
export const ValueDifference = StrictObject({
  missing: Type.Array(Type.String(), { description: 'Expected values that match no current value.' }),
  extra: Type.Array(Type.String(), { description: 'Current values that are not expected. Empty in flexible mode.' }),
  /** The whole RRset with which the monitor would be valid; null if it is valid or if another repair is needed. */
  record: Nullable(
    StrictObject({
      name: Type.String({ description: 'The name that has the records, such as the end of a CNAME chain.' }),
      type: Type.String(),
      data: Type.Array(Type.String(), { description: 'The rdata of each record, as in a zone file.' }),
    }),
  ),
})
export type ValueDifference = Static<typeof ValueDifference>

/** `POST /dashboard/api/accept/{monitor}`: sets the current values as the expected ones. Returns the monitor. */
export const Acceptance = StrictObject({
  /** The values that the user saw. If they have changed since, the response is 409. */
  current_value: Type.Optional(Type.Array(Type.String())),
})
export type Acceptance = Static<typeof Acceptance>

const attempts = Type.Integer({ description: 'The number of attempts, including manual retries.' })
/** `GET /dashboard/api/webhooks/{id}/requests`: the list of the API, with the number of attempts. */
export const LoggedRequest = StrictObject({ ...WebhookRequest.properties, attempts })
export type LoggedRequest = Static<typeof LoggedRequest>

/** `GET /dashboard/api/webhooks/{id}/requests/{id}/body`: the body that every attempt sends, byte for byte (UTF-8). */
export const SentBody = StrictObject({ body: Type.String() })
export type SentBody = Static<typeof SentBody>

/** Counts stop here. */
export const MAX_COUNTED_REQUESTS = 10_000
const count = (status: string) => Type.Integer({ description: `${status}; at most 10,000 are counted.` })
/** `GET /dashboard/api/webhooks/{id}/replay?since=…&until=…`: the number of requests of the period by status, without tests. */
export const ReplayCounts = StrictObject({
  PENDING: count('Not attempted yet'),
  RETRYING: count('Waiting for a retry'),
  FAILED: count('All attempts failed'),
  DELIVERED: count('Delivered'),
})
export type ReplayCounts = Static<typeof ReplayCounts>
/** `POST /dashboard/api/webhooks/{id}/replay`: the replay of the API, for several statuses. */
export const ReplaySelection = StrictObject({
  since: Replay.properties.since,
  until: Replay.properties.until,
  statuses: Type.Array(Type.Enum(REQUEST_STATUSES), { minItems: 1, maxItems: 4 }),
})
export type ReplaySelection = Static<typeof ReplaySelection>
