import { AlarmClock, CircleAlert, CircleCheck, Eye } from 'lucide-react'
import type { Incident } from '#contract/incidents.ts'
import { Badge } from '../ui/state.tsx'
import { isSnoozed } from './incident-text.ts'

export function IncidentBadge({ incident }: { incident: Incident }) {
  const { resolved, acknowledged } = incident
  if (resolved !== null) return <Badge tone="good" icon={CircleCheck} label="Resolved" />
  if (acknowledged !== null) return <Badge tone="warn" icon={Eye} label="Acknowledged" />
  if (isSnoozed(incident, Date.now())) return <Badge tone="warn" icon={AlarmClock} label="Snoozed" />
  return <Badge tone="bad" icon={CircleAlert} label="Open" />
}
