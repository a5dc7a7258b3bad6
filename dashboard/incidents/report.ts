import type { Incident, IncidentEntry } from '#contract/incidents.ts'
import type { MonitorResponse } from '#contract/monitors.ts'
import { visible } from '#contract/visible-text.ts'
import { recordName } from '#contract/wording.ts'
import { entryDetail, entryTitle, failedText, incidentDuration } from './incident-text.ts'

type ReportParts = {
  incident: Incident
  /** The first monitors, and the entries, oldest first. */
  monitors: readonly MonitorResponse[]
  entries: readonly IncidentEntry[]
  /** Of the incident in the dashboard. */
  url: string
  now: number
}

/** The incident as Markdown, for a ticket or a postmortem. Records and notes cannot break out of their place. Times are in UTC. Pure. */
export function incidentReport({ incident, monitors, entries, url, now }: ReportParts): string {
  const { headline, advice, opened, resolved, acknowledged, acknowledged_by, note, monitors: count, zones } = incident
  const facts = [
    `Opened: ${utc(opened)}`,
    resolved === null
      ? `Open for ${incidentDuration(incident, now)} at ${utc(new Date(now).toISOString())}`
      : `Resolved: ${utc(resolved)} after ${incidentDuration(incident, now)}`,
    `Affected: ${failedText(incident)}`,
    ...(acknowledged === null ? [] : [`Acknowledged: ${utc(acknowledged)} by ${plain(acknowledged_by ?? '')}`]),
    `Details: <${url}>`,
  ]
  const unlisted = count - zones - monitors.length
  const rows = monitors.map(({ record_type, state, expected_value, current_value, ...name }) =>
    [code(recordName(name)), record_type, state, values(expected_value), values(current_value ?? [])].join(' | '),
  )
  return [
    `# ${plain(headline)}`,
    facts.map((fact) => `- ${fact}`).join('\n'),
    ...(advice === null ? [] : ['## What to do', plain(advice)]),
    ...(note === null
      ? []
      : [
          '## Note',
          note
            .split('\n')
            .map((line) => `> ${plain(line)}`)
            .join('\n'),
        ]),
    '## Timeline',
    entries.map((entry) => `- ${entryLine(entry)}`).join('\n'),
    ...(rows.length === 0
      ? []
      : [
          '## Monitors',
          [
            '| Record | Type | State now | Expected | Found |',
            '| --- | --- | --- | --- | --- |',
            ...rows.map((row) => `| ${row} |`),
          ].join('\n'),
        ]),
    ...(unlisted > 0 ? [`And ${unlisted.toLocaleString('en')} more.`] : []),
  ]
    .join('\n\n')
    .concat('\n')
}

function entryLine(entry: IncidentEntry): string {
  const detail = entryDetail(entry, utc)
  return `${utc(entry.occurred)}: ${plain(entryTitle(entry))}${detail === null ? '' : ` (${plain(detail)})`}`
}

const utc = (instant: string) => `${instant.slice(0, 16).replace('T', ' ')} UTC`

/** Text without markup, on one line. */
const plain = (text: string) => oneLine(text).replace(/[\\`*_{}[\]()#+\-.!|<>~&:@]/g, '\\$&')
const oneLine = (text: string) => visible(text.replace(/\s/g, ' '))

const MAX_VALUES = 3

const values = (all: readonly string[]) =>
  all.length === 0 ? '–' : [...all.slice(0, MAX_VALUES).map(code), ...(all.length > MAX_VALUES ? ['…'] : [])].join(' ')

/** A code span in a table. Parsers disagree about bars and backquotes in one. */
function code(text: string): string {
  const line = oneLine(text)
  if (/[`|]/.test(line)) return plain(line)
  return line.trim() === '' ? '–' : `\`${line}\``
}
