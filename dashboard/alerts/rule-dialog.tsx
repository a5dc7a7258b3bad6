import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { FAILING_STATES, type FailingState } from '#contract/alert-states.ts'
import type { AlertPreview, AlertRule, AlertRuleChange, Channel } from '#contract/alerts.ts'
import type { Group } from '#contract/groups.ts'
import { type MonitorRecordType, RECORD_TYPES } from '#contract/record-types.ts'
import { plural } from '#contract/wording.ts'
import { ZONE_ALERT_LEVELS } from '#contract/zone-codes.ts'
import { api } from '../api.ts'
import { EditDialog } from '../edit/edit-dialog.tsx'
import { type FormState, NewDialog } from '../edit/new-dialog.tsx'
import { wholeOf } from '../edit/rebase.ts'
import { Button } from '../ui/button.tsx'
import { Field, Input, Switch } from '../ui/field.tsx'
import { Code } from '../ui/page.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { Select } from '../ui/select.tsx'
import { STATE_DISPLAY } from '../ui/state.tsx'
import { Time } from '../ui/time.tsx'
import { groupsQuery } from '../webhooks/queries.ts'
import { CheckboxList, NamePatternField } from './filter-fields.tsx'
import { channelsQuery } from './queries.ts'
import { DIGESTS, fieldsOf, formOf, NO_CHANNEL, type RuleForm, ZONE_LEVEL_LABELS } from './rule-form.ts'

const PATHS = [
  ...['name', 'channels', 'groups', 'name_pattern', 'tags', 'record_types', 'states', 'delay', 'digest', 'timezone'],
  'zone_levels',
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
  const queries = useQueryClient()
  const { data: channels } = useQuery(channelsQuery)
  const { data: groups } = useQuery(groupsQuery)
  const fields = fieldsOf({
    channel: (id) => channels?.data.find((each) => each.id === id)?.name ?? id,
    group: (id) => groups?.data.find((each) => each.id === id)?.name ?? id,
  })
  const shared = {
    ...({ columns: 2, isWide: true, paths: PATHS, onClose } as const),
    description: 'Which failures are sent to which channels. Empty filters match everything.',
  }
  const onDone = () => void queries.invalidateQueries({ queryKey: ['alert rules'] })
  const children = (state: FormState<RuleForm>) => (
    <RuleFields {...state} body={wholeOf(fields, state.form)} channels={channels?.data} groups={groups?.data} />
  )
  if (!rule)
    return (
      <NewDialog
        {...shared}
        title="New alert rule"
        submitLabel="Create rule"
        initial={() => formOf(undefined, channel)}
        create={(form: RuleForm) => api.post('/alert-rules', wholeOf(fields, form))}
        onCreated={onDone}
      >
        {children}
      </NewDialog>
    )
  return (
    <EditDialog
      {...shared}
      title="Edit alert rule"
      path={`/alert-rules/${rule.id}`}
      fields={fields}
      formOf={(stored: AlertRule) => formOf(stored)}
      onSaved={onDone}
    >
      {children}
    </EditDialog>
  )
}

type FieldsProps = FormState<RuleForm> & {
  body: AlertRuleChange
  channels: Channel[] | undefined
  groups: readonly Group[] | undefined
}

function RuleFields({ form, set, problem, body, channels, groups }: FieldsProps) {
  return (
    <>
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
        options={channels?.map(({ id, name }) => ({ value: id, label: name }))}
        selected={form.channels}
        onChange={(chosen) => set({ channels: chosen })}
        error={fieldError(problem, 'channels')}
      />
      <CheckboxList
        label="Groups"
        hint="Leave empty for all groups."
        options={groups?.map(({ id, name }) => ({ value: id, label: name }))}
        selected={form.groups}
        onChange={(chosen) => set({ groups: chosen })}
        error={fieldError(problem, 'groups')}
      />
      <CheckboxList
        label="States"
        hint="Leave empty for all failures."
        options={FAILING_STATES.map((state) => ({ value: state, label: STATE_DISPLAY[state].label }))}
        selected={form.states}
        onChange={(chosen) => set({ states: chosen as FailingState[] })}
        error={fieldError(problem, 'states')}
      />
      <CheckboxList
        label="Record types"
        hint="Leave empty for all types."
        options={RECORD_TYPES.map((type) => ({ value: type, label: type }))}
        selected={form.record_types}
        onChange={(chosen) => set({ record_types: chosen as MonitorRecordType[] })}
        error={fieldError(problem, 'record_types')}
      />
      <CheckboxList
        label="Zones"
        hint={
          form.groups.length > 0 || form.tags.trim() !== ''
            ? 'Zones have no groups and no tags: this rule applies to no zones.'
            : 'The health of zones that is sent. Leave empty for no zones.'
        }
        options={ZONE_ALERT_LEVELS.map((level) => ({ value: level, label: ZONE_LEVEL_LABELS[level] }))}
        selected={form.zone_levels}
        onChange={(chosen) => set({ zone_levels: chosen as RuleForm['zone_levels'] })}
        error={fieldError(problem, 'zone_levels')}
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
        channels={channels?.filter(({ id }) => !form.channels.includes(id)) ?? []}
        problem={problem}
      />
      <RulePreview body={body} />
    </>
  )
}

/** The failures of the last days that the rule matches. */
function RulePreview({ body }: { body: AlertRuleChange }) {
  const { groups, name_pattern, tags, record_types, states, delay, first_results } = body
  const filters = { groups, name_pattern, tags, record_types, states, delay, first_results }
  const preview = useMutation({ mutationFn: () => api.post<AlertPreview>('/alert-rules/preview', filters) })
  return (
    <div aria-live="polite" className="flex flex-col items-start gap-3 sm:col-span-2">
      <Button size="sm" isBusy={preview.isPending} onClick={() => preview.mutate()}>
        Preview
      </Button>
      {preview.error && <ProblemNote problem={preview.error} />}
      {preview.data && (
        <div key={preview.submittedAt} ref={reveal} className="w-full">
          <Preview preview={preview.data} />
        </div>
      )}
    </div>
  )
}

/** Scrolls to a new preview, which may be outside of the visible area. */
const reveal = (element: HTMLElement | null): void => element?.scrollIntoView({ block: 'nearest' })

type RemindersProps = {
  form: RuleForm
  set: (change: Partial<RuleForm>) => void
  channels: Channel[]
  problem: unknown
}

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
