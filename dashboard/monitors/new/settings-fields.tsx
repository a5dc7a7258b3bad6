import type { Group } from '#contract/groups.ts'
import { Field, Input } from '../../ui/field.tsx'
import { fieldError } from '../../ui/problem.tsx'
import { RadioGroup } from '../../ui/radio-group.tsx'
import { Select, withCurrent } from '../../ui/select.tsx'
import { type MonitorSettings, useGroups, useShortestFrequency } from '../settings.ts'
import { NOTIFY_CHOICES, RESOLUTION_CHOICES, resolutionHint } from '../text.ts'

const NEW = '+'
const FREQUENCIES = [5, 10, 15, 20, 30, 60, 90, 120]

type FieldsProps = { settings: MonitorSettings; onChange: (settings: MonitorSettings) => void; problem: unknown }

/** Group, frequency, resolution and notification: the same for one monitor and for five thousand. */
export function SettingsFields({ settings, onChange, problem }: FieldsProps) {
  const set = (change: Partial<MonitorSettings>) => onChange({ ...settings, ...change })
  const shortest = useShortestFrequency()
  const frequencies = [...new Set([shortest, ...FREQUENCIES.filter((minutes) => minutes > shortest)])]
  return (
    <div className="grid gap-x-8 gap-y-5 sm:grid-cols-2">
      <div className="flex flex-col gap-5">
        <GroupField settings={settings} onChange={set} problem={problem} />
        <Field label="Check interval" error={fieldError(problem, 'frequency')}>
          <Select
            value={String(settings.frequency)}
            options={frequencies.map((minutes) => ({ value: String(minutes), label: `${minutes} minutes` }))}
            onChange={(minutes) => set({ frequency: Number(minutes) })}
          />
        </Field>
        <Field
          label="Answers that count"
          hint={resolutionHint(settings.resolution)}
          error={fieldError(problem, 'resolution')}
        >
          <Select
            value={settings.resolution}
            options={RESOLUTION_CHOICES}
            onChange={(resolution) => set({ resolution })}
          />
        </Field>
      </div>
      <RadioGroup
        label="Webhook notifications"
        value={settings.notify}
        options={NOTIFY_CHOICES}
        onChange={(notify) => set({ notify })}
      />
    </div>
  )
}

function GroupField({
  settings: { group, newGroup },
  onChange,
  problem,
}: {
  settings: MonitorSettings
  onChange: (change: Partial<MonitorSettings>) => void
  problem: unknown
}) {
  const groups = useGroups()
  return (
    <div className="flex flex-col gap-2">
      <Field
        label="Group"
        hint={newGroup === undefined ? 'The group’s webhooks receive the changes.' : undefined}
        error={fieldError(problem, 'group')}
      >
        <Select
          value={newGroup === undefined ? group || defaultSlug(groups) : NEW}
          options={optionsOf(groups, group)}
          onChange={(slug) => onChange(slug === NEW ? { newGroup: '' } : { group: slug, newGroup: undefined })}
        />
      </Field>
      {newGroup !== undefined && (
        <Field
          label="Name of the new group"
          hint="The group is created with the monitors. Attach webhooks to it afterwards."
          error={fieldError(problem, 'name') ?? fieldError(problem, 'slug')}
        >
          <Input
            value={newGroup}
            maxLength={250}
            autoFocus
            onChange={(event) => onChange({ newGroup: event.target.value })}
          />
        </Field>
      )}
    </div>
  )
}

const defaultSlug = (groups: readonly Group[] | undefined) => groups?.find(({ is_default }) => is_default)?.slug ?? ''

/** Includes the selected group even if it is not one of the first hundred. */
function optionsOf(groups: readonly Group[] = [], selected: string) {
  const options = groups.map(({ slug, name }) => ({ value: slug, label: name }))
  return [
    ...(defaultSlug(groups) === '' ? [{ value: '', label: 'Default' }] : []),
    ...withCurrent(options, selected),
    { value: NEW, label: 'New group…' },
  ]
}
