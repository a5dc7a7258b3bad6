import { type Static, Type } from 'typebox'
import { Instant, Nullable, pageQuery, StrictObject, Time } from './common.ts'
import { STATES } from './monitors.ts'
import { RECORD_TYPES } from './record-types.ts'

const CAUSE_KINDS = ['zone', 'value', 'target', 'name_server', 'provider', 'parent', 'upstream'] as const

/** Of monitors, and the health of zones. */
export const INCIDENT_STATES = [...STATES, 'WARNING', 'ERROR', 'CRITICAL'] as const
export type IncidentState = (typeof INCIDENT_STATES)[number]

export const Incident = StrictObject(
  {
    id: Type.String({ description: 'Begins with `inc_`.' }),
    zone: Type.String({ description: 'The domain of the monitors. With several domains: that of the first monitor.' }),
    state: Type.Enum(INCIDENT_STATES, {
      type: 'string',
      description:
        'The state of the first monitor when it failed; if a zone failed first, its health: WARNING, ERROR or CRITICAL.',
    }),
    cause: Type.Enum(CAUSE_KINDS, {
      type: 'string',
      description:
        'What the monitors share. `zone`: the domain. The others are shared by several domains. `value`: the same wrong records. `target`: a missing CNAME target. `name_server`: a name server that is down. `provider`: the provider of their name servers. `parent`: a parent zone that does not delegate them. `upstream`: the resolvers, which are down.',
    }),
    cause_value: Nullable(
      Type.String({
        description:
          'The records, the target, the name server, the provider, the zone or the resolver that they share; null for `zone`.',
      }),
    ),
    opened: Instant('When the first monitor failed.'),
    resolved: Nullable(Instant('When the last monitor recovered.')),
    monitors: Type.Integer({ description: 'How many monitors and zones failed.' }),
    failing: Type.Integer({ description: 'How many of them still fail.' }),
    zones: Type.Integer({ description: 'How many of the `monitors` are zones.' }),
    acknowledged: Nullable(Instant('When somebody acknowledged it.')),
    acknowledged_by: Nullable(Type.String()),
    assignee: Nullable(Type.String({ description: 'The id of the agent (`agt_…`) who takes care of it.' })),
    snoozed_until: Nullable(Instant('No alerts about it are sent before this time.')),
    note: Nullable(Type.String()),
    headline: Type.String({ description: 'What is wrong, in a sentence. Once resolved: what failed, and how.' }),
    advice: Nullable(
      Type.String({
        description: 'What to do, for the monitor or zone that failed first; null if nothing is to be done.',
      }),
    ),
    first_monitors: Type.Array(
      StrictObject({
        id: Type.String({ description: 'Begins with `mon_`.' }),
        name: Type.String({ description: 'The name of the record.' }),
        record_type: Type.Enum(RECORD_TYPES),
        state: Type.Enum(STATES, { description: 'With which it failed.' }),
      }),
      {
        description:
          'At most 3 of the failing monitors, those that failed first; once resolved, of all. `GET /incidents/{incident}/monitors` lists all.',
      },
    ),
  },
  {
    title: 'Incident',
    description: 'Monitors that fail at the same time for the same reason.',
    examples: [
      {
        id: 'inc_01kaj3x7v8q2n5m4r6t9w0y1zb',
        zone: 'example.com',
        state: 'NOT_FOUND',
        cause: 'zone',
        cause_value: null,
        opened: '2026-11-21T09:30:00.000Z',
        resolved: null,
        monitors: 412,
        failing: 400,
        zones: 0,
        acknowledged: '2026-11-21T09:40:00.000Z',
        acknowledged_by: 'Ada Example',
        assignee: 'agt_01kaj3x7v8q2n5m4r6t9w0y1zb',
        snoozed_until: null,
        note: 'The registrar suspended the domain.',
        headline: '400 names of example.com do not exist (NXDOMAIN).',
        advice: 'For www.example.com: Create www.example.com at your DNS provider with 192.0.2.1 as its A record.',
        first_monitors: [
          { id: 'mon_01kaj3x7v8q2n5m4r6t9w0y1zb', name: 'www.example.com', record_type: 'A', state: 'NOT_FOUND' },
        ],
      },
    ],
  },
)
export type Incident = Static<typeof Incident>

export const IncidentChange = StrictObject(
  {
    acknowledged: Type.Optional(
      Type.Boolean({ description: 'True: alerts of the incident that are not sent yet are canceled.' }),
    ),
    assignee: Type.Optional(
      Nullable(Type.String({ maxLength: 40, description: 'The id of an agent of the organization; null: nobody.' })),
    ),
    snoozed_until: Type.Optional(
      Nullable(
        Type.String({
          maxLength: 40,
          description:
            'A time within 30 days. Alerts about the incident wait until then. If monitors still fail then, alerts that were already sent are sent once more. Null: ends the snooze.',
          examples: ['2026-11-21T12:00:00.000Z'],
        }),
      ),
    ),
    note: Type.Optional(Nullable(Type.String({ maxLength: 2000 }))),
  },
  { title: 'IncidentChange', examples: [{ acknowledged: true, note: 'The registrar suspended the domain.' }] },
)
export type IncidentChange = Static<typeof IncidentChange>

const MAX_ACKNOWLEDGED = 100
export const IncidentAcknowledgements = StrictObject(
  {
    incidents: Type.Array(Type.String({ maxLength: 40 }), {
      minItems: 1,
      maxItems: MAX_ACKNOWLEDGED,
      description: 'The ids of the incidents. Those that are resolved or acknowledged already do not change.',
    }),
  },
  { title: 'IncidentAcknowledgements', examples: [{ incidents: ['inc_01kaj3x7v8q2n5m4r6t9w0y1zb'] }] },
)
export type IncidentAcknowledgements = Static<typeof IncidentAcknowledgements>

export const IncidentsAcknowledged = StrictObject(
  { count: Type.Integer({ description: 'How many incidents were acknowledged.' }) },
  { title: 'IncidentsAcknowledged', examples: [{ count: 1 }] },
)
export type IncidentsAcknowledged = Static<typeof IncidentsAcknowledged>

export const IncidentQuery = StrictObject({
  ...pageQuery('IncidentOrder', ['opened']),
  is_open: Type.Optional(Type.Boolean({ description: 'Only open incidents (true), or only resolved ones (false).' })),
  state: Type.Optional(
    Type.Enum(INCIDENT_STATES, { description: 'Only incidents whose first monitor, or zone, failed with this state.' }),
  ),
  cause: Type.Optional(Type.Enum(CAUSE_KINDS, { description: 'Only incidents whose monitors share this.' })),
  zone_id: Type.Optional(Type.String({ maxLength: 40, description: 'Only incidents in which this zone failed.' })),
  monitor_id: Type.Optional(
    Type.String({ maxLength: 40, description: 'Only the open incident in which this monitor fails.' }),
  ),
  since: Type.Optional(Time('Only incidents opened at this time or later.')),
  group: Type.Optional(
    Type.String({
      maxLength: 100,
      description:
        'Only incidents of monitors that were in this group when they failed. The slug or id of a group, or the id of a deleted group.',
    }),
  ),
})
export type IncidentQuery = Static<typeof IncidentQuery>

export const INCIDENT_ENTRIES = [
  ...(['opened', 'sent', 'not_sent', 'acknowledged', 'unacknowledged', 'assigned', 'snoozed', 'noted'] as const),
  ...(['joined', 'recovered', 'left', 'planned', 'resolved'] as const),
] as const
export type EntryKind = (typeof INCIDENT_ENTRIES)[number]
export const IncidentEntry = StrictObject(
  {
    id: Type.String({ description: 'Begins with `ent_`.' }),
    occurred: Instant('When it happened.'),
    kind: Type.Enum(INCIDENT_ENTRIES, {
      type: 'string',
      description:
        '`sent`, `not_sent`: an alert. `opened`, `joined`, `recovered`, `left`, `resolved`: by the server; monitors leave an incident when they are disabled, deleted or changed. `planned`: a change of records. The others: what people did.',
    }),
    actor: Nullable(Type.String({ description: 'Who did it, or which channel; null for the server.' })),
    detail: Nullable(
      Type.String({
        description:
          'The first monitor, how many monitors joined, recovered or left, the title of the message, why it was not sent, the assignee, when the snooze or the period of the planned change ends, or the note.',
      }),
    ),
    alert_id: Nullable(Type.String()),
    channel_id: Nullable(Type.String()),
  },
  {
    title: 'IncidentEntry',
    description: 'An entry in the timeline of an incident.',
    examples: [
      {
        id: 'ent_01kaj3x7v8q2n5m4r6t9w0y1zb',
        occurred: '2026-11-21T09:40:00.000Z',
        kind: 'sent',
        actor: 'Operations',
        detail: '412 monitors of example.com: not found',
        alert_id: 'alr_01kaj3x7v8q2n5m4r6t9w0y1zb',
        channel_id: 'chn_01kaj3x7v8q2n5m4r6t9w0y1zb',
      },
    ],
  },
)
export type IncidentEntry = Static<typeof IncidentEntry>
export const IncidentEntryQuery = StrictObject(pageQuery('IncidentEntryOrder', ['occurred']))

/** `GET` and `POST /alert-acknowledgements/{token}`. */
export const Acknowledgement = StrictObject(
  {
    organization: Type.String(),
    title: Type.String({ description: 'The title of the message.' }),
    state: Type.Enum(['open', 'acknowledged', 'resolved'], {
      type: 'string',
      description: 'The state of the incident.',
    }),
    acknowledged_by: Nullable(Type.String()),
  },
  {
    title: 'Acknowledgement',
    examples: [
      {
        organization: 'Acme',
        title: '412 monitors of example.com: not found',
        state: 'acknowledged',
        acknowledged_by: 'Link in Operations',
      },
    ],
  },
)
export type Acknowledgement = Static<typeof Acknowledgement>

export const ALERT_STATUSES = ['PENDING', 'RETRYING', 'SENT', 'FAILED', 'CANCELED', 'HELD'] as const
export type AlertStatus = (typeof ALERT_STATUSES)[number]
const alert = {
  id: Type.String({ description: 'Begins with `alr_`.' }),
  created: Instant('When the alert was created.'),
  kind: Type.Enum(['failing', 'recovered', 'information', 'summary', 'test'], {
    type: 'string',
    description: '`information`: how a planned change or a wait ended.',
  }),
  title: Nullable(Type.String({ description: 'The title of the message; null until the first attempt.' })),
  status: Type.Enum(ALERT_STATUSES, {
    type: 'string',
    description:
      '`CANCELED`: the monitors recovered before it was sent, or somebody acknowledged the incident. `HELD`: over the limit of the channel for an hour, and part of its next summary.',
  }),
  channel_id: Type.String(),
  rule_id: Nullable(Type.String()),
  incident_id: Nullable(Type.String()),
  retries: Type.Integer({ description: 'The number of scheduled retries so far, at most 9.' }),
  sent: Nullable(Instant('When it was sent.')),
  next_attempt: Nullable(Instant('When the next attempt is due.')),
  error: Nullable(Type.String({ description: 'Why the last attempt failed, or why it was canceled.' })),
  is_escalation: Type.Boolean({ description: 'Whether it is sent because nobody acknowledged the first message.' }),
}
const exampleAlert = {
  id: 'alr_01kaj3x7v8q2n5m4r6t9w0y1zb',
  created: '2026-11-21T09:30:00.000Z',
  kind: 'failing',
  title: '412 monitors of example.com: not found',
  status: 'SENT',
  channel_id: 'chn_01kaj3x7v8q2n5m4r6t9w0y1zb',
  rule_id: 'rul_01kaj3x7v8q2n5m4r6t9w0y1zb',
  incident_id: 'inc_01kaj3x7v8q2n5m4r6t9w0y1zb',
  retries: 0,
  sent: '2026-11-21T09:40:00.000Z',
  next_attempt: null,
  error: null,
  is_escalation: false,
}
export const Alert = StrictObject(alert, {
  title: 'Alert',
  description: 'A message about an incident to one channel.',
  examples: [exampleAlert],
})
export type Alert = Static<typeof Alert>

const AlertAttempt = StrictObject({
  number: Type.Integer({ description: '1 is the first attempt.' }),
  attempted: Instant('When the attempt was made.'),
  status_code: Nullable(Type.Integer()),
  error: Nullable(Type.String()),
  request: Nullable(Type.String({ description: 'What was sent, without secrets: the first 4,000 characters.' })),
  response_body: Nullable(Type.String({ description: 'The first 4,000 characters.' })),
  total_ms: Type.Integer(),
})
export const AlertInFull = StrictObject(
  { ...alert, log: Type.Array(AlertAttempt, { description: 'The attempts, oldest first.' }) },
  {
    title: 'AlertInFull',
    examples: [
      {
        ...exampleAlert,
        log: [
          {
            number: 1,
            attempted: '2026-11-21T09:40:00.000Z',
            status_code: 200,
            error: null,
            request: 'POST https://hooks.slack.com/********',
            response_body: 'ok',
            total_ms: 181,
          },
        ],
      },
    ],
  },
)
export type AlertInFull = Static<typeof AlertInFull>

export const AlertQuery = StrictObject({
  ...pageQuery('AlertOrder', ['created']),
  status: Type.Optional(Type.Enum(ALERT_STATUSES, { description: 'Only alerts with this status.' })),
  channel_id: Type.Optional(Type.String({ maxLength: 40, description: 'Only alerts to this channel.' })),
  incident_id: Type.Optional(Type.String({ maxLength: 40, description: 'Only alerts about this incident.' })),
})
export type AlertQuery = Static<typeof AlertQuery>

export const AlertReplay = StrictObject(
  {
    since: Time('Alerts created at this time or later.'),
    until: Type.Optional(Time('Alerts created before this time. Default: now.')),
    status: Type.Optional(
      Type.Union(
        [
          Type.Enum(['SENT', 'FAILED', 'RETRYING']),
          Type.Array(Type.Enum(['SENT', 'FAILED', 'RETRYING']), { minItems: 1, maxItems: 3 }),
        ],
        { description: 'Only alerts with this status, or one of these. Default: all of them.' },
      ),
    ),
  },
  { title: 'AlertReplay', examples: [{ since: '2026-01-01T00:00:00Z', status: 'FAILED' }] },
)
export type AlertReplay = Static<typeof AlertReplay>

export const AlertsReplayed = StrictObject(
  { count: Type.Integer({ description: 'The number of alerts that are sent again.' }) },
  { title: 'AlertsReplayed', examples: [{ count: 42 }] },
)
export type AlertsReplayed = Static<typeof AlertsReplayed>
