import { type FormEvent, useId, useState } from 'react'
import { RECORD_TYPES } from '#contract/record-types.ts'
import { buildUrl, type Versioned } from '../../api.ts'
import { ConflictNote } from '../../edit/conflict-note.tsx'
import { LoadResource } from '../../edit/load-resource.tsx'
import { useEdit } from '../../edit/use-edit.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field, Input } from '../../ui/field.tsx'
import { fieldError, ProblemNote } from '../../ui/problem.tsx'
import { RadioGroup } from '../../ui/radio-group.tsx'
import { Select } from '../../ui/select.tsx'
import { useToast } from '../../ui/toast.tsx'
import { type MonitorDetails, monitorPath, useRefresh } from '../queries.ts'
import { useGroups, useShortestFrequency } from '../settings.ts'
import { matchText, NOTIFY_CHOICES, RESOLUTION_CHOICES, resolutionHint } from '../text.ts'
import { changeOf, draftOf, FIELDS, resetsState, withoutEmptyLines } from './edit-change.ts'
import { MonitorValues } from './values.tsx'

type EditProps = { monitor: MonitorDetails; isOpen: boolean; onClose: () => void }

/** The form is loaded when the dialog opens. */
export function MonitorEdit({ monitor, isOpen, onClose }: EditProps) {
  const form = useId()
  const [isBusy, setBusy] = useState(false)
  const path = buildUrl(monitorPath(monitor.id), { include: 'frequency,group,resolution' })
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title="Edit monitor"
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" form={form} isBusy={isBusy}>
            Save
          </Button>
        </>
      }
    >
      <LoadResource<MonitorDetails> path={path}>
        {(opened) => <Form id={form} path={path} opened={opened} onBusy={setBusy} onDone={onClose} />}
      </LoadResource>
    </Dialog>
  )
}

type FormProps = {
  id: string
  path: string
  opened: Versioned<MonitorDetails>
  onBusy: (isBusy: boolean) => void
  onDone: () => void
}

function Form({ id, path, opened, onBusy, onDone }: FormProps) {
  const edit = useEdit(opened, { path, fields: FIELDS, formOf: draftOf, changeOf })
  const { form: draft, set, change, problem } = edit
  const refresh = useRefresh()
  const toast = useToast()
  const shortest = useShortestFrequency()
  const save = async (event: FormEvent) => {
    event.preventDefault()
    // Errors of the server refer to the index of the values that were sent.
    if (change.expected_value) set({ expected_value: withoutEmptyLines(draft.expected_value) })
    if (!edit.isChanged) return onDone()
    onBusy(true)
    const saved = await edit.save()
    onBusy(false)
    if (!saved) return
    await refresh()
    toast.done(resetsState(change) && saved.is_active ? 'Saved. Zonewatch is checking the record now.' : 'Saved.')
    onDone()
  }
  const nameError =
    fieldError(problem, 'full_domain') ?? fieldError(problem, 'domain') ?? fieldError(problem, 'subdomain')
  return (
    <form id={id} onSubmit={save} noValidate className="flex flex-col gap-4">
      <ConflictNote {...edit} fields={FIELDS} />
      {problem !== undefined && !areAllAtFields(problem) && <ProblemNote problem={problem} fields={PATHS} />}
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
    </form>
  )
}

const PATHS = ['full_domain', 'domain', 'subdomain', 'record_type', 'expected_value', 'is_exact_match'].concat(
  ...['notify', 'frequency', 'resolution', 'group'],
)

/** Whether the fields of the form show all errors. */
function areAllAtFields(problem: unknown): boolean {
  const paths = Object.keys((problem as { errors?: object }).errors ?? {})
  return paths.length > 0 && paths.every((path) => PATHS.includes(path.split('.')[0]!))
}

const TYPES = RECORD_TYPES.map((type) => ({ value: type, label: type }))
/** Includes the group of the monitor even if it is not one of the first hundred. */
function useGroupOptions(slug: string) {
  const options = (useGroups() ?? []).map((group) => ({ value: group.slug, label: group.name }))
  return options.some(({ value }) => value === slug) ? options : [{ value: slug, label: slug }, ...options]
}
