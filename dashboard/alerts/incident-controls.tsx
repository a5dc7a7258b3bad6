import { useQuery } from '@tanstack/react-query'
import type { Incident, IncidentChange, IncidentEntry } from '#contract/incidents.ts'
import { agentsQuery } from '../team/queries.ts'
import { Field } from '../ui/field.tsx'
import { Skeleton } from '../ui/page.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { Select } from '../ui/select.tsx'
import { Time } from '../ui/time.tsx'
import { incidentEntriesQuery } from './queries.ts'

const NOBODY = ''
const HOUR_MS = 3_600_000
const SNOOZES = { '1': '1 hour', '4': '4 hours', '24': '1 day', '168': '7 days' } as const

type Props = { incident: Incident; onChange: (change: IncidentChange) => void }

/** Assignee and snooze of an incident. */
export function IncidentControls({ incident, onChange }: Props) {
  const { data: agents } = useQuery(agentsQuery({}))
  const users = agents?.data.map(({ id, name, email }) => ({ value: id, label: name || email })) ?? []
  const snooze = (hours: string) =>
    onChange({ snoozed_until: hours === '' ? null : new Date(Date.now() + Number(hours) * HOUR_MS).toISOString() })
  const isSnoozed = incident.snoozed_until !== null && Date.parse(incident.snoozed_until) > Date.now()
  return (
    <div className="grid gap-5 sm:grid-cols-2">
      <Field label="Assigned to">
        <Select
          value={incident.assignee ?? NOBODY}
          options={[{ value: NOBODY, label: 'Nobody' }, ...users]}
          onChange={(value) => onChange({ assignee: value === NOBODY ? null : value })}
        />
      </Field>
      <Field
        label="Snooze"
        hint={
          isSnoozed
            ? 'Alerts are held until then.'
            : 'Alerts are held. If the incident is still open then, they are sent again.'
        }
      >
        <Select
          value={isSnoozed ? 'now' : ''}
          options={[
            { value: '', label: isSnoozed ? 'End the snooze' : 'Not snoozed' },
            ...(isSnoozed ? [{ value: 'now', label: <Time at={incident.snoozed_until!} isExact /> }] : []),
            ...Object.entries(SNOOZES).map(([value, label]) => ({ value, label: `For ${label}` })),
          ]}
          onChange={(value) => value !== 'now' && snooze(value)}
        />
      </Field>
    </div>
  )
}

/** The entries of an incident, newest first. */
export function IncidentTimeline({ id }: { id: string }) {
  const { data, error } = useQuery(incidentEntriesQuery(id))
  if (error && !data) return <ProblemNote problem={error} />
  if (!data) return <Skeleton lines={3} />
  if (data.data.length === 0) return <p className="text-sm text-faint">No entries yet.</p>
  return (
    <ol className="flex flex-col gap-2.5 border-l border-line pl-4 text-sm">
      {data.data.map((entry) => (
        <li key={entry.id} className="flex flex-wrap justify-between gap-x-4">
          <span className="min-w-0 break-words">
            {titleOf(entry)}
            {entry.detail && <span className="block text-soft">{detailOf(entry)}</span>}
          </span>
          <span className="shrink-0 text-faint">
            <Time at={entry.occurred} isExact />
          </span>
        </li>
      ))}
    </ol>
  )
}

function titleOf({ kind, actor, detail }: IncidentEntry): string {
  switch (kind) {
    case 'opened':
      return 'Opened'
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

const detailOf = ({ kind, detail }: IncidentEntry) =>
  kind === 'snoozed' ? (
    <>
      until <Time at={detail!} isExact />
    </>
  ) : kind === 'assigned' ? (
    `to ${detail}`
  ) : (
    detail
  )
