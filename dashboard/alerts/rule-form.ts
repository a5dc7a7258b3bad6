import type { FailingState } from '#contract/alert-states.ts'
import type { AlertRule, AlertRuleChange, Channel } from '#contract/alerts.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import { DEFAULT_ZONE_LEVELS } from '#contract/zone-codes.ts'
import { type Fields, sameSet } from '../edit/rebase.ts'
import { STATE_DISPLAY } from '../ui/state.tsx'

export type RuleForm = {
  name: string
  channels: string[]
  groups: string[]
  name_pattern: string
  tags: string
  record_types: MonitorRecordType[]
  states: FailingState[]
  zone_levels: AlertRule['zone_levels']
  delay: string
  notify_recovery: boolean
  first_results: boolean
  repeat_every: string
  escalate_after: string
  escalation_channel: string
  quiet_from: string
  quiet_until: string
  timezone: string
  digest: AlertRule['digest']
}

export const ZONE_LEVEL_LABELS = { warning: 'Warning', error: 'Error', critical: 'Critical' } as const

/** No escalation. */
export const NO_CHANNEL = ''

export const DIGESTS: { value: RuleForm['digest']; label: string }[] = [
  { value: 'none', label: 'A message for each incident' },
  { value: 'hourly', label: 'A digest every hour' },
  { value: 'daily', label: 'A digest every day at 08:00' },
]

export const formOf = (rule?: AlertRule, channel?: Channel): RuleForm => ({
  name: rule?.name ?? (channel ? `All monitors: ${channel.name}`.slice(0, 250) : ''),
  channels: rule?.channels ?? (channel ? [channel.id] : []),
  groups: rule?.groups ?? [],
  name_pattern: rule?.name_pattern ?? '',
  tags: rule?.tags?.join(', ') ?? '',
  record_types: rule?.record_types ?? [],
  states: rule?.states ?? [],
  zone_levels: rule?.zone_levels ?? [...DEFAULT_ZONE_LEVELS],
  delay: String(rule?.delay ?? 10),
  notify_recovery: rule?.notify_recovery ?? true,
  first_results: rule?.first_results ?? false,
  repeat_every: rule?.repeat_every == null ? '' : String(rule.repeat_every),
  escalate_after: String(rule?.escalate_after ?? 30),
  escalation_channel: rule?.escalation_channel ?? '',
  quiet_from: rule?.quiet_hours?.from ?? '',
  quiet_until: rule?.quiet_hours?.until ?? '',
  timezone: rule?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
  digest: rule?.digest ?? 'none',
})

const orNull = <T>(list: T[]): T[] | null => (list.length === 0 ? null : list)
const orAll = (list: readonly string[]) => (list.length === 0 ? 'all' : list.join(', '))
const yesOrNo = (isOn: boolean) => (isOn ? 'yes' : 'no')
const tagsOf = (text: string) => text.split(/[\s,]+/).filter((tag) => tag !== '')
const quietHours = ({ quiet_from: from, quiet_until: until }: RuleForm) => ({
  quiet_hours: from === '' && until === '' ? null : { from, until },
})
const escalation = ({ digest, escalation_channel, escalate_after }: RuleForm) =>
  digest !== 'none' || escalation_channel === NO_CHANNEL
    ? { escalate_after: null, escalation_channel: null }
    : { escalate_after: Number(escalate_after), escalation_channel }
const repetition = ({ digest, repeat_every }: RuleForm) => ({
  repeat_every: digest !== 'none' || repeat_every === '' ? null : Number(repeat_every),
})

export const fieldsOf = (
  nameOf: Record<'channel' | 'group', (id: string) => string>,
): Fields<RuleForm, AlertRuleChange> => ({
  name: { label: 'Name', text: (name) => name },
  channels: { label: 'Send to', text: (channels) => channels.map(nameOf.channel).join(', '), same: sameSet },
  groups: {
    label: 'Groups',
    text: (groups) => orAll(groups.map(nameOf.group)),
    same: sameSet,
    change: ({ groups }) => ({ groups: orNull(groups) }),
  },
  name_pattern: {
    label: 'Name pattern',
    text: (pattern) => pattern,
    change: ({ name_pattern }) => ({ name_pattern: name_pattern.trim() || null }),
  },
  tags: {
    label: 'Tags',
    text: (tags) => tags,
    same: (one, other) => sameSet(tagsOf(one), tagsOf(other)),
    change: ({ tags }) => ({ tags: orNull(tagsOf(tags)) }),
  },
  record_types: {
    label: 'Record types',
    text: orAll,
    same: sameSet,
    change: ({ record_types }) => ({ record_types: orNull(record_types) }),
  },
  states: {
    label: 'States',
    text: (states) => orAll(states.map((state) => STATE_DISPLAY[state].label)),
    same: sameSet,
    change: ({ states }) => ({ states: orNull(states) }),
  },
  zone_levels: {
    label: 'Zones',
    text: (levels) => levels.map((level) => ZONE_LEVEL_LABELS[level]).join(', ') || 'none',
    same: sameSet,
  },
  delay: { label: 'Delay in minutes', text: (delay) => delay, change: ({ delay }) => ({ delay: Number(delay) }) },
  notify_recovery: { label: 'Send a message on recovery', text: yesOrNo },
  first_results: { label: 'Include monitors that have never been valid', text: yesOrNo },
  repeat_every: { label: 'Repeat every (hours)', text: (hours) => hours, change: repetition },
  escalate_after: { label: 'Escalate after (minutes)', text: (minutes) => minutes, change: escalation },
  escalation_channel: {
    label: 'Escalate to',
    text: (channel) => (channel === NO_CHANNEL ? 'Nobody' : nameOf.channel(channel)),
    change: escalation,
  },
  quiet_from: { label: 'Quiet from', text: (time) => time, change: quietHours },
  quiet_until: { label: 'Quiet until', text: (time) => time, change: quietHours },
  timezone: { label: 'Time zone', text: (timezone) => timezone },
  digest: {
    label: 'Send as',
    text: (digest) => DIGESTS.find(({ value }) => value === digest)!.label,
    // A digest has neither repetition nor escalation.
    change: (form) => ({ digest: form.digest, ...repetition(form), ...escalation(form) }),
  },
})
