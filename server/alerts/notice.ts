import type { MonitorState } from '#contract/monitors.ts'
import { durationText, plural, STATE_LABELS } from '#contract/wording.ts'
import type { AlertKind, CauseKind } from '../database/schema-alerts.ts'

/** What an alert says, before a medium gives it its form. All texts may hold what strangers wrote into the DNS. */
export type Notice = {
  kind: AlertKind
  /** Of the alert: the same in every attempt, and in its repetitions. */
  id: string
  /** The same in every attempt of one message, so that a medium recognizes it; another one when the message is repeated. */
  messageId: string
  /** The same for all messages about an incident, so that a medium can update or resolve the first one. */
  key: string
  /** What the medium calls the first message about the incident, where it can reply to it. */
  reference?: string
  organization: string
  /** One line. */
  title: string
  /** A sentence: the cause, or what changed. */
  text: string
  facts: { name: string; value: string }[]
  /** What to do, in a sentence; null where nothing is to be done. */
  remedy: string | null
  link: { label: string; href: string }
  /** Where people acknowledge without signing in; null where there is nothing to acknowledge. */
  acknowledge: string | null
  /** UTC epoch milliseconds. */
  at: number
}

type FailingState = Exclude<MonitorState, 'VALID' | 'UNSET'>

const REMEDIES: Record<FailingState, string> = {
  MISMATCH:
    'Compare the expected values with the ones found. If the change was intended, accept the current values on the page of the monitor.',
  NOT_FOUND:
    'Check that the domain is registered and that its name servers are correct. Then check that the record exists.',
  NO_DATA: 'Create the record: the name exists but has no record of this type.',
  TIMEOUT: 'Query the name servers of the zone. If they are down, contact your DNS provider.',
  INVALID: 'Check DNSSEC and the zone on its name servers. The evidence on the page of the monitor has the error.',
  BAD_SETUP: 'Check for CNAME loops, several SPF records, and name servers that do not serve the zone.',
}

const stateWord = (state: string): string => STATE_LABELS[state as MonitorState] ?? state

export type NoticedMonitor = {
  id: string
  name: string
  recordType: string
  expected: string[]
  /** Null where none was found. */
  found: string[] | null
  /** Why it fails, in a sentence; null where it is not known. */
  cause: string | null
}

export type NoticedIncident = {
  id: string
  zone: string
  state: string
  openedAt: number
  resolvedAt: number | null
  /** How many failed. */
  monitors: number
  failing: number
  /** What its monitors share, where they are of several zones. */
  causeKind?: CauseKind
  causeValue?: string | null
}

export type Common = {
  id: string
  messageId?: string
  organization: string
  baseUrl: string
  now: number
  /** Where people acknowledge. */
  acknowledge?: string
}
/**
 * `isEscalated`: nobody acknowledged the first message; `isRepeated`: it was sent before. Of a recovery, `resolves`: that
 * message; `left`: how many monitors were disabled, deleted or changed while they failed.
 */
type OfIncident = Common & {
  isEscalated?: boolean
  isRepeated?: boolean
  resolves?: { title: string; at: number } | undefined
  left?: number
}

/** `monitors`: the first few of those that the rule matches. */
export function noticeOfIncident(
  kind: 'failing' | 'recovered',
  incident: NoticedIncident,
  monitors: readonly NoticedMonitor[],
  common: OfIncident,
): Notice {
  const { id, messageId = id, organization, baseUrl, now } = common
  const only = incident.monitors === 1 ? monitors[0] : undefined
  const subject = only
    ? `${only.name} ${only.recordType}`
    : incident.monitors === 1
      ? incident.zone
      : severalOf(incident)
  const word = stateWord(incident.state)
  const [first] = monitors
  const state = { name: 'State', value: `${word} (${incident.state})` }
  const since = { name: 'Since', value: timeOf(incident.openedAt) }
  const href = only ? `${baseUrl}/dashboard/monitors/${only.id}` : `${baseUrl}/dashboard/alerts?incident=${incident.id}`
  const message = {
    kind,
    id,
    messageId,
    key: incident.id,
    organization,
    at: now,
    link: { label: only ? 'Open the monitor' : 'Open the incident', href },
    acknowledge: kind === 'failing' ? (common.acknowledge ?? null) : null,
  }
  if (kind === 'recovered') {
    const lasted = { name: 'Lasted', value: durationText((incident.resolvedAt ?? now) - incident.openedAt) }
    const { resolves, left = 0 } = common
    const end = left >= incident.monitors ? 'closed' : 'recovered'
    const first = resolves ? [{ name: 'Resolves', value: `${resolves.title} (${timeOf(resolves.at)})` }] : []
    const text = endText(incident.monitors, left)
    return { ...message, title: `${subject}: ${end}`, text, facts: [since, lasted, ...first], remedy: null }
  }
  const facts = only
    ? [
        { name: 'Expected', value: valuesOf(only.expected) },
        { name: 'Found', value: only.found === null ? '–' : valuesOf(only.found) },
        state,
        since,
      ]
    : [
        { name: 'Monitors', value: namesOf(monitors, incident.monitors) },
        { name: 'Still failing', value: String(incident.failing) },
        state,
        since,
      ]
  return {
    ...message,
    title: `${subject}: ${word}`,
    text: `${urgencyOf(incident, common)}${first?.cause ?? `State: ${word}.`}`,
    facts,
    remedy: REMEDIES[incident.state as FailingState] ?? null,
  }
}

function urgencyOf({ openedAt }: NoticedIncident, { isEscalated, isRepeated, now }: OfIncident): string {
  const lasting = isRepeated ? `Still failing after ${durationText(now - openedAt)}. ` : ''
  return `${lasting}${isEscalated ? 'Nobody acknowledged this yet. ' : ''}`
}

function endText(monitors: number, left: number): string {
  if (monitors === 1)
    return left === 0
      ? 'The monitor is no longer failing.'
      : 'The monitor was disabled, deleted or changed while it failed.'
  if (left >= monitors) return 'The monitors were disabled, deleted or changed while they failed.'
  if (left === 0) return 'The monitors are no longer failing.'
  return plural(
    left,
    'The monitors are no longer failing. 1 of them was disabled, deleted or changed.',
    (number) => `The monitors are no longer failing. ${number} of them were disabled, deleted or changed.`,
  )
}

function severalOf({ monitors: count, zone, causeKind = 'zone', causeValue }: NoticedIncident): string {
  const monitors = count.toLocaleString('en')
  switch (causeKind) {
    case 'zone':
      return `${monitors} monitors of ${zone}`
    case 'value':
      return `${monitors} monitors that answer ${oneLine(causeValue ?? '', MOST_SHARED)}`
    case 'name_server':
      return `${monitors} monitors on name server ${causeValue}`
    case 'upstream':
      return `${monitors} monitors that use resolver ${causeValue}`
  }
}

/** How a planned change or a wait for a customer's record ended. `before`: the old values of a change. */
export type Information = {
  what: 'change_done' | 'record_found' | 'wait_timed_out'
  monitorId: string
  name: string
  recordType: string
  expected: string[]
  before?: string[]
}

const ENDS: Record<Information['what'], { title: string; text: string; remedy: string | null }> = {
  change_done: {
    title: 'change done',
    text: 'The planned change is done. The monitor expects the new values from now on.',
    remedy: null,
  },
  record_found: {
    title: 'record found',
    text: 'The record that Zonewatch waited for exists. Only the regular checks continue.',
    remedy: null,
  },
  wait_timed_out: {
    title: 'not found in time',
    text: 'The record that Zonewatch waited for was not found in time. Only the regular checks continue.',
    remedy: 'Ask your customer about the record. Then wait again from the page of the monitor.',
  },
}

export function informationNotice(information: Information, common: Common): Notice {
  const { id, messageId = id, organization, baseUrl, now } = common
  const { what, monitorId, name, recordType, expected, before } = information
  const { title, text, remedy } = ENDS[what]
  return {
    kind: 'summary',
    id,
    messageId,
    key: id,
    organization,
    title: `${name} ${recordType}: ${title}`,
    text,
    facts: [
      { name: 'Expected', value: valuesOf(expected) },
      ...(before ? [{ name: 'Before', value: valuesOf(before) }] : []),
      { name: 'Time', value: timeOf(now) },
    ],
    remedy,
    link: { label: 'Open the monitor', href: `${baseUrl}/dashboard/monitors/${monitorId}` },
    acknowledge: null,
    at: now,
  }
}

/** Alerts of a digest, and those that were held because the channel had its limit for an hour. */
export function summaryNotice(
  titles: readonly string[],
  count: number,
  { id, messageId = id, organization, baseUrl, now, isDigest = false }: Common & { isDigest?: boolean },
): Notice {
  const rest = count - titles.length
  const list = [...titles, ...(rest > 0 ? [`and ${rest} more`] : [])].join('\n')
  return {
    kind: 'summary',
    id,
    messageId,
    key: id,
    organization,
    title: isDigest
      ? plural(count, 'Digest: 1 alert', (number) => `Digest: ${number} alerts`)
      : plural(count, '1 more alert', (number) => `${number} more alerts`),
    text: isDigest
      ? 'What failed and recovered since the last digest.'
      : 'This channel reached its limit of alerts per hour. This message combines the others.',
    facts: [{ name: 'Alerts', value: list }],
    remedy: null,
    link: { label: 'Open alerts', href: `${baseUrl}/dashboard/alerts` },
    acknowledge: null,
    at: now,
  }
}

export function testNotice(common: Common): Notice {
  const { id, organization, baseUrl, now } = common
  return {
    kind: 'test',
    id,
    messageId: id,
    key: id,
    organization,
    title: 'Test: www.example.com A: Mismatch',
    text: 'This is a test. No monitor is failing.',
    facts: [
      { name: 'Expected', value: '192.0.2.1' },
      { name: 'Found', value: '192.0.2.2' },
      { name: 'State', value: 'Mismatch (MISMATCH)' },
      { name: 'Since', value: timeOf(now) },
    ],
    remedy: 'Nothing. This channel works.',
    link: { label: 'Open alerts', href: `${baseUrl}/dashboard/alerts` },
    acknowledge: null,
    at: now,
  }
}

/** Facts that are record data or names, which people compare character by character. */
export const DATA_FACTS: ReadonlySet<string> = new Set(['Expected', 'Found', 'Before', 'Monitors'])

/** The whole message as plain text, for media without structure. */
export const plainText = (notice: Notice): string => `${textWithoutLink(notice)}\n${notice.link.href}`

export function textWithoutLink({ text, facts, remedy }: Notice): string {
  const lines = [text, ...facts.map(({ name, value }) => `${name}: ${value}`)]
  if (remedy !== null) lines.push(`What to do: ${remedy}`)
  return lines.join('\n')
}

const MOST_VALUE_CHARACTERS = 300
const MOST_VALUES = 5
const MOST_SHARED = 60

function valuesOf(values: readonly string[]): string {
  if (values.length === 0) return 'no records'
  const shown = values.slice(0, MOST_VALUES).map((value) => oneLine(value, MOST_VALUE_CHARACTERS))
  const rest = values.length - shown.length
  return [...shown, ...(rest > 0 ? [`and ${rest} more`] : [])].join(', ')
}

function namesOf(monitors: readonly NoticedMonitor[], count: number): string {
  const names = monitors.map(({ name, recordType }) => `${name} ${recordType}`)
  const rest = count - names.length
  return [...names, ...(rest > 0 ? [`and ${rest} more`] : [])].join(', ')
}

const oneLine = (text: string, most: number): string => {
  const line = text.replace(/[\p{Cc}\u2028-\u202e\u2066-\u2069]+/gu, ' ')
  return line.length <= most ? line : `${line.slice(0, most).toWellFormed()}…`
}

const timeOf = (at: number): string => `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`
