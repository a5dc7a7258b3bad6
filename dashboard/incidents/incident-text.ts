import type { Incident, IncidentEntry, IncidentState } from '#contract/incidents.ts'
import type { MonitorState } from '#contract/monitors.ts'
import { durationText, monitorsText, plural } from '#contract/wording.ts'
import { STATE_DISPLAY } from '../ui/state.tsx'

const isMonitorState = (state: IncidentState): state is MonitorState => state in STATE_DISPLAY

/** A zone that failed first has its health in capitals. */
export const incidentLabel = (state: IncidentState): string =>
  isMonitorState(state) ? STATE_DISPLAY[state].label : `zone ${state.toLowerCase()}`

/** Of a zone: those of a misconfiguration. */
export const incidentDisplay = (state: IncidentState) => STATE_DISPLAY[isMonitorState(state) ? state : 'BAD_SETUP']

export const incidentDuration = ({ opened, resolved }: Pick<Incident, 'opened' | 'resolved'>, now: number): string =>
  durationText((resolved === null ? now : Date.parse(resolved)) - Date.parse(opened))

type Counts = Pick<Incident, 'monitors' | 'failing' | 'zones' | 'resolved'>

/** "94 monitors", "90 of 94 monitors failing", "1 zone and 12 monitors". */
export function failedText({ monitors, failing, zones, resolved }: Counts): string {
  const records = monitors - zones
  const parts = [
    ...(zones > 0 ? [plural(zones, '1 zone', (number) => `${number} zones`)] : []),
    ...(records > 0 ? [monitorsText(records)] : []),
  ]
  const all = parts.join(' and ')
  return resolved === null && failing < monitors ? `${failing.toLocaleString('en')} of ${all} failing` : all
}

export const isSnoozed = ({ snoozed_until, resolved }: Incident, now: number): boolean =>
  resolved === null && snoozed_until !== null && Date.parse(snoozed_until) > now

/** What happened, without its details. */
export function entryTitle({ kind, actor, detail }: Pick<IncidentEntry, 'kind' | 'actor' | 'detail'>): string {
  switch (kind) {
    case 'opened':
      return 'Opened'
    case 'joined':
      return `${detail} joined`
    case 'recovered':
      return `${detail} recovered`
    case 'left':
      return `${detail} disabled, deleted or changed`
    case 'planned':
      return `Change planned by ${actor}`
    case 'sent':
      return `Sent to ${actor}`
    case 'not_sent':
      return `Not sent to ${actor}`
    case 'acknowledged':
      return `Acknowledged by ${actor}`
    case 'unacknowledged':
      return `Acknowledgement undone by ${actor}`
    case 'assigned':
      return detail === null ? `Assignment removed by ${actor}` : `Assigned by ${actor}`
    case 'snoozed':
      return detail === null ? `Snooze ended by ${actor}` : `Snoozed by ${actor}`
    case 'noted':
      return detail === null ? `Note deleted by ${actor}` : `Note by ${actor}`
    case 'resolved':
      return 'Resolved'
  }
}

/** The detail of an entry, unless its title has it. `time`: of an instant. */
export function entryDetail({ kind, detail }: Pick<IncidentEntry, 'kind' | 'detail'>, time: (at: string) => string) {
  if (detail === null || kind === 'joined' || kind === 'recovered' || kind === 'left') return null
  if (kind === 'snoozed' || kind === 'planned') return `until ${time(detail)}`
  return kind === 'assigned' ? `to ${detail}` : detail
}
