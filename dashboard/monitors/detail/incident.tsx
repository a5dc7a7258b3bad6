import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { plural } from '#contract/wording.ts'
import { IncidentActions, IncidentStanding } from '../../incidents/controls.tsx'
import { IncidentBadge } from '../../incidents/incident-badge.tsx'
import { incidentOfMonitorQuery } from '../../incidents/queries.ts'
import { Time } from '../../ui/time.tsx'
import type { MonitorDetails } from '../queries.ts'

/** The open incident of a monitor that fails: who takes care of it, and acknowledge and snooze. */
export function MonitorIncident({ monitor: { id, state } }: { monitor: MonitorDetails }) {
  const { data: incident } = useQuery({ ...incidentOfMonitorQuery(id), enabled: state !== 'VALID' })
  if (!incident || state === 'VALID') return null
  const others = incident.monitors - 1
  return (
    <section
      aria-label="Incident"
      className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 rounded-lg border border-line bg-surface px-5 py-3 text-sm"
    >
      <div className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1 text-faint">
        <IncidentBadge incident={incident} />
        <Link
          to="/incidents/$incident"
          params={{ incident: incident.id }}
          className="rounded-sm font-medium text-accent-ink hover:underline"
        >
          {others === 0
            ? 'Incident'
            : plural(others, 'Incident with 1 other', (number) => `Incident with ${number} others`)}
        </Link>
        <span>
          opened <Time at={incident.opened} />
        </span>
        <IncidentStanding incident={incident} />
      </div>
      <div className="flex flex-wrap items-center gap-2">
        <IncidentActions incident={incident} size="sm" />
      </div>
    </section>
  )
}
