import type { MonitorChange } from '#contract/monitors.ts'
import { RECORD_TYPES } from '#contract/record-types.ts'
import { buildUrl } from '../../api.ts'
import { EditDialog } from '../../edit/edit-dialog.tsx'
import type { Edit } from '../../edit/use-edit.ts'
import { Field, Input } from '../../ui/field.tsx'
import { fieldError } from '../../ui/problem.tsx'
import { RadioGroup } from '../../ui/radio-group.tsx'
import { Select } from '../../ui/select.tsx'
import { useToast } from '../../ui/toast.tsx'
import { type MonitorDetails, monitorPath, useRefresh } from '../queries.ts'
import { useGroups, useShortestFrequency } from '../settings.ts'
import { matchText, NOTIFY_CHOICES, RESOLUTION_CHOICES, resolutionHint } from '../text.ts'
import { type Draft, draftOf, FIELDS, resetsState, withoutEmptyLines } from './edit-change.ts'
import { MonitorValues } from './values.tsx'

type EditProps = { monitor: MonitorDetails; onClose: () => void }

/** The form is loaded when the dialog opens. */
export function MonitorEdit({ monitor, onClose }: EditProps) {
  const refresh = useRefresh()
  const toast = useToast()
  return (
    <EditDialog
      title="Edit monitor"
      path={buildUrl(monitorPath(monitor.id), { include: 'frequency,group,resolution' })}
      fields={FIELDS}
      paths={PATHS}
      formOf={draftOf}
      noValidate
      beforeSave={({ form, change, set }) => {
        // Errors of the server refer to the index of the values that were sent.
        if (change.expected_value) set({ expected_value: withoutEmptyLines(form.expected_value) })
        return true
      }}
      onSaved={async (saved: MonitorDetails, change) => {
        await refresh()
        toast.done(resetsState(change) && saved.is_active ? 'Saved. Zonewatch is checking the record now.' : 'Saved.')
      }}
      onClose={onClose}
    >
      {(edit) => <MonitorFields {...edit} />}
    </EditDialog>
  )
}

function MonitorFields({ form: draft, set, problem, change }: Edit<MonitorDetails, Draft, MonitorChange>) {
  const shortest = useShortestFrequency()
  const nameError =
    fieldError(problem, 'full_domain') ?? fieldError(problem, 'domain') ?? fieldError(problem, 'subdomain')
  return (
    <>
      <div className="grid grid-cols-[minmax(0,1fr)_7rem] gap-3">
        <Field label="Name" error={nameError}>
          <Input isCode value={draft.name} onChange={(event) => set({ name: event.target.value })} />
        </Field>
        <Field label="Type" error={fieldError(problem, 'record_type')}>
          <Select value={draft.record_type} options={TYPES} onChange={(record_type) => set({ record_type })} />
        </Field>
      </div>
      <MonitorValues
        values={draft.expected_value}
        recordType={draft.record_type}
        problem={problem}
        onChange={(expected_value) => set({ expected_value })}
      />
      <RadioGroup
        label="Match"
        value={draft.is_exact_match ? 'exact' : 'flexible'}
        options={[
          { value: 'exact', label: 'Exact', hint: matchText(draft.record_type, draft.expected_value, true) },
          { value: 'flexible', label: 'Flexible', hint: matchText(draft.record_type, draft.expected_value, false) },
        ]}
        onChange={(mode) => set({ is_exact_match: mode === 'exact' })}
      />
      {resetsState(change) && (
        <p role="status" className="rounded-md bg-accent-wash px-3 py-2.5 text-sm text-accent-ink">
          This changes the query or the expected values. Zonewatch resets the state and checks the monitor at once; the
          result is recorded as a first result.
        </p>
      )}
      <div className="grid gap-3 sm:grid-cols-2">
        <Field label="Group" error={fieldError(problem, 'group')}>
          <Select value={draft.group} options={useGroupOptions(draft.group)} onChange={(group) => set({ group })} />
        </Field>
        <Field label="Check interval in minutes" hint={`${shortest} to 120.`} error={fieldError(problem, 'frequency')}>
          <Input
            type="number"
            min={5}
            max={120}
            value={draft.frequency}
            onChange={(event) => set({ frequency: event.target.value })}
          />
        </Field>
      </div>
      <Field
        label="Answers that count"
        hint={resolutionHint(draft.resolution)}
        error={fieldError(problem, 'resolution')}
      >
        <Select value={draft.resolution} options={RESOLUTION_CHOICES} onChange={(resolution) => set({ resolution })} />
      </Field>
      <RadioGroup
        label="Webhook notifications"
        value={draft.notify}
        options={NOTIFY_CHOICES}
        onChange={(notify) => set({ notify })}
      />
    </>
  )
}

const PATHS = ['full_domain', 'domain', 'subdomain', 'record_type', 'expected_value', 'is_exact_match'].concat(
  ...['notify', 'frequency', 'resolution', 'group'],
)

const TYPES = RECORD_TYPES.map((type) => ({ value: type, label: type }))
/** Includes the group of the monitor even if it is not one of the first hundred. */
function useGroupOptions(slug: string) {
  const options = (useGroups() ?? []).map((group) => ({ value: group.slug, label: group.name }))
  return options.some(({ value }) => value === slug) ? options : [{ value: slug, label: slug }, ...options]
}
