import type { Notify, Resolution } from '#contract/monitors.ts'
import { type MonitorRecordType, RECORD_TYPE_TEXTS } from '#contract/record-types.ts'
import { plural, RESOLUTION_LABELS } from '#contract/wording.ts'

/** When a monitor with these values is valid. */
export function matchText(type: MonitorRecordType, values: readonly string[], isExact: boolean): string {
  const entered = values.filter((value) => value.trim() !== '')
  const { exact = EXACT, flexible = FLEXIBLE } = RECORD_TYPE_TEXTS[type]
  // A function, because a value can contain the patterns of replace().
  return (isExact ? exact : flexible).replace('{values}', () => listed(entered))
}

const EXACT = 'Valid when the records are exactly {values}.'
const FLEXIBLE = 'Valid when the records include {values}. Others are ignored.'

export const NOTIFY_CHOICES: readonly { value: Notify; label: string; hint: string }[] = [
  { value: 'immediately', label: 'Every change', hint: 'Every change of state or values.' },
  {
    value: 'on_success',
    label: 'Only when it becomes valid',
    hint: 'For a record that a customer still has to set up.',
  },
  {
    value: 'after_success',
    label: 'Only when it was valid and no longer is',
    hint: 'For a record that works and must not break.',
  },
]

export const RESOLUTION_CHOICES: readonly { value: Resolution; label: string }[] = (
  ['auto', 'public', 'resolvers'] as const
).map((value) => ({ value, label: RESOLUTION_LABELS[value] }))

const RESOLUTION_HINTS: Record<Resolution, string> = {
  auto: 'The public DNS, unless the resolvers of this server demonstrably see another zone.',
  public: 'What the name servers of the public zone publish, whatever the resolvers of this server answer.',
  resolvers: 'What the resolvers of this server answer, for names that exist only in your network.',
}
export const resolutionHint = (resolution: Resolution): string => RESOLUTION_HINTS[resolution]

/** The active webhooks of a group. `isMore`: there are more than `count`. */
export type ReceivingWebhooks = { count: number; isMore: boolean; paused: number }

export type MonitorSummaryInput = {
  name: string
  types: readonly MonitorRecordType[]
  frequency: number
  notify: Notify
  group: string
  /** Undefined while it loads. */
  listeners: ReceivingWebhooks | undefined
}

type ImportSummaryInput = Omit<MonitorSummaryInput, 'name' | 'types'> & { count: number; own: number }

/** What new monitors do. */
export function newMonitorSummary({ name, types, frequency, ...rest }: MonitorSummaryInput): string {
  const checks = plural(
    types.length,
    `Zonewatch checks the ${types[0]} record of ${name} every ${frequency} minutes.`,
    (count) => `Zonewatch checks ${count} records (${joinWords(types)}) of ${name} every ${frequency} minutes.`,
  )
  return [checks, ...alertSentences(rest)].join(' ')
}

/** What imported monitors do. `own`: the number of rows with their own settings. */
export function importSummary({ count, own, frequency, ...rest }: ImportSummaryInput): string {
  if (count === 0) return 'No rows selected for import.'
  const checks = plural(
    count,
    `Zonewatch checks 1 record every ${frequency} minutes.`,
    (number) => `Zonewatch checks ${number} records every ${frequency} minutes.`,
  )
  const isFirstSent = rest.notify === 'immediately' && (rest.listeners?.count ?? 0) > 0
  return [
    checks,
    ...alertSentences(rest),
    ...(isFirstSent ? ['Each first result is sent too.'] : []),
    ...(own === 0
      ? []
      : [plural(own, '1 row has its own settings.', (number) => `${number} rows have their own settings.`)]),
  ].join(' ')
}

/** About rows that differ from existing monitors. */
export function differencesSummary(differing: number, updated: number): string {
  const differs = plural(
    differing,
    '1 row differs from an existing monitor.',
    (count) => `${count} rows differ from existing monitors.`,
  )
  const updates =
    updated === 0
      ? 'Select rows to update their monitors.'
      : plural(
          updated,
          '1 monitor is updated and checked at once.',
          (count) => `${count} monitors are updated and checked at once.`,
        )
  return `${differs} ${updates}`
}

/** `count` is "2" or "more than 100". */
const NOTIFY_SENTENCES: Record<
  Notify,
  { one: (group: string) => string; several: (count: string, group: string) => string }
> = {
  immediately: {
    one: (group) => `The webhook of the group ${group} receives every change.`,
    several: (count, group) => `Every change is sent to ${count} webhooks of the group ${group}.`,
  },
  on_success: {
    one: (group) => `The webhook of the group ${group} receives changes to valid.`,
    several: (count, group) => `Changes to valid are sent to ${count} webhooks of the group ${group}.`,
  },
  after_success: {
    one: (group) => `The webhook of the group ${group} receives changes from valid to another state.`,
    several: (count, group) =>
      `Changes from valid to another state are sent to ${count} webhooks of the group ${group}.`,
  },
}

function alertSentences({
  notify,
  group,
  listeners,
}: Pick<MonitorSummaryInput, 'notify' | 'group' | 'listeners'>): string[] {
  if (listeners === undefined) return []
  const { count, isMore, paused } = listeners
  if (count === 0) {
    return [
      'Every change is recorded as an event.',
      `No webhook request is sent: the group ${group} has no active webhook.`,
    ]
  }
  const { one, several } = NOTIFY_SENTENCES[notify]
  return [
    isMore ? several(`more than ${count}`, group) : plural(count, one(group), (number) => several(number, group)),
    ...pausedSentences(listeners.count, paused),
  ]
}

function pausedSentences(count: number, paused: number): string[] {
  if (paused === 0) return []
  if (count === 1) return ['It is paused: its requests are queued until it is active again.']
  return [
    plural(
      paused,
      'One of them is paused: its requests are queued until it is active again.',
      (number) => `${number} of them are paused: their requests are queued until they are active again.`,
    ),
  ]
}

/** The values if they are few and short, else their number. */
function listed(values: readonly string[]): string {
  if (values.length === 0) return 'the values you enter'
  if (values.length <= 3 && values.every((value) => value.length <= 48)) return joinWords(values)
  return values.length === 1 ? 'this text' : `these ${values.length} values`
}

/** "A, MX and TXT". */
export const joinWords = (words: readonly string[]): string =>
  words.length < 2 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
