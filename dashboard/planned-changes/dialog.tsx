import { useQueryClient } from '@tanstack/react-query'
import type { PlannedChange, PlannedChangeChange } from '#contract/planned-changes.ts'
import { api } from '../api.ts'
import { EditDialog } from '../edit/edit-dialog.tsx'
import { type FormState, NewDialog } from '../edit/new-dialog.tsx'
import type { Fields } from '../edit/rebase.ts'
import { type MonitorDetails, useRefresh } from '../monitors/queries.ts'
import { Field, TextArea } from '../ui/field.tsx'
import { Code } from '../ui/page.tsx'
import { FromToFields, fromLocalInput, localText, nextHours, toLocalInput } from '../ui/period.tsx'
import { fieldError } from '../ui/problem.tsx'

const MAX_VALUES = 10

type Plan = { values: string; from: string; to: string }
type PlanProps = { monitor: MonitorDetails; change?: PlannedChange; onClose: () => void }

const planOf = ({ new_value, from, to }: PlannedChange): Plan => ({
  values: new_value.join('\n'),
  from: toLocalInput(Date.parse(from)),
  to: toLocalInput(Date.parse(to)),
})
const newValue = ({ values }: Plan) => values.split('\n').filter((line) => line.trim() !== '')
const instant = (input: string) => fromLocalInput(input) ?? ''

const FIELDS: Fields<Plan, PlannedChangeChange> = {
  values: { label: 'New values', text: (values) => values, change: (plan) => ({ new_value: newValue(plan) }) },
  from: { label: 'From', text: localText, change: ({ from }) => ({ from: instant(from) }) },
  to: { label: 'To', text: localText, change: ({ to }) => ({ to: instant(to) }) },
}

const PATHS = ['new_value', 'from', 'to']

const DESCRIPTION =
  'During this period, the old values, the new ones and a mix of both are valid. If the new values have not arrived when it ends, the monitor fails.'

/** Plans a change, or edits an open one. */
export function PlanDialog({ monitor, change, onClose }: PlanProps) {
  const queries = useQueryClient()
  const refresh = useRefresh()
  const onDone = async () => {
    await queries.invalidateQueries({ queryKey: ['planned changes'] })
    await refresh()
  }
  if (!change)
    return (
      <NewDialog<Plan, unknown>
        columns={2}
        paths={PATHS}
        title="Plan a change"
        description={DESCRIPTION}
        submitLabel="Plan change"
        initial={() => ({ values: monitor.expected_value.join('\n'), ...nextHours(4) })}
        create={(plan) => {
          const period = { from: instant(plan.from), to: instant(plan.to) }
          return api.post('/planned-changes', { monitor_id: monitor.id, new_value: newValue(plan), ...period })
        }}
        onCreated={onDone}
        onClose={onClose}
      >
        {(state) => <PlanFields {...state} monitor={monitor} />}
      </NewDialog>
    )
  return (
    <EditDialog
      columns={2}
      paths={PATHS}
      title="Edit planned change"
      description={DESCRIPTION}
      path={`/planned-changes/${change.id}`}
      fields={FIELDS}
      formOf={planOf}
      onSaved={onDone}
      onClose={onClose}
    >
      {(edit) => <PlanFields {...edit} monitor={monitor} />}
    </EditDialog>
  )
}

function PlanFields({ form, set, problem, monitor }: FormState<Plan> & { monitor: MonitorDetails }) {
  return (
    <>
      <p className="text-sm text-soft sm:col-span-2">
        Expected now: <Code className="break-all">{monitor.expected_value.join(', ')}</Code>
      </p>
      <Field
        label="New values"
        hint={`One per line, at most ${MAX_VALUES}.`}
        className="sm:col-span-2"
        error={valueError(problem) ?? fieldError(problem, 'new_value')}
      >
        <TextArea isCode required value={form.values} onChange={(event) => set({ values: event.target.value })} />
      </Field>
      <FromToFields form={form} set={set} problem={problem} toHint="At most 90 days later." />
    </>
  )
}

/** The error of the first invalid line. */
function valueError(problem: unknown): string | undefined {
  const lines = Array.from({ length: MAX_VALUES }, (_, index) => fieldError(problem, `new_value.${index}`))
  const index = lines.findIndex((error) => error !== undefined)
  return index < 0 ? undefined : `Line ${index + 1}: ${lines[index]}`
}
