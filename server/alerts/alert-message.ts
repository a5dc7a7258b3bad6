import type { MonitorState, Resolution } from '#contract/monitors.ts'
import { durationText, plural, RESOLUTION_LABELS, STATE_LABELS } from '#contract/wording.ts'
import type { AlertKind, CauseKind } from '../database/schema-alerts.ts'
import { oneLine, truncate } from '../text.ts'
import { type ZoneSummary, zoneSubject, zoneTexts } from './zone-message.ts'

/** `information`: how a planned change or a wait ended. */
export type MessageKind = AlertKind | 'information'

/** What an alert says, before a channel type formats it. All texts can contain DNS data that anyone may have written. */
export type AlertMessage = {
  kind: MessageKind
  /** The id of the alert. */
  id: string
  /** The same in every attempt, so that a provider recognizes a message it already has; a repeated message has another one. */
  messageId: string
  /** The same for all messages about an incident, so that a provider can update or resolve the first one. */
  key: string
  /** The provider's id of the first message about the incident, if messages can reply to it. */
  reference?: string
  organization: string
  /** One line. */
  title: string
  /** A sentence: the cause, or what changed. */
  text: string
  facts: { name: string; value: string }[]
  /** What to do, in a sentence; null if there is nothing to do. */
  remedy: string | null
  link: { label: string; href: string }
  /** The URL that acknowledges without signing in; null if there is nothing to acknowledge. */
  acknowledge: string | null
  /** UTC epoch milliseconds. */
  at: number
}

export type MonitorSummary = {
  id: string
  name: string
  recordType: string
  expected: string[]
  /** Null if no record was found. */
  found: string[] | null
  /** Why it fails, in a sentence; null if unknown. */
  cause: string | null
  /** What to do about the verdict; null if nothing is known. */
  advice: string | null
  /** What the check noticed beside the verdict, in sentences. */
  warnings: string[]
  resolution: Resolution
}

export type IncidentSummary = {
  id: string
  zone: string
  state: string
  openedAt: number
  resolvedAt: number | null
  /** All monitors and zones that failed. */
  monitors: number
  failing: number
  /** Those of its monitors that are zones. */
  zones?: number
  /** What the monitors share if they belong to several zones. */
  causeKind?: CauseKind
  causeValue?: string | null
}

/** `id`: of the alert. */
export type MessageContext = {
  id: string
  messageId?: string
  organization: string
  baseUrl: string
  now: number
  acknowledge?: string
}

const commonFields = ({ id, messageId = id, organization, now }: MessageContext) => ({
  id,
  messageId,
  key: id,
  organization: oneLine(organization),
  acknowledge: null,
  at: now,
})

/**
 * `monitors`: the first few that the rule matches. `isEscalated`: nobody acknowledged the first message. `grownFrom`: how many monitors
 * the last message said, if there are many more now.
 */
export function failingMessage(
  incident: IncidentSummary,
  monitors: readonly MonitorSummary[],
  context: MessageContext & {
    isEscalated?: boolean
    isRepeated?: boolean
    grownFrom?: number | undefined
    /** The first failing zones that the rule matches. */
    zones?: readonly ZoneSummary[]
  },
): AlertMessage {
  const { subject, link, single } = describeIncident(incident, monitors, context)
  const { state, openedAt } = incident
  const { isRepeated, isEscalated, grownFrom, now, zones = [] } = context
  const ofZones = zones.length > 0 ? zoneTexts(incident, zones, monitors, shortLine) : undefined
  const label = ofZones?.label ?? STATE_LABELS[state as MonitorState] ?? state
  const lasting = isRepeated ? `Still failing after ${durationText(now - openedAt)}. ` : ''
  const grown =
    grownFrom === undefined
      ? ''
      : `${incident.monitors.toLocaleString('en')} ${(incident.zones ?? 0) > 0 ? 'zones and monitors' : 'monitors'} failed by now; the last message said ${grownFrom.toLocaleString('en')}. `
  const escalated = isEscalated ? 'Nobody acknowledged this yet. ' : ''
  if (ofZones)
    return {
      ...commonFields(context),
      kind: 'failing',
      key: incident.id,
      title: oneLine(`${subject}: ${label}`),
      text: `${grown}${lasting}${escalated}${ofZones.text}`,
      facts: [...ofZones.facts, { name: 'Since', value: formatTime(openedAt) }],
      remedy: ofZones.remedy,
      link,
      acknowledge: context.acknowledge ?? null,
    }
  const facts = single
    ? [
        { name: 'Expected', value: listValues(single.expected) },
        { name: 'Found', value: single.found === null ? '–' : listValues(single.found) },
      ]
    : [
        { name: 'Monitors', value: listNames(monitors, incident.monitors) },
        { name: 'Still failing', value: String(incident.failing) },
      ]
  return {
    ...commonFields(context),
    kind: 'failing',
    key: incident.id,
    title: oneLine(`${subject}: ${label}`),
    text: `${grown}${lasting}${escalated}${oneLine(monitors[0]?.cause ?? `State: ${label}.`)}`,
    facts: [
      ...facts,
      ...warningFacts(monitors[0], single !== undefined),
      { name: 'State', value: `${label} (${state})` },
      { name: 'Since', value: formatTime(openedAt) },
      ...(single && single.resolution !== 'auto'
        ? [{ name: 'Answers that count', value: RESOLUTION_LABELS[single.resolution] }]
        : []),
    ],
    remedy: remedyOf(monitors[0], single !== undefined),
    link,
    acknowledge: context.acknowledge ?? null,
  }
}

/** The advice for the first monitor, which is named if there are others. */
export function remedyOf(monitor: Pick<MonitorSummary, 'name' | 'advice'> | undefined, isOnly: boolean): string | null {
  if (!monitor?.advice) return null
  return oneLine(isOnly ? monitor.advice : `For ${monitor.name}: ${monitor.advice}`)
}

const MAX_WARNINGS = 3

/** The warnings of the first monitor, a line each. Before the state, which the title has too: some media show few facts. */
function warningFacts(monitor: MonitorSummary | undefined, isOnly: boolean): AlertMessage['facts'] {
  if (!monitor || monitor.warnings.length === 0) return []
  const of = isOnly ? '' : `For ${monitor.name}: `
  const lines = monitor.warnings.slice(0, MAX_WARNINGS).map((text) => shortLine(`${of}${text}`, MAX_VALUE_LENGTH))
  const name = monitor.warnings.length === 1 ? 'Warning' : 'Warnings'
  return [{ name, value: [...lines, ...andMore(monitor.warnings.length - lines.length)].join('\n') }]
}

/** `resolves`: the failing message. `left`: how many monitors were disabled, deleted or changed while they failed. */
export function recoveryMessage(
  incident: IncidentSummary,
  monitors: readonly MonitorSummary[],
  context: MessageContext & { resolves?: { title: string; at: number } | undefined; left?: number },
): AlertMessage {
  const { subject, link } = describeIncident(incident, monitors, context)
  const { openedAt, resolvedAt } = incident
  const { resolves, left = 0, now } = context
  return {
    ...commonFields(context),
    kind: 'recovered',
    key: incident.id,
    title: oneLine(`${subject}: ${left >= incident.monitors ? 'closed' : 'recovered'}`),
    text: recoveryText(incident, left),
    facts: [
      { name: 'Since', value: formatTime(openedAt) },
      { name: 'Lasted', value: durationText((resolvedAt ?? now) - openedAt) },
      ...(resolves ? [{ name: 'Resolves', value: `${oneLine(resolves.title)} (${formatTime(resolves.at)})` }] : []),
    ],
    remedy: null,
    link,
  }
}

/** `single`: the only monitor of the incident. */
function describeIncident(
  incident: IncidentSummary,
  monitors: readonly MonitorSummary[],
  { baseUrl }: MessageContext,
): { subject: string; link: AlertMessage['link']; single: MonitorSummary | undefined } {
  const single = incident.monitors === 1 ? monitors[0] : undefined
  const subject = incidentSubject(incident, single)
  if (incident.zones && incident.monitors === 1) {
    const href = `${baseUrl}/dashboard/zones/${encodeURIComponent(incident.zone)}`
    return { subject, link: { label: 'Open the zone', href }, single }
  }
  if (single) {
    return { subject, link: { label: 'Open the monitor', href: `${baseUrl}/dashboard/monitors/${single.id}` }, single }
  }
  return {
    subject,
    link: { label: 'Open the incident', href: `${baseUrl}/dashboard/incidents/${incident.id}` },
    single,
  }
}

/** What fails: "www.example.com A", "12 monitors of example.com", "Zone example.com". `single`: the only monitor. */
export function incidentSubject(
  incident: IncidentSummary,
  single: Pick<MonitorSummary, 'name' | 'recordType'> | undefined,
): string {
  if (incident.zones) return zoneSubject(incident, shortLine)
  if (single) return `${single.name} ${single.recordType}`
  return incident.monitors === 1 ? incident.zone : monitorCount(incident)
}

function recoveryText({ monitors, zones = 0 }: IncidentSummary, left: number): string {
  if (zones > 0)
    return zones === monitors && zones === 1
      ? 'The zone has no such finding any more, or it is ignored.'
      : 'The zones have no such findings any more, or they are ignored, and no monitor of the incident is failing.'
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

function monitorCount({ monitors: count, zone, causeKind = 'zone', causeValue }: IncidentSummary): string {
  const monitors = count.toLocaleString('en')
  switch (causeKind) {
    case 'zone':
      return `${monitors} monitors of ${zone}`
    case 'value':
      return `${monitors} monitors that answer ${shortLine(causeValue ?? '', MAX_SHARED_VALUE_LENGTH)}`
    case 'target':
      return `${monitors} monitors with the CNAME target ${shortLine(causeValue ?? '', MAX_SHARED_VALUE_LENGTH)}`
    case 'provider':
      return `${monitors} monitors on the name servers of ${shortLine(causeValue ?? '', MAX_SHARED_VALUE_LENGTH)}`
    case 'parent':
      return `${monitors} monitors that the zone ${causeValue} does not delegate`
    case 'name_server':
      return `${monitors} monitors on name server ${causeValue}`
    case 'upstream':
      return `${monitors} monitors that use resolver ${causeValue}`
  }
}

/** How a planned change, or the wait for a customer's record, ended. `before`: the old values of a change. */
export type Information = {
  what: 'change_done' | 'record_found' | 'wait_timed_out'
  monitorId: string
  name: string
  recordType: string
  expected: string[]
  before?: string[]
}

const INFORMATION_TEXTS: Record<Information['what'], { title: string; text: string; remedy: string | null }> = {
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

export function informationMessage(information: Information, context: MessageContext): AlertMessage {
  const { what, monitorId, name, recordType, expected, before } = information
  const { title, text, remedy } = INFORMATION_TEXTS[what]
  return {
    ...commonFields(context),
    kind: 'information',
    title: oneLine(`${name} ${recordType}: ${title}`),
    text,
    facts: [
      { name: 'Expected', value: listValues(expected) },
      ...(before ? [{ name: 'Before', value: listValues(before) }] : []),
      { name: 'Time', value: formatTime(context.now) },
    ],
    remedy,
    link: { label: 'Open the monitor', href: `${context.baseUrl}/dashboard/monitors/${monitorId}` },
  }
}

/** Some of the alerts of a summary. `titles`: the first of them. */
export type SummarySection = { name: string; titles: readonly string[]; count: number }

/** Combines the alerts of a digest, or those beyond the channel's limit per hour. */
export function summaryMessage(
  sections: readonly SummarySection[],
  context: MessageContext & { isDigest?: boolean },
): AlertMessage {
  const { isDigest = false, baseUrl } = context
  const count = sections.reduce((sum, section) => sum + section.count, 0)
  return {
    ...commonFields(context),
    kind: 'summary',
    title: isDigest
      ? plural(count, 'Digest: 1 alert', (number) => `Digest: ${number} alerts`)
      : plural(count, '1 more alert', (number) => `${number} more alerts`),
    text: isDigest
      ? 'What failed and recovered since the last digest.'
      : 'This channel reached its limit of alerts per hour. This message combines the others.',
    facts: sections.map(({ name, titles, count }) => ({
      name,
      value: [...titles.map(oneLine), ...andMore(count - titles.length)].join('\n'),
    })),
    remedy: null,
    link: { label: 'Open alerts', href: `${baseUrl}/dashboard/alerts` },
  }
}

export function testMessage(context: MessageContext): AlertMessage {
  return {
    ...commonFields(context),
    kind: 'test',
    title: 'Test: www.example.com A: Mismatch',
    text: 'This is a test. No monitor is failing.',
    facts: [
      { name: 'Expected', value: '192.0.2.1' },
      { name: 'Found', value: '192.0.2.2' },
      { name: 'State', value: 'Mismatch (MISMATCH)' },
      { name: 'Since', value: formatTime(context.now) },
    ],
    remedy: 'Nothing. This channel works.',
    link: { label: 'Open alerts', href: `${context.baseUrl}/dashboard/alerts` },
  }
}

/** The buttons of a message. */
export const messageLinks = ({
  link,
  acknowledge,
}: Pick<AlertMessage, 'link' | 'acknowledge'>): AlertMessage['link'][] =>
  acknowledge === null ? [link] : [{ label: 'Acknowledge', href: acknowledge }, link]

/** For providers without buttons. */
export const linkLines = (message: AlertMessage): string[] =>
  messageLinks(message).map(({ label, href }) => `${label}: ${href}`)

/** Facts that are record data or names, which people compare character by character. */
export const DATA_FACTS: ReadonlySet<string> = new Set(['Expected', 'Found', 'Before', 'Monitors', 'Zones'])

export const plainText = (message: AlertMessage): string => `${textWithoutLink(message)}\n${message.link.href}`

export function textWithoutLink({ text, facts, remedy }: AlertMessage): string {
  const lines = [text, ...facts.map(({ name, value }) => `${name}: ${value}`)]
  if (remedy !== null) lines.push(`What to do: ${remedy}`)
  return lines.join('\n')
}

const MAX_VALUE_LENGTH = 300
const MAX_SHARED_VALUE_LENGTH = 60
const MAX_VALUES = 5

function listValues(values: readonly string[]): string {
  if (values.length === 0) return 'no records'
  const listed = values.slice(0, MAX_VALUES).map((value) => shortLine(value, MAX_VALUE_LENGTH))
  return [...listed, ...andMore(values.length - listed.length)].join(', ')
}

function listNames(monitors: readonly MonitorSummary[], count: number): string {
  const names = monitors.map(({ name, recordType }) => `${name} ${recordType}`)
  return oneLine([...names, ...andMore(count - names.length)].join(', '))
}

const andMore = (count: number): string[] => (count > 0 ? [`and ${count} more`] : [])

const shortLine = (text: string, maxLength: number) => truncate(oneLine(text), maxLength)

const formatTime = (at: number): string => `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`
