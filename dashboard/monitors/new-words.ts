import type { Notify } from '#contract/monitors.ts'
import { type MonitorRecordType, RECORD_TYPE_TEXTS } from '#contract/record-types.ts'
import { plural } from '#contract/wording.ts'

/** When a monitor with these very values is valid. */
export function modeWords(type: MonitorRecordType, values: readonly string[], isExact: boolean): string {
  const given = values.filter((value) => value.trim() !== '')
  const { exact = EXACT, flexible = FLEXIBLE } = RECORD_TYPE_TEXTS[type]
  // A function, as a value may hold what replace() reads as a pattern.
  return (isExact ? exact : flexible).replace('{values}', () => listed(given))
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

/** The active webhooks of a group; `isMore` where there are more than were counted. */
export type Listeners = { count: number; isMore: boolean; paused: number }

export type Watch = {
  name: string
  types: readonly MonitorRecordType[]
  frequency: number
  notify: Notify
  group: string
  /** Undefined while it is not known yet. */
  listeners: Listeners | undefined
}

type ImportWatch = Omit<Watch, 'name' | 'types'> & { count: number; own: number }

/** What will happen once it is saved. */
export function watchSentence({ name, types, frequency, ...rest }: Watch): string {
  const checks = plural(
    types.length,
    `Zonewatch checks the ${types[0]} record of ${name} every ${frequency} minutes.`,
    (count) => `Zonewatch checks ${count} records (${joined(types)}) of ${name} every ${frequency} minutes.`,
  )
  return [checks, ...alertSentences(rest)].join(' ')
}

/** The same of many names. `own`: how many say something else for themselves. */
export function importSentence({ count, own, frequency, ...rest }: ImportWatch): string {
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

/** Of rows whose record a monitor expects otherwise: how many monitors are updated. */
export function differSentence(differing: number, updated: number): string {
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

/** By what is sent: the sentence for one webhook, and for several. `count`: "2", or "more than 100". */
const SENT: Record<Notify, { one: (group: string) => string; several: (count: string, group: string) => string }> = {
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

function alertSentences({ notify, group, listeners }: Pick<Watch, 'notify' | 'group' | 'listeners'>): string[] {
  if (listeners === undefined) return []
  const { count, isMore, paused } = listeners
  if (count === 0) {
    return [
      'Every change is recorded as an event.',
      `No webhook request is sent: the group ${group} has no active webhook.`,
    ]
  }
  const { one, several } = SENT[notify]
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

/** Named where they are few and short. */
function listed(values: readonly string[]): string {
  if (values.length === 0) return 'the values you enter'
  if (values.length <= 3 && values.every((value) => value.length <= 48)) return joined(values)
  return values.length === 1 ? 'this text' : `these ${values.length} values`
}

/** "A, MX and TXT". */
export const joined = (words: readonly string[]): string =>
  words.length < 2 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
