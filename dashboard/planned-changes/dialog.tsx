import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { PlannedChange } from '#contract/planned-changes.ts'
import { api } from '../api.ts'
import { ifMatchOf, SaveProblem, type Stored, StoredForm } from '../edit/stored-form.tsx'
import { type MonitorDetails, useRefresh } from '../monitors/queries.ts'
import { FormDialog } from '../ui/dialog.tsx'
import { Field, Input, TextArea } from '../ui/field.tsx'
import { Code } from '../ui/page.tsx'
import { fromLocalInput, localTimeZone, nextHours, toLocalInput } from '../ui/period.tsx'
import { fieldError } from '../ui/problem.tsx'

const FIELDS = ['new_value', 'from', 'to']
const MAX_VALUES = 10

type PlanProps = { monitor: MonitorDetails; change?: PlannedChange; onClose: () => void }

/** Plans a change, or edits an open one. */
export function PlanDialog({ monitor, change, onClose }: PlanProps) {
  if (!change) return <PlanForm monitor={monitor} onClose={onClose} />
  return (
    <StoredForm<PlannedChange> path={`/planned-changes/${change.id}`} title="Edit planned change" onClose={onClose}>
      {(stored) => <PlanForm monitor={monitor} stored={stored} onClose={onClose} />}
    </StoredForm>
  )
}

type PlanFormProps = Omit<PlanProps, 'change'> & { stored?: Stored<PlannedChange> }

function PlanForm({ monitor, stored, onClose }: PlanFormProps) {
  const change = stored?.value
  const queries = useQueryClient()
  const refresh = useRefresh()
  const [values, setValues] = useState((change?.new_value ?? monitor.expected_value).join('\n'))
  const [period, setPeriod] = useState(() =>
    change ? { from: toLocalInput(Date.parse(change.from)), to: toLocalInput(Date.parse(change.to)) } : nextHours(4),
  )
  const save = useMutation({
    mutationFn: async ({ overwrites }: { overwrites: boolean }) => {
      const new_value = values.split('\n').filter((line) => line.trim() !== '')
      const body = { new_value, from: fromLocalInput(period.from) ?? '', to: fromLocalInput(period.to) ?? '' }
      if (!stored) await api.post('/planned-changes', { monitor_id: monitor.id, ...body })
      else await api.patchIfMatch(`/planned-changes/${stored.value.id}`, body, ifMatchOf(stored, overwrites))
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['planned changes'] })
      await refresh()
      onClose()
    },
  })
  const problem = save.error
  return (
    <FormDialog
      columns={2}
      title={change ? 'Edit planned change' : 'Plan a change'}
      description="During this period, the old values, the new ones and a mix of both are valid. If the new values have not arrived when it ends, the monitor fails."
      submitLabel={change ? 'Save' : 'Plan change'}
      isBusy={save.isPending}
      onSubmit={() => save.mutate({ overwrites: false })}
      onClose={onClose}
    >
      <p className="text-sm text-soft sm:col-span-2">
        Expected now: <Code className="break-all">{monitor.expected_value.join(', ')}</Code>
      </p>
      <Field
        label="New values"
        hint={`One per line, at most ${MAX_VALUES}.`}
        className="sm:col-span-2"
        error={fieldError(problem, 'new_value') ?? valueError(problem)}
      >
        <TextArea isCode required value={values} onChange={(event) => setValues(event.target.value)} />
      </Field>
      <Field label="From" hint={`Your time: ${localTimeZone()}.`} error={fieldError(problem, 'from')}>
        <Input
          type="datetime-local"
          required
          value={period.from}
          onChange={(event) => setPeriod({ ...period, from: event.target.value })}
        />
      </Field>
      <Field label="To" hint="At most 90 days later." error={fieldError(problem, 'to')}>
        <Input
          type="datetime-local"
          required
          value={period.to}
          onChange={(event) => setPeriod({ ...period, to: event.target.value })}
        />
      </Field>
      <div aria-live="polite" className="empty:hidden sm:col-span-2">
        {problem && (
          <SaveProblem
            problem={problem}
            fields={ALL_FIELDS}
            stored={stored}
            onOverwrite={() => save.mutate({ overwrites: true })}
          />
        )}
      </div>
    </FormDialog>
  )
}

const valueFields = Array.from({ length: MAX_VALUES }, (_, index) => `new_value.${index}`)
const ALL_FIELDS = [...FIELDS, ...valueFields]

/** The error of the first invalid line. */
function valueError(problem: unknown): string | undefined {
  const index = valueFields.findIndex((field) => fieldError(problem, field) !== undefined)
  return index < 0 ? undefined : `Line ${index + 1}: ${fieldError(problem, valueFields[index]!)}`
}
