import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { Group } from '#contract/groups.ts'
import type { MaintenanceWindow, MaintenanceWindowChange } from '#contract/maintenance.ts'
import { api } from '../api.ts'
import { EditDialog } from '../edit/edit-dialog.tsx'
import { type FormState, NewDialog } from '../edit/new-dialog.tsx'
import { type Fields, sameSet, wholeOf } from '../edit/rebase.ts'
import { Field, Input } from '../ui/field.tsx'
import { FromToFields, fromLocalInput, localText, localTimeZone, nextHours, toLocalInput } from '../ui/period.tsx'
import { fieldError } from '../ui/problem.tsx'
import { Select } from '../ui/select.tsx'
import { groupsQuery } from '../webhooks/queries.ts'
import { CheckboxList, NamePatternField } from './filter-fields.tsx'
import { MonitorPicker } from './monitor-picker.tsx'

type Repeats = 'once' | 'FREQ=DAILY' | 'FREQ=WEEKLY' | 'FREQ=MONTHLY' | 'custom'
const REPEATS: { value: Repeats; label: string }[] = [
  { value: 'once', label: 'Does not repeat' },
  { value: 'FREQ=DAILY', label: 'Every day' },
  { value: 'FREQ=WEEKLY', label: 'Every week on the same day' },
  { value: 'FREQ=MONTHLY', label: 'Every month on the same day' },
  { value: 'custom', label: 'By a rule (RFC 5545)' },
]

type Form = {
  name: string
  from: string
  to: string
  repeats: Repeats
  rrule: string
  monitors: string[]
  groups: string[]
  name_pattern: string
}

const PATHS = ['name', 'from', 'to', 'rrule', 'monitors', 'groups', 'name_pattern']

const orNull = (list: string[]) => (list.length === 0 ? null : list)
const orNone = (list: readonly string[]) => (list.length === 0 ? 'all' : list.join(', '))
const rruleOf = ({ repeats, rrule }: Form) => ({
  rrule: repeats === 'once' ? null : repeats === 'custom' ? rrule : repeats,
})

const fieldsOf = (groupName: (id: string) => string): Fields<Form, MaintenanceWindowChange> => ({
  name: { label: 'Name', text: (name) => name },
  from: { label: 'From', text: localText, change: ({ from }) => ({ from: fromLocalInput(from) ?? '' }) },
  to: { label: 'To', text: localText, change: ({ to }) => ({ to: fromLocalInput(to) ?? '' }) },
  repeats: {
    label: 'Repeats',
    text: (repeats) => REPEATS.find(({ value }) => value === repeats)!.label,
    change: rruleOf,
  },
  rrule: { label: 'Rule', text: (rrule) => rrule, change: rruleOf },
  monitors: {
    label: 'Monitors',
    text: orNone,
    same: sameSet,
    change: ({ monitors }) => ({ monitors: orNull(monitors) }),
  },
  groups: {
    label: 'Groups',
    text: (groups) => orNone(groups.map(groupName)),
    same: sameSet,
    change: ({ groups }) => ({ groups: orNull(groups) }),
  },
  name_pattern: {
    label: 'Name pattern',
    text: (pattern) => pattern,
    change: ({ name_pattern }) => ({ name_pattern: name_pattern.trim() || null }),
  },
})

const DESCRIPTION = 'Alerts of these monitors are held until the window ends. Empty filters match every monitor.'

/** Creates or edits a maintenance window. */
export function MaintenanceDialog({ window, onClose }: { window?: MaintenanceWindow; onClose: () => void }) {
  const queries = useQueryClient()
  const { data: groups } = useQuery(groupsQuery)
  const fields = fieldsOf((group) => groups?.data.find(({ id }) => id === group)?.name ?? group)
  const timezone = window?.timezone ?? localTimeZone()
  const shared = { columns: 2, isWide: true, description: DESCRIPTION, paths: PATHS, onClose } as const
  const onDone = () => void queries.invalidateQueries({ queryKey: ['maintenance windows'] })
  const children = (state: FormState<Form>) => (
    <MaintenanceFields {...state} groups={groups?.data} timezone={timezone} />
  )
  if (!window)
    return (
      <NewDialog
        {...shared}
        title="New maintenance window"
        submitLabel="Create window"
        initial={() => formOf()}
        create={(form: Form) => api.post('/maintenance-windows', { ...wholeOf(fields, form), timezone })}
        onCreated={onDone}
      >
        {children}
      </NewDialog>
    )
  return (
    <EditDialog
      {...shared}
      title="Edit maintenance window"
      path={`/maintenance-windows/${window.id}`}
      fields={fields}
      formOf={formOf}
      onSaved={onDone}
    >
      {children}
    </EditDialog>
  )
}

type FieldsProps = FormState<Form> & { groups: readonly Group[] | undefined; timezone: string }

function MaintenanceFields({ form, set, problem, groups, timezone }: FieldsProps) {
  return (
    <>
      <Field label="Name" className="sm:col-span-2" error={fieldError(problem, 'name')}>
        <Input
          required
          maxLength={250}
          placeholder="Weekly updates"
          value={form.name}
          onChange={(event) => set({ name: event.target.value })}
        />
      </Field>
      <FromToFields form={form} set={set} problem={problem} />
      <Field
        label="Repeats"
        hint={
          form.repeats === 'once'
            ? undefined
            : `At the same local time in ${timezone}, also after daylight saving time begins or ends.`
        }
      >
        <Select value={form.repeats} options={REPEATS} onChange={(repeats) => set({ repeats })} />
      </Field>
      {form.repeats === 'custom' ? (
        <Field label="Rule" hint="FREQ=MONTHLY;BYDAY=-1SU: the last Sunday." error={fieldError(problem, 'rrule')}>
          <Input
            isCode
            required
            maxLength={500}
            placeholder="FREQ=MONTHLY;BYDAY=-1SU"
            value={form.rrule}
            onChange={(event) => set({ rrule: event.target.value })}
          />
        </Field>
      ) : (
        <span className="hidden sm:block" />
      )}
      <CheckboxList
        label="Groups"
        hint="Leave empty for all groups."
        options={groups?.map(({ id, name }) => ({ value: id, label: name }))}
        selected={form.groups}
        onChange={(chosen) => set({ groups: chosen })}
        error={fieldError(problem, 'groups')}
      />
      <NamePatternField
        value={form.name_pattern}
        onChange={(name_pattern) => set({ name_pattern })}
        error={fieldError(problem, 'name_pattern')}
      />
      <div className="sm:col-span-2">
        <MonitorPicker
          selected={form.monitors}
          onChange={(monitors) => set({ monitors })}
          error={fieldError(problem, 'monitors')}
        />
      </div>
    </>
  )
}

const formOf = (window?: MaintenanceWindow): Form => ({
  name: window?.name ?? '',
  ...(window ? { from: toLocalInput(Date.parse(window.from)), to: toLocalInput(Date.parse(window.to)) } : nextHours(2)),
  ...repeatsOf(window?.rrule ?? null),
  monitors: window?.monitors ?? [],
  groups: window?.groups ?? [],
  name_pattern: window?.name_pattern ?? '',
})

function repeatsOf(rrule: string | null): Pick<Form, 'repeats' | 'rrule'> {
  if (rrule === null) return { repeats: 'once', rrule: '' }
  const known = REPEATS.find(({ value }) => value === rrule)
  return { repeats: known?.value ?? 'custom', rrule }
}
