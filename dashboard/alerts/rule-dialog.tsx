import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import { FAILING_STATES } from '#contract/alert-states.ts'
import type { AlertPreview, AlertRule, NewAlertRule } from '#contract/alerts.ts'
import { type MonitorRecordType, RECORD_TYPES } from '#contract/record-types.ts'
import { api } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Checkbox, Field, Input, Switch } from '../ui/field.tsx'
import { Bones, Code } from '../ui/page.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { STATE_LOOKS } from '../ui/state.tsx'
import { Time } from '../ui/time.tsx'
import { groupsQuery } from '../webhooks/queries.ts'
import { channelsQuery } from './queries.ts'

type Form = {
  name: string
  channels: string[]
  groups: string[]
  name_pattern: string
  record_types: string[]
  states: string[]
  delay: string
  notify_recovery: boolean
}

const FIELDS = ['name', 'channels', 'groups', 'name_pattern', 'record_types', 'states', 'delay']

/** Makes an alert rule, or changes one. The preview shows what it would have sent. */
export function RuleDialog({ rule, onClose }: { rule?: AlertRule; onClose: () => void }) {
  const queries = useQueryClient()
  const formId = useId()
  const { data: channels } = useQuery(channelsQuery)
  const { data: groups } = useQuery(groupsQuery)
  const [form, setForm] = useState<Form>(() => formOf(rule))
  const set = (change: Partial<Form>) => setForm({ ...form, ...change })
  const save = useMutation({
    mutationFn: () =>
      rule ? api.patch(`/alert-rules/${rule.id}`, ruleOf(form)) : api.post('/alert-rules', ruleOf(form)),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['alert rules'] })
      onClose()
    },
  })
  const preview = useMutation({
    mutationFn: () => {
      const { channels: _channels, name: _name, notify_recovery: _recovery, ...filters } = ruleOf(form)
      return api.post<AlertPreview>('/alert-rules/preview', filters)
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate()
  }
  const problem = save.error ?? preview.error
  return (
    <Dialog
      isOpen
      isKept
      isWide
      onClose={onClose}
      title={rule ? 'Edit alert rule' : 'New alert rule'}
      description="Which failures are sent to which channels. What you leave open matches everything."
      footer={
        <>
          <Button className="mr-auto" isBusy={preview.isPending} onClick={() => preview.mutate()}>
            Preview
          </Button>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" form={formId} isBusy={save.isPending}>
            {rule ? 'Save' : 'Create rule'}
          </Button>
        </>
      }
    >
      <form id={formId} onSubmit={submit} className="grid gap-5 sm:grid-cols-2">
        <Field label="Name" error={fieldError(problem, 'name')}>
          <Input required maxLength={250} value={form.name} onChange={(event) => set({ name: event.target.value })} />
        </Field>
        <Field
          label="Delay in minutes"
          hint="Sent if a monitor still fails then. 0: at once."
          error={fieldError(problem, 'delay')}
        >
          <Input
            type="number"
            required
            min={0}
            max={1440}
            value={form.delay}
            onChange={(event) => set({ delay: event.target.value })}
          />
        </Field>
        <Several
          label="Send to"
          options={channels?.data.map(({ id, name }) => ({ value: id, label: name }))}
          chosen={form.channels}
          onChange={(chosen) => set({ channels: chosen })}
          error={fieldError(problem, 'channels')}
        />
        <Several
          label="Groups"
          hint="None chosen: every group."
          options={groups?.data.map(({ id, name }) => ({ value: id, label: name }))}
          chosen={form.groups}
          onChange={(chosen) => set({ groups: chosen })}
          error={fieldError(problem, 'groups')}
        />
        <Several
          label="States"
          hint="None chosen: every failure."
          options={FAILING_STATES.map((state) => ({ value: state, label: STATE_LOOKS[state].word }))}
          chosen={form.states}
          onChange={(chosen) => set({ states: chosen })}
          error={fieldError(problem, 'states')}
        />
        <Several
          label="Record types"
          hint="None chosen: every type."
          options={RECORD_TYPES.map((type) => ({ value: type, label: type }))}
          chosen={form.record_types}
          onChange={(chosen) => set({ record_types: chosen })}
          error={fieldError(problem, 'record_types')}
        />
        <Field
          label="Name pattern"
          isOptional
          hint="* stands for any characters."
          error={fieldError(problem, 'name_pattern')}
        >
          <Input
            isCode
            maxLength={253}
            placeholder="*.example.com"
            value={form.name_pattern}
            onChange={(event) => set({ name_pattern: event.target.value })}
          />
        </Field>
        <Switch
          label="Send a message on recovery"
          isOn={form.notify_recovery}
          onChange={(notify_recovery) => set({ notify_recovery })}
        />
        <div aria-live="polite" className="sm:col-span-2">
          {problem && <ProblemNote problem={problem} fields={FIELDS} />}
          {preview.data && !problem && <Preview preview={preview.data} />}
        </div>
      </form>
    </Dialog>
  )
}

function Preview({ preview: { days, is_complete, data } }: { preview: AlertPreview }) {
  if (data.length === 0)
    return <p className="text-sm text-soft">No failure of the last {days} days matches this rule.</p>
  return (
    <section className="flex flex-col gap-2 text-sm">
      <h3 className="font-semibold">
        {data.length}
        {is_complete ? '' : ' or more'} {data.length === 1 ? 'failure' : 'failures'} of the last {days} days
      </h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <ul tabIndex={0} className="flex max-h-44 flex-col gap-1 overflow-y-auto rounded-md border border-line p-3">
        {data.map(({ event_id, occurred, name, record_type, state }) => (
          <li key={event_id} className="flex flex-wrap justify-between gap-x-3">
            <Code>
              {name} {record_type}
            </Code>
            <span className="text-faint">
              {STATE_LOOKS[state].word}, <Time at={occurred} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

type SeveralProps = {
  label: string
  hint?: string
  options: readonly { value: string; label: string }[] | undefined
  chosen: readonly string[]
  onChange: (chosen: string[]) => void
  error: string | undefined
}

function Several({ label, hint, options, chosen, onChange, error }: SeveralProps) {
  return (
    <fieldset className="min-w-0">
      <legend className="mb-1.5 text-sm font-medium">{label}</legend>
      <div className="flex max-h-36 flex-col gap-2 overflow-y-auto rounded-md border border-line p-3">
        {!options ? (
          <Bones lines={2} />
        ) : (
          options.map(({ value, label: text }) => (
            <Checkbox
              key={value}
              label={text}
              isChecked={chosen.includes(value)}
              onChange={(isChosen) => onChange(isChosen ? [...chosen, value] : chosen.filter((each) => each !== value))}
            />
          ))
        )}
      </div>
      {error ? (
        <p role="alert" className="mt-1.5 text-xs text-bad first-letter:uppercase">
          {error}
        </p>
      ) : (
        hint && <p className="mt-1.5 text-xs text-faint">{hint}</p>
      )}
    </fieldset>
  )
}

const formOf = (rule?: AlertRule): Form => ({
  name: rule?.name ?? '',
  channels: rule?.channels ?? [],
  groups: rule?.groups ?? [],
  name_pattern: rule?.name_pattern ?? '',
  record_types: rule?.record_types ?? [],
  states: rule?.states ?? [],
  delay: String(rule?.delay ?? 10),
  notify_recovery: rule?.notify_recovery ?? true,
})

const orNull = <T,>(list: T[]): T[] | null => (list.length === 0 ? null : list)

const ruleOf = (form: Form): NewAlertRule => ({
  name: form.name,
  channels: form.channels,
  groups: orNull(form.groups),
  name_pattern: form.name_pattern.trim() === '' ? null : form.name_pattern.trim(),
  record_types: orNull(form.record_types as MonitorRecordType[]),
  states: orNull(form.states) as NewAlertRule['states'] & (string[] | null),
  delay: Number(form.delay),
  notify_recovery: form.notify_recovery,
})
