import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { FAILING_STATES } from '#contract/alert-states.ts'
import type { AlertPreview, AlertRule, Channel, NewAlertRule } from '#contract/alerts.ts'
import { type MonitorRecordType, RECORD_TYPES } from '#contract/record-types.ts'
import { plural } from '#contract/wording.ts'
import { api } from '../api.ts'
import { ifMatchOf, SaveProblem, type Stored, StoredForm } from '../edit/stored-form.tsx'
import { Button } from '../ui/button.tsx'
import { FormDialog } from '../ui/dialog.tsx'
import { Field, Input, Switch } from '../ui/field.tsx'
import { Code } from '../ui/page.tsx'
import { fieldError } from '../ui/problem.tsx'
import { Select } from '../ui/select.tsx'
import { STATE_DISPLAY } from '../ui/state.tsx'
import { Time } from '../ui/time.tsx'
import { groupsQuery } from '../webhooks/queries.ts'
import { CheckboxList, NamePatternField } from './filter-fields.tsx'
import { channelsQuery } from './queries.ts'

type Form = {
  name: string
  channels: string[]
  groups: string[]
  name_pattern: string
  tags: string
  record_types: string[]
  states: string[]
  delay: string
  notify_recovery: boolean
  first_results: boolean
  repeat_every: string
  escalate_after: string
  escalation_channel: string
  quiet_from: string
  quiet_until: string
  timezone: string
  digest: AlertRule['digest']
}

const FIELDS = [
  ...['name', 'channels', 'groups', 'name_pattern', 'tags', 'record_types', 'states', 'delay', 'digest', 'timezone'],
  ...['repeat_every', 'escalate_after', 'escalation_channel', 'quiet_hours.from', 'quiet_hours.until'],
]

type RuleDialogProps = {
  rule?: AlertRule
  /** A new rule sends to it. */
  channel?: Channel
  onClose: () => void
}

/** Creates or edits an alert rule. The preview shows past failures that match. */
export function RuleDialog({ rule, channel, onClose }: RuleDialogProps) {
  if (!rule) return <RuleForm channel={channel} onClose={onClose} />
  return (
    <StoredForm<AlertRule> path={`/alert-rules/${rule.id}`} title="Edit alert rule" onClose={onClose}>
      {(stored) => <RuleForm stored={stored} onClose={onClose} />}
    </StoredForm>
  )
}

type RuleFormProps = { stored?: Stored<AlertRule>; channel?: Channel | undefined; onClose: () => void }

function RuleForm({ stored, channel, onClose }: RuleFormProps) {
  const rule = stored?.value
  const queries = useQueryClient()
  const { data: channels } = useQuery(channelsQuery)
  const { data: groups } = useQuery(groupsQuery)
  const [form, setForm] = useState<Form>(() => formOf(rule, channel))
  const set = (change: Partial<Form>) => setForm({ ...form, ...change })
  const save = useMutation({
    mutationFn: async ({ overwrites }: { overwrites: boolean }) => {
      if (!stored) await api.post('/alert-rules', ruleOf(form))
      else await api.patchIfMatch(`/alert-rules/${stored.value.id}`, ruleOf(form), ifMatchOf(stored, overwrites))
    },
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['alert rules'] })
      onClose()
    },
  })
  const preview = useMutation({
    mutationFn: () => {
      const { groups, name_pattern, tags, record_types, states, delay, first_results } = ruleOf(form)
      const filters = { groups, name_pattern, tags, record_types, states, delay, first_results }
      return api.post<AlertPreview>('/alert-rules/preview', filters)
    },
  })
  const problem = save.error ?? preview.error
  return (
    <FormDialog
      columns={2}
      isWide
      title={rule ? 'Edit alert rule' : 'New alert rule'}
      description="Which failures are sent to which channels. Empty filters match everything."
      submitLabel={rule ? 'Save' : 'Create rule'}
      isBusy={save.isPending}
      extraActions={
        <Button className="mr-auto" isBusy={preview.isPending} onClick={() => preview.mutate()}>
          Preview
        </Button>
      }
      onSubmit={() => save.mutate({ overwrites: false })}
      onClose={onClose}
    >
      <Field label="Name" error={fieldError(problem, 'name')}>
        <Input required maxLength={250} value={form.name} onChange={(event) => set({ name: event.target.value })} />
      </Field>
      <Field
        label="Delay in minutes"
        hint="The alert is sent if a monitor still fails after this time. 0 sends it at once."
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
      <CheckboxList
        label="Send to"
        options={channels?.data.map(({ id, name }) => ({ value: id, label: name }))}
        selected={form.channels}
        onChange={(chosen) => set({ channels: chosen })}
        error={fieldError(problem, 'channels')}
      />
      <CheckboxList
        label="Groups"
        hint="Leave empty for all groups."
        options={groups?.data.map(({ id, name }) => ({ value: id, label: name }))}
        selected={form.groups}
        onChange={(chosen) => set({ groups: chosen })}
        error={fieldError(problem, 'groups')}
      />
      <CheckboxList
        label="States"
        hint="Leave empty for all failures."
        options={FAILING_STATES.map((state) => ({ value: state, label: STATE_DISPLAY[state].label }))}
        selected={form.states}
        onChange={(chosen) => set({ states: chosen })}
        error={fieldError(problem, 'states')}
      />
      <CheckboxList
        label="Record types"
        hint="Leave empty for all types."
        options={RECORD_TYPES.map((type) => ({ value: type, label: type }))}
        selected={form.record_types}
        onChange={(chosen) => set({ record_types: chosen })}
        error={fieldError(problem, 'record_types')}
      />
      <NamePatternField
        value={form.name_pattern}
        onChange={(name_pattern) => set({ name_pattern })}
        error={fieldError(problem, 'name_pattern')}
      />
      <Field
        label="Tags"
        isOptional
        hint="Separated by commas. A monitor must have all of them."
        error={fieldError(problem, 'tags')}
      >
        <Input placeholder="prod" value={form.tags} onChange={(event) => set({ tags: event.target.value })} />
      </Field>
      <div className="flex flex-col gap-3">
        <Switch
          label="Send a message on recovery"
          isOn={form.notify_recovery}
          onChange={(notify_recovery) => set({ notify_recovery })}
        />
        <Switch
          label="Include monitors that have never been valid"
          isOn={form.first_results}
          onChange={(first_results) => set({ first_results })}
        />
      </div>
      <Reminders
        form={form}
        set={set}
        channels={channels?.data.filter(({ id }) => !form.channels.includes(id)) ?? []}
        problem={problem}
      />
      <div aria-live="polite" className="sm:col-span-2">
        {problem && (
          <SaveProblem
            problem={problem}
            fields={FIELDS}
            stored={stored}
            onOverwrite={() => save.mutate({ overwrites: true })}
          />
        )}
        {preview.data && !problem && (
          <div key={preview.submittedAt} ref={reveal}>
            <Preview preview={preview.data} />
          </div>
        )}
      </div>
    </FormDialog>
  )
}

/** Scrolls to a new preview, which may be outside of the visible area. */
const reveal = (element: HTMLElement | null): void => element?.scrollIntoView({ block: 'nearest' })

type RemindersProps = { form: Form; set: (change: Partial<Form>) => void; channels: Channel[]; problem: unknown }

const NO_CHANNEL = ''

/** Digest, quiet hours, repetition and escalation. */
function Reminders({ form, set, channels, problem }: RemindersProps) {
  const isDigest = form.digest !== 'none'
  const error = (name: string) => fieldError(problem, name)
  return (
    <fieldset className="grid gap-5 border-t border-line pt-5 sm:col-span-2 sm:grid-cols-2">
      <Field label="Send as" error={error('digest')}>
        <Select value={form.digest} options={DIGESTS} onChange={(digest) => set({ digest })} />
      </Field>
      <Field label="Time zone" hint="For quiet hours and the daily digest." error={error('timezone')}>
        <Input maxLength={100} value={form.timezone} onChange={(event) => set({ timezone: event.target.value })} />
      </Field>
      <Field
        label="Quiet from"
        isOptional
        hint="Alerts are held until quiet hours end."
        error={error('quiet_hours.from')}
      >
        <Input type="time" value={form.quiet_from} onChange={(event) => set({ quiet_from: event.target.value })} />
      </Field>
      <Field label="Quiet until" isOptional error={error('quiet_hours.until')}>
        <Input type="time" value={form.quiet_until} onChange={(event) => set({ quiet_until: event.target.value })} />
      </Field>
      {!isDigest && (
        <>
          <Field
            label="Repeat every (hours)"
            isOptional
            hint="While monitors fail and nobody acknowledges."
            error={error('repeat_every')}
          >
            <Input
              type="number"
              min={1}
              max={168}
              value={form.repeat_every}
              onChange={(event) => set({ repeat_every: event.target.value })}
            />
          </Field>
          <Field label="Escalate to" error={error('escalation_channel')}>
            <Select
              value={form.escalation_channel}
              options={[
                { value: NO_CHANNEL, label: 'Nobody' },
                ...channels.map(({ id, name }) => ({ value: id, label: name })),
              ]}
              onChange={(escalation_channel) => set({ escalation_channel })}
            />
          </Field>
          {form.escalation_channel !== NO_CHANNEL && (
            <Field
              label="Escalate after (minutes)"
              hint="If nobody acknowledged the first message."
              error={error('escalate_after')}
            >
              <Input
                type="number"
                required
                min={1}
                max={1440}
                value={form.escalate_after}
                onChange={(event) => set({ escalate_after: event.target.value })}
              />
            </Field>
          )}
        </>
      )}
    </fieldset>
  )
}

const DIGESTS: { value: Form['digest']; label: string }[] = [
  { value: 'none', label: 'A message for each incident' },
  { value: 'hourly', label: 'A digest every hour' },
  { value: 'daily', label: 'A digest every day at 08:00' },
]

function Preview({ preview: { days, is_complete, data } }: { preview: AlertPreview }) {
  if (data.length === 0)
    return <p className="text-sm text-soft">No failure in the last {days} days matches this rule.</p>
  return (
    <section className="flex flex-col gap-2 text-sm">
      <h3 className="font-semibold">
        {is_complete
          ? plural(data.length, `1 failure in the last ${days} days`, (n) => `${n} failures in the last ${days} days`)
          : `${data.length} or more failures in the last ${days} days`}
      </h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <ul tabIndex={0} className="flex max-h-44 flex-col gap-1 overflow-y-auto rounded-md border border-line p-3">
        {data.map(({ event_id, occurred, name, record_type, state }) => (
          <li key={event_id} className="flex flex-wrap justify-between gap-x-3">
            <Code>
              {name} {record_type}
            </Code>
            <span className="text-faint">
              {STATE_DISPLAY[state].label}, <Time at={occurred} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

const formOf = (rule?: AlertRule, channel?: Channel): Form => ({
  name: rule?.name ?? (channel ? `All monitors: ${channel.name}`.slice(0, 250) : ''),
  channels: rule?.channels ?? (channel ? [channel.id] : []),
  groups: rule?.groups ?? [],
  name_pattern: rule?.name_pattern ?? '',
  tags: rule?.tags?.join(', ') ?? '',
  record_types: rule?.record_types ?? [],
  states: rule?.states ?? [],
  delay: String(rule?.delay ?? 10),
  notify_recovery: rule?.notify_recovery ?? true,
  first_results: rule?.first_results ?? false,
  repeat_every: rule?.repeat_every == null ? '' : String(rule.repeat_every),
  escalate_after: String(rule?.escalate_after ?? 30),
  escalation_channel: rule?.escalation_channel ?? '',
  quiet_from: rule?.quiet_hours?.from ?? '',
  quiet_until: rule?.quiet_hours?.until ?? '',
  timezone: rule?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
  digest: rule?.digest ?? 'none',
})

const orNull = <T,>(list: T[]): T[] | null => (list.length === 0 ? null : list)

const ruleOf = (form: Form): NewAlertRule => ({
  name: form.name,
  channels: form.channels,
  groups: orNull(form.groups),
  name_pattern: form.name_pattern.trim() === '' ? null : form.name_pattern.trim(),
  tags: orNull(form.tags.split(/[\s,]+/).filter((tag) => tag !== '')),
  record_types: orNull(form.record_types as MonitorRecordType[]),
  states: orNull(form.states) as NewAlertRule['states'] & (string[] | null),
  delay: Number(form.delay),
  notify_recovery: form.notify_recovery,
  first_results: form.first_results,
  repeat_every: form.digest !== 'none' || form.repeat_every === '' ? null : Number(form.repeat_every),
  ...(form.digest !== 'none' || form.escalation_channel === ''
    ? { escalate_after: null, escalation_channel: null }
    : { escalate_after: Number(form.escalate_after), escalation_channel: form.escalation_channel }),
  quiet_hours:
    form.quiet_from === '' && form.quiet_until === '' ? null : { from: form.quiet_from, until: form.quiet_until },
  timezone: form.timezone,
  digest: form.digest,
})
