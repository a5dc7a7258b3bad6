import { useState } from 'react'
import type { Incident } from '#contract/incidents.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Field, TextArea } from '../ui/field.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { useIncidentChange } from './queries.ts'

export function IncidentNote({ incident }: { incident: Incident }) {
  const { can } = useSession()
  const [note, setNote] = useState<string>()
  const change = useIncidentChange(incident)
  if (!can('write')) return incident.note && <p className="text-sm break-words whitespace-pre-wrap">{incident.note}</p>
  return (
    <form
      className="flex flex-col items-start gap-2"
      onSubmit={(event) => {
        event.preventDefault()
        change.mutate({ note: note ?? incident.note }, { onSuccess: () => setNote(undefined) })
      }}
    >
      <Field label="Note" hint="For your colleagues." className="w-full">
        <TextArea
          maxLength={2000}
          value={note ?? incident.note ?? ''}
          onChange={(event) => setNote(event.target.value)}
        />
      </Field>
      <Button type="submit" size="sm" disabled={note === undefined} isBusy={change.isPending}>
        Save note
      </Button>
      {change.error && <ProblemNote problem={change.error} />}
    </form>
  )
}
