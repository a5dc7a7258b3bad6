import type { Notify } from '#contract/monitors.ts'
import { type MonitorRecordType, RECORD_TYPE_TEXTS } from '#contract/record-types.ts'

/** When a monitor with these very values is valid. */
export function modeWords(type: MonitorRecordType, values: readonly string[], isExact: boolean): string {
  const given = values.filter((value) => value.trim() !== '')
  const { exact = EXACT, flexible = FLEXIBLE } = RECORD_TYPE_TEXTS[type]
  // A function, as a value may hold what replace() reads as a pattern.
  return (isExact ? exact : flexible)
    .replace('{are}', given.length < 2 ? 'is' : 'are')
    .replace('{values}', () => listed(given))
}

const EXACT = 'Valid when the records are exactly {values}.'
const FLEXIBLE = 'Valid when {values} {are} present, with or without others.'

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

const TOLD_OF: Record<Notify, string> = {
  immediately: 'on every change',
  on_success: 'when it becomes valid',
  after_success: 'when it was valid and no longer is',
}

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
  const what = types.length === 1 ? `the ${types[0]} record` : `${types.length} records (${joined(types)})`
  return outlook(`Zonewatch checks ${what} of ${name} every ${frequency} minutes`, types.length, rest)
}

/** The same of many names. `own`: how many say something else for themselves. */
export function importSentence({ count, own, frequency, ...rest }: ImportWatch): string {
  if (count === 0) return 'No rows selected for import.'
  const what = count === 1 ? 'one record' : `${count.toLocaleString()} records`
  const asks = outlook(`Zonewatch checks ${what} every ${frequency} minutes`, count, rest)
  const isFirstSent = rest.notify === 'immediately' && (rest.listeners?.count ?? 0) > 0
  const sentence = isFirstSent ? `${asks} Each first result is sent too.` : asks
  if (own === 0) return sentence
  return `${sentence} Rows with their own settings keep them (${own.toLocaleString()}).`
}

/** Of rows whose record a monitor expects otherwise: how many monitors are updated. */
export function differSentence(differing: number, updated: number): string {
  const rows =
    differing === 1
      ? 'One row differs from an existing monitor'
      : `${differing.toLocaleString()} rows differ from existing monitors`
  if (updated === 0) return `${rows}: select rows to update their monitors.`
  const which = updated === differing ? 'all are' : updated === 1 ? 'one is' : `${updated.toLocaleString()} are`
  return `${rows}: ${differing === 1 ? 'it is' : which} updated and checked at once.`
}

function outlook(
  asks: string,
  count: number,
  { notify, group, listeners }: Pick<Watch, 'notify' | 'group' | 'listeners'>,
) {
  if (listeners === undefined) return `${asks}.`
  if (listeners.count === 0) {
    return `${asks} and records every change as an event. No alerts are sent: the group ${group} has no active webhook.`
  }
  const when = count > 1 ? TOLD_OF[notify].replace(' it ', ' one ') : TOLD_OF[notify]
  return `${asks} and alerts ${webhooksOf(listeners)} of the group ${group} ${when}.${pausedWords(listeners)}`
}

const webhooksOf = ({ count, isMore }: Listeners): string =>
  isMore ? `more than ${count} webhooks` : count === 1 ? 'the webhook' : `${count} webhooks`

function pausedWords({ count, paused }: Listeners): string {
  if (paused === 0) return ''
  if (count === 1) return ' The webhook is paused; its requests are queued until it is active again.'
  return ` ${paused} of them ${paused === 1 ? 'is paused; its' : 'are paused; their'} requests are queued until ${paused === 1 ? 'it is' : 'they are'} active again.`
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
