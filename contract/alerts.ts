import { type Static, Type } from 'typebox'
import { FAILING_STATES } from './alert-states.ts'
import { firstExample, Instant, Name, Nullable, ONE_LINE, pageQuery, SET_BY_SERVER, StrictObject } from './common.ts'
import { MAX_TAGS, TagText } from './labels.ts'
import { STATES } from './monitors.ts'
import { RECORD_TYPES } from './record-types.ts'
import { DEFAULT_ZONE_LEVELS, ZONE_ALERT_LEVELS } from './zone-codes.ts'

/** server/alerts/channel-types/ has one file for each. */
export const CHANNEL_TYPES = [
  ...(['email', 'slack', 'slack_app', 'discord', 'teams', 'telegram', 'pagerduty', 'opsgenie', 'ntfy'] as const),
  ...(['pushover', 'mattermost', 'google_chat', 'matrix', 'twilio', 'http'] as const),
] as const
export type ChannelType = (typeof CHANNEL_TYPES)[number]
const type = Type.Enum(CHANNEL_TYPES, { type: 'string', title: 'ChannelType' })

const Settings = (description: string) =>
  Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, description })

export const Channel = StrictObject(
  {
    id: Type.String({ description: 'Begins with `chn_`.' }),
    created: Instant('When the channel was created.'),
    name: Type.String(),
    type,
    settings: Settings('The settings of the type. A secret is masked.'),
    is_active: Type.Boolean(),
    last_error: Nullable(Type.String({ description: 'Why the last alert was not sent; null if it was.' })),
    last_sent: Nullable(Instant('When the last alert was sent.')),
  },
  {
    title: 'Channel',
    description: 'Where alerts are sent: a mailbox, a chat, a pager.',
    examples: [
      {
        id: 'chn_01kaj3x7v8q2n5m4r6t9w0y1zb',
        created: '2026-11-20T08:00:00.000Z',
        name: 'Operations',
        type: 'slack',
        settings: { webhook_url: '********' },
        is_active: true,
        last_error: null,
        last_sent: '2026-11-21T09:30:00.000Z',
      },
    ],
  },
)
export type Channel = Static<typeof Channel>

const elsewhere = {
  id: SET_BY_SERVER,
  created: SET_BY_SERVER,
  last_error: SET_BY_SERVER,
  last_sent: SET_BY_SERVER,
}

export const NewChannel = StrictObject(
  { name: Name, type, settings: Settings('The settings of the type: GET /channel-types lists them.') },
  {
    title: 'NewChannel',
    examples: [
      { name: 'Operations', type: 'slack', settings: { webhook_url: 'https://hooks.slack.com/services/T0/B0/token' } },
    ],
    'x-elsewhere': { ...elsewhere, is_active: 'is true for a new channel. Change it with PATCH /channels/{channel}.' },
  },
)
export type NewChannel = Static<typeof NewChannel>

export const ChannelChange = StrictObject(
  {
    name: Type.Optional(Name),
    settings: Type.Optional(
      Settings(
        'Replaced as a whole. A secret that is left out or masked keeps its value, unless the address changes: then it is needed again.',
      ),
    ),
    is_active: Type.Optional(Type.Boolean({ description: 'Alerts of a channel that is not active are canceled.' })),
  },
  {
    title: 'ChannelChange',
    examples: [{ name: 'On call' }],
    'x-elsewhere': { ...elsewhere, type: 'cannot be changed. Create another channel.' },
  },
)
export type ChannelChange = Static<typeof ChannelChange>

export const ChannelQuery = StrictObject(pageQuery('ChannelOrder', ['created']))

const ChannelField = StrictObject({
  name: Type.String(),
  label: Type.String(),
  kind: Type.Enum(['text', 'url', 'addresses', 'boolean'], { type: 'string' }),
  is_secret: Type.Boolean({ description: 'Whether it is encrypted and never returned.' }),
  is_required: Type.Boolean(),
  description: Nullable(Type.String()),
  example: Nullable(Type.String()),
  max_length: Nullable(Type.Integer()),
})
export type ChannelField = Static<typeof ChannelField>

export const ChannelTypeInfo = StrictObject(
  {
    type,
    name: Type.String({ description: 'The name that people see.' }),
    help: Type.String({ description: 'Where to find the settings.' }),
    fields: Type.Array(ChannelField, { description: 'Its settings.' }),
  },
  {
    title: 'ChannelTypeInfo',
    examples: [
      {
        type: 'slack',
        name: 'Slack',
        help: 'Create an incoming webhook.',
        fields: [
          {
            name: 'webhook_url',
            label: 'Webhook URL',
            kind: 'url',
            is_secret: true,
            is_required: true,
            description: null,
            example: 'https://hooks.slack.com/services/T000/B000/XXXX',
            max_length: 2000,
          },
        ],
      },
    ],
  },
)
export type ChannelTypeInfo = Static<typeof ChannelTypeInfo>
export const ChannelTypes = StrictObject(
  { data: Type.Array(ChannelTypeInfo) },
  { title: 'ChannelTypes', examples: [{ data: [firstExample(ChannelTypeInfo)] }] },
)

const MAX_FILTER_VALUES = 100
/** 00:00 to 23:59. */
const CLOCK_TIME = '^([01][0-9]|2[0-3]):[0-5][0-9]$'
const rule = {
  name: Name,
  is_active: Type.Boolean(),
  groups: Nullable(
    Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
      minItems: 1,
      maxItems: MAX_FILTER_VALUES,
      description: 'Only monitors in these groups: ids (`grp_…`) or slugs. Null: every group.',
    }),
  ),
  name_pattern: Nullable(
    Type.String({
      minLength: 1,
      maxLength: 253,
      pattern: ONE_LINE,
      description: 'Only names like this; `*` stands for any characters: `*.example.com`. Null: every name.',
    }),
  ),
  tags: Nullable(
    Type.Array(TagText, {
      minItems: 1,
      maxItems: MAX_TAGS,
      description: 'Only monitors that have all of these tags. Null: every monitor.',
    }),
  ),
  record_types: Nullable(
    Type.Array(Type.Enum(RECORD_TYPES), { minItems: 1, maxItems: MAX_FILTER_VALUES, description: 'Null: every type.' }),
  ),
  states: Nullable(
    Type.Array(Type.Enum(FAILING_STATES), {
      minItems: 1,
      maxItems: FAILING_STATES.length,
      description: 'Only failures with these states. Null: every failure.',
    }),
  ),
  zone_levels: Type.Array(Type.Enum(ZONE_ALERT_LEVELS), {
    maxItems: ZONE_ALERT_LEVELS.length,
    description:
      'The health of zones that the rule applies to; empty: it applies to no zones. Of its filters only `name_pattern` concerns zones. Zones have no groups and no tags: a rule with `groups` or `tags` applies to no zones.',
  }),
  delay: Type.Integer({
    minimum: 0,
    maximum: 1440,
    description: 'Minutes that a monitor or a zone must fail before the alert is sent.',
  }),
  notify_recovery: Type.Boolean({ description: 'Whether a message is sent when the incident is resolved.' }),
  first_results: Type.Boolean({
    description:
      'Whether the rule also matches monitors that were never valid, if their first result still fails after the delay.',
  }),
  repeat_every: Nullable(
    Type.Integer({
      minimum: 1,
      maximum: 168,
      description:
        'Hours after which the alert is sent again, while monitors fail and nobody has acknowledged it. Null: never.',
    }),
  ),
  escalate_after: Nullable(
    Type.Integer({
      minimum: 1,
      maximum: 1440,
      description: 'Minutes after the first message until `escalation_channel` receives one, if nobody acknowledged.',
    }),
  ),
  escalation_channel: Nullable(Type.String({ maxLength: 40, description: 'The id of another channel (`chn_…`).' })),
  quiet_hours: Nullable(
    StrictObject(
      {
        from: Type.String({ pattern: CLOCK_TIME, description: 'a time as 22:00', examples: ['22:00'] }),
        until: Type.String({ pattern: CLOCK_TIME, description: 'a time as 07:00', examples: ['07:00'] }),
      },
      { description: 'Every day in `timezone`. Alerts wait until the end. Null: none.' },
    ),
  ),
  timezone: Type.String({ maxLength: 100, description: 'The IANA time zone of the quiet hours and the daily digest.' }),
  digest: Type.Enum(['none', 'hourly', 'daily'], {
    type: 'string',
    description:
      'One message with all alerts of the rule: at each full hour, or at 08:00. `none`: each alert is a separate message.',
  }),
  channels: Type.Array(Type.String({ maxLength: 40 }), {
    minItems: 1,
    maxItems: 10,
    description: 'The ids of channels (`chn_…`) that the alerts are sent to.',
  }),
}
const exampleRule = {
  name: 'Shop',
  is_active: true,
  groups: null,
  name_pattern: '*.example.com',
  tags: null,
  record_types: null,
  states: null,
  zone_levels: ['error' as const, 'critical' as const],
  delay: 10,
  notify_recovery: true,
  first_results: false,
  repeat_every: 4,
  escalate_after: null,
  escalation_channel: null,
  quiet_hours: null,
  timezone: 'UTC',
  digest: 'none',
  channels: ['chn_01kaj3x7v8q2n5m4r6t9w0y1zb'],
}

export const AlertRule = StrictObject(
  {
    id: Type.String({ description: 'Begins with `rul_`.' }),
    created: Instant('When the rule was created.'),
    ...rule,
    groups: Nullable(Type.Array(Type.String())),
    tags: Nullable(Type.Array(Type.String())),
    channels: Type.Array(Type.String()),
  },
  {
    title: 'AlertRule',
    description: 'Which failures are sent to which channels.',
    examples: [{ id: 'rul_01kaj3x7v8q2n5m4r6t9w0y1zb', created: '2026-11-20T08:00:00.000Z', ...exampleRule }],
  },
)
export type AlertRule = Static<typeof AlertRule>

const fixed = { id: SET_BY_SERVER, created: SET_BY_SERVER }
const { name: ruleName, channels: ruleChannels, ...ruleOptions } = rule
const optional = Type.Partial(Type.Object(ruleOptions)).properties
export const NewAlertRule = StrictObject(
  {
    name: ruleName,
    channels: ruleChannels,
    ...optional,
    is_active: Type.Optional(Type.Boolean({ default: true })),
    zone_levels: Type.Optional(
      Type.Array(Type.Enum(ZONE_ALERT_LEVELS), { ...rule.zone_levels, default: [...DEFAULT_ZONE_LEVELS] }),
    ),
    delay: Type.Optional(Type.Integer({ ...rule.delay, default: 10 })),
    notify_recovery: Type.Optional(Type.Boolean({ ...rule.notify_recovery, default: true })),
    first_results: Type.Optional(Type.Boolean({ ...rule.first_results, default: false })),
    timezone: Type.Optional(Type.String({ ...rule.timezone, default: 'UTC' })),
    digest: Type.Optional(Type.Enum(['none', 'hourly', 'daily'], { ...rule.digest, default: 'none' })),
  },
  { title: 'NewAlertRule', examples: [exampleRule], 'x-elsewhere': fixed },
)
export type NewAlertRule = Static<typeof NewAlertRule>

// Without defaults: a field that is left out keeps its value.
export const AlertRuleChange = StrictObject(
  { name: Type.Optional(ruleName), channels: Type.Optional(ruleChannels), ...optional },
  {
    title: 'AlertRuleChange',
    description: 'Fields you leave out keep their values.',
    examples: [{ delay: 30 }],
    'x-elsewhere': fixed,
  },
)
export type AlertRuleChange = Partial<NewAlertRule>

export const AlertRuleQuery = StrictObject(pageQuery('AlertRuleOrder', ['created']))

/** The filters and the delay of a rule. */
export const PreviewedRule = StrictObject(
  {
    groups: Type.Optional(rule.groups),
    name_pattern: Type.Optional(rule.name_pattern),
    tags: Type.Optional(rule.tags),
    record_types: Type.Optional(rule.record_types),
    states: Type.Optional(rule.states),
    delay: Type.Optional(Type.Integer({ ...rule.delay, default: 10 })),
    first_results: Type.Optional(Type.Boolean({ ...rule.first_results, default: false })),
  },
  { title: 'PreviewedRule', examples: [{ name_pattern: '*.example.com', delay: 10 }] },
)
export type PreviewedRule = Static<typeof PreviewedRule>

const PreviewedAlert = StrictObject({
  event_id: Type.String(),
  occurred: Instant('When the monitor failed.'),
  name: Type.String(),
  record_type: Type.String(),
  state: Type.Enum(STATES, { type: 'string' }),
})
export const AlertPreview = StrictObject(
  {
    days: Type.Integer({ description: 'The number of days that were searched.' }),
    is_complete: Type.Boolean({ description: 'False if there are more failures than were searched.' }),
    data: Type.Array(PreviewedAlert, { description: 'Failures that the rule matches, newest first, at most 100.' }),
  },
  {
    title: 'AlertPreview',
    examples: [
      {
        days: 30,
        is_complete: true,
        data: [
          {
            event_id: 'evt_01kaj3x7v8q2n5m4r6t9w0y1zb',
            occurred: '2026-11-21T09:30:00.000Z',
            name: 'www.example.com',
            record_type: 'A',
            state: 'MISMATCH',
          },
        ],
      },
    ],
  },
)
export type AlertPreview = Static<typeof AlertPreview>
