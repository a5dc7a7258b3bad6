import type { MonitorState } from '#contract/monitors.ts'
import type { AlertKind } from '../database/schema-alerts.ts'

/** What an alert says, before a medium gives it its form. All texts may hold what strangers wrote into the DNS. */
export type Notice = {
  kind: AlertKind
  /** Of the alert: the same in every attempt. */
  id: string
  /** The same for all messages about an incident, so that a medium can update or resolve the first one. */
  key: string
  organization: string
  /** One line. */
  title: string
  /** A sentence: the cause, or what changed. */
  text: string
  facts: { name: string; value: string }[]
  /** What to do, in a sentence; null where nothing is to be done. */
  remedy: string | null
  link: { label: string; href: string }
  /** UTC epoch milliseconds. */
  at: number
}

type FailingState = Exclude<MonitorState, 'VALID' | 'UNSET'>

const WORDS: Record<FailingState, { word: string; remedy: string }> = {
  MISMATCH: {
    word: 'mismatch',
    remedy:
      'Compare expected and found. If the change was intended, accept the current values on the page of the monitor.',
  },
  NOT_FOUND: {
    word: 'not found',
    remedy: 'Check that the domain is still registered and that its name servers are right. Then check the record.',
  },
  NO_DATA: { word: 'no data', remedy: 'Create the record: the name exists and has no record of this type.' },
  TIMEOUT: {
    word: 'timeout',
    remedy: 'Query the name servers of the zone. If they are down, contact your DNS provider.',
  },
  INVALID: {
    word: 'lookup failed',
    remedy: 'Check DNSSEC and the zone on its name servers. The evidence on the page of the monitor has the error.',
  },
  BAD_SETUP: {
    word: 'misconfigured',
    remedy: 'Check for CNAME loops, two SPF records, and name servers that do not serve the zone.',
  },
}

export const stateWord = (state: string): string => WORDS[state as FailingState]?.word ?? state.toLowerCase()

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
}

type Common = { id: string; organization: string; baseUrl: string; now: number }

/** `monitors`: the first few of those that the rule matches. */
export function noticeOfIncident(
  kind: 'failing' | 'recovered',
  incident: NoticedIncident,
  monitors: readonly NoticedMonitor[],
  common: Common,
): Notice {
  const { id, organization, baseUrl, now } = common
  const only = incident.monitors === 1 ? monitors[0] : undefined
  const subject = only
    ? `${only.name} ${only.recordType}`
    : incident.monitors === 1
      ? incident.zone
      : `${incident.monitors} monitors of ${incident.zone}`
  const word = stateWord(incident.state)
  const [first] = monitors
  const since = { name: 'Since', value: timeOf(incident.openedAt) }
  const href = only ? `${baseUrl}/dashboard/monitors/${only.id}` : `${baseUrl}/dashboard/alerts?incident=${incident.id}`
  const message = {
    kind,
    id,
    key: incident.id,
    organization,
    at: now,
    link: { label: only ? 'Open the monitor' : 'Open the incident', href },
  }
  if (kind === 'recovered') {
    const lasted = { name: 'Lasted', value: durationOf((incident.resolvedAt ?? now) - incident.openedAt) }
    const text = only ? 'The monitor does not fail any more.' : 'None of the monitors fails any more.'
    return { ...message, title: `${subject}: recovered`, text, facts: [since, lasted], remedy: null }
  }
  const facts = only
    ? [
        { name: 'Expected', value: valuesOf(only.expected) },
        { name: 'Found', value: only.found === null ? '–' : valuesOf(only.found) },
        since,
      ]
    : [
        { name: 'Monitors', value: namesOf(monitors, incident.monitors) },
        { name: 'Still failing', value: String(incident.failing) },
        since,
      ]
  return {
    ...message,
    title: `${subject}: ${word}`,
    text: first?.cause ?? `State: ${word}.`,
    facts,
    remedy: WORDS[incident.state as FailingState]?.remedy ?? null,
  }
}

/** Alerts that were held because the channel had its limit for an hour. */
export function summaryNotice(titles: readonly string[], count: number, common: Common): Notice {
  const { id, organization, baseUrl, now } = common
  const rest = count - titles.length
  const list = [...titles, ...(rest > 0 ? [`and ${rest} more`] : [])].join('\n')
  return {
    kind: 'summary',
    id,
    key: id,
    organization,
    title: `${count} more ${count === 1 ? 'alert' : 'alerts'}`,
    text: 'This channel reached its limit of alerts per hour. These alerts are combined in one message.',
    facts: [{ name: 'Alerts', value: list }],
    remedy: null,
    link: { label: 'Open alerts', href: `${baseUrl}/dashboard/alerts` },
    at: now,
  }
}

export function testNotice(common: Common): Notice {
  const { id, organization, baseUrl, now } = common
  return {
    kind: 'test',
    id,
    key: id,
    organization,
    title: 'Test: www.example.com A: mismatch',
    text: 'This is a test. No monitor fails.',
    facts: [
      { name: 'Expected', value: '192.0.2.1' },
      { name: 'Found', value: '192.0.2.2' },
      { name: 'Since', value: timeOf(now) },
    ],
    remedy: 'Nothing to do: this channel works.',
    link: { label: 'Open alerts', href: `${baseUrl}/dashboard/alerts` },
    at: now,
  }
}

/** The whole message as plain text, for media without structure. */
export const plainText = (notice: Notice): string => `${textWithoutLink(notice)}\n${notice.link.href}`

export function textWithoutLink({ text, facts, remedy }: Notice): string {
  const lines = [text, ...facts.map(({ name, value }) => `${name}: ${value}`)]
  if (remedy !== null) lines.push(`What to do: ${remedy}`)
  return lines.join('\n')
}

const MOST_VALUE_CHARACTERS = 300
const MOST_VALUES = 5

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

const MINUTE_MS = 60_000

function durationOf(ms: number): string {
  const minutes = Math.max(1, Math.round(ms / MINUTE_MS))
  if (minutes < 60) return `${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.round(hours / 24)} days`
}
