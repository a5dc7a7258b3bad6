import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Zone } from '#contract/zones.ts'
import { api } from '../api.ts'
import { FormDialog } from '../ui/dialog.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { refreshZones } from './queries.ts'

/** Adds a zone. `onAdded` gets its name. */
export function NewZone({ onClose, onAdded }: { onClose: () => void; onAdded: (name: string) => void }) {
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const add = useMutation({
    mutationFn: () => api.post<Zone>('/zones', { name: name.trim() }),
    onSuccess: (zone) => {
      void refreshZones(queries)
      onAdded(zone.name)
    },
  })
  return (
    <FormDialog
      title="Add zone"
      description="Zonewatch looks at it now and then every hour."
      submitLabel="Add zone"
      isBusy={add.isPending}
      onSubmit={() => add.mutate()}
      onClose={onClose}
    >
      <Field
        label="Zone"
        hint="Usually the registered domain, such as example.com."
        error={fieldError(add.error, 'name')}
      >
        <Input value={name} onChange={(event) => setName(event.target.value)} isCode required autoFocus />
      </Field>
      <ProblemNote problem={add.error} fields={['name']} />
    </FormDialog>
  )
}
