import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { MaintenanceWindow, NewMaintenanceWindow } from '#contract/maintenance.ts'
import { api } from '../api.ts'
import { ifMatchOf, SaveProblem, type Stored, StoredForm } from '../edit/stored-form.tsx'
import { FormDialog } from '../ui/dialog.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fromLocalInput, localTimeZone, nextHours, toLocalInput } from '../ui/period.tsx'
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

const FIELDS = ['name', 'from', 'to', 'rrule', 'monitors', 'groups', 'name_pattern']

/** Creates or edits a maintenance window. */
export function MaintenanceDialog({ window, onClose }: { window?: MaintenanceWindow; onClose: () => void }) {
  if (!window) return <MaintenanceForm onClose={onClose} />
  const path = `/maintenance-windows/${window.id}`
  return (
    <StoredForm<MaintenanceWindow> path={path} title="Edit maintenance window" onClose={onClose}>
      {(stored) => <MaintenanceForm stored={stored} onClose={onClose} />}
    </StoredForm>
  )
}

function MaintenanceForm({ stored, onClose }: { stored?: Stored<MaintenanceWindow>; onClose: () => void }) {
  const window = stored?.value
  const queries = useQueryClient()
  const { data: groups } = useQuery(groupsQuery)
  const [form, setForm] = useState<Form>(() => formOf(window))
  const set = (change: Partial<Form>) => setForm({ ...form, ...change })
  const timezone = window?.timezone ?? localTimeZone()
  const save = useMutation({
    mutationFn: async ({ overwrites }: { overwrites: boolean }) => {
      const body = bodyOf(form, timezone)
      if (!stored) await api.post('/maintenance-windows', body)
      else await api.patchIfMatch(`/maintenance-windows/${stored.value.id}`, body, ifMatchOf(stored, overwrites))
    },
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['maintenance windows'] })
      onClose()
    },
  })
  const problem = save.error
  return (
    <FormDialog
      columns={2}
      isWide
      title={window ? 'Edit maintenance window' : 'New maintenance window'}
      description="Alerts of these monitors are held until the window ends. Empty filters match every monitor."
      submitLabel={window ? 'Save' : 'Create window'}
      isBusy={save.isPending}
      onSubmit={() => save.mutate({ overwrites: false })}
      onClose={onClose}
    >
      <Field label="Name" className="sm:col-span-2" error={fieldError(problem, 'name')}>
        <Input
          required
          maxLength={250}
          placeholder="Weekly updates"
          value={form.name}
          onChange={(event) => set({ name: event.target.value })}
        />
      </Field>
      <Field label="From" hint={`Your time: ${localTimeZone()}.`} error={fieldError(problem, 'from')}>
        <Input
          type="datetime-local"
          required
          value={form.from}
          onChange={(event) => set({ from: event.target.value })}
        />
      </Field>
      <Field label="To" error={fieldError(problem, 'to')}>
        <Input type="datetime-local" required value={form.to} onChange={(event) => set({ to: event.target.value })} />
      </Field>
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
        options={groups?.data.map(({ id, name }) => ({ value: id, label: name }))}
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
      <div aria-live="polite" className="empty:hidden sm:col-span-2">
        {problem && (
          <SaveProblem
            problem={problem}
            fields={FIELDS}
            stored={stored}
            onOverwrite={() => save.mutate({ overwrites: true })}
          />
        )}
      </div>
    </FormDialog>
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

function bodyOf({ name, from, to, repeats, rrule, monitors, groups, name_pattern }: Form, timezone: string) {
  const body: NewMaintenanceWindow = {
    name,
    from: fromLocalInput(from) ?? '',
    to: fromLocalInput(to) ?? '',
    rrule: repeats === 'once' ? null : repeats === 'custom' ? rrule : repeats,
    timezone,
    monitors: monitors.length === 0 ? null : monitors,
    groups: groups.length === 0 ? null : groups,
    name_pattern: name_pattern.trim() === '' ? null : name_pattern.trim(),
  }
  return body
}
