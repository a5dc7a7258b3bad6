import { useQuery } from '@tanstack/react-query'
import { AlarmClock, AlarmClockOff, Check, Undo2 } from 'lucide-react'
import type { Incident } from '#contract/incidents.ts'
import { useSession } from '../session.tsx'
import { agentsQuery } from '../team/queries.ts'
import { Button } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { Select } from '../ui/select.tsx'
import { Time } from '../ui/time.tsx'
import { isSnoozed } from './incident-text.ts'
import { useIncidentChange } from './queries.ts'

const HOUR_MS = 3_600_000
const SNOOZES = [
  [1, '1 hour'],
  [4, '4 hours'],
  [24, '1 day'],
  [168, '7 days'],
] as const

type ActionsProps = { incident: Incident; size?: 'sm' | 'md' }

/** Acknowledge and snooze an open incident, wherever it is shown. */
export function IncidentActions({ incident, size = 'md' }: ActionsProps) {
  const { can } = useSession()
  const change = useIncidentChange(incident)
  if (!can('write') || incident.resolved !== null) return null
  const isAcknowledged = incident.acknowledged !== null
  const snooze = (hours: number) =>
    change.mutate({ snoozed_until: new Date(Date.now() + hours * HOUR_MS).toISOString() })
  return (
    <>
      <Button
        size={size}
        variant={size === 'md' && !isAcknowledged ? 'primary' : 'plain'}
        isBusy={change.isPending}
        onClick={() => change.mutate({ acknowledged: !isAcknowledged })}
      >
        {isAcknowledged ? <Undo2 /> : <Check />} {isAcknowledged ? 'Undo acknowledgement' : 'Acknowledge'}
      </Button>
      <Menu
        trigger={
          <Button size={size}>
            <AlarmClock /> Snooze
          </Button>
        }
      >
        {isSnoozed(incident, Date.now()) && (
          <MenuItem icon={AlarmClockOff} onSelect={() => change.mutate({ snoozed_until: null })}>
            End the snooze
          </MenuItem>
        )}
        {SNOOZES.map(([hours, label]) => (
          <MenuItem key={hours} onSelect={() => snooze(hours)}>
            For {label}
          </MenuItem>
        ))}
      </Menu>
      {change.error && <ProblemNote problem={change.error} />}
    </>
  )
}

/** Who acknowledged the incident and when, and until when it is snoozed; nothing if neither. */
export function IncidentStanding({ incident }: { incident: Incident }) {
  const { acknowledged, acknowledged_by, snoozed_until } = incident
  return (
    <>
      {acknowledged !== null && (
        <span>
          acknowledged by {acknowledged_by} <Time at={acknowledged} />
        </span>
      )}
      {isSnoozed(incident, Date.now()) && (
        <span>
          snoozed until <Time at={snoozed_until!} isExact />
        </span>
      )}
    </>
  )
}

const NOBODY = ''

export function IncidentAssignee({ incident }: { incident: Incident }) {
  const { data: agents } = useQuery(agentsQuery({}))
  const change = useIncidentChange(incident)
  const users = agents?.data.map(({ id, name, email }) => ({ value: id, label: name || email })) ?? []
  return (
    <Field label="Assigned to">
      <Select
        value={incident.assignee ?? NOBODY}
        options={[{ value: NOBODY, label: 'Nobody' }, ...users]}
        onChange={(value) => change.mutate({ assignee: value === NOBODY ? null : value })}
      />
    </Field>
  )
}
