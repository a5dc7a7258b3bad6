import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { Group } from '#contract/groups.ts'
import type { GroupMonitorsChange, Notify } from '#contract/monitors.ts'
import { monitorsText, plural } from '#contract/wording.ts'
import { api } from '../api.ts'
import { useShortestFrequency } from '../monitors/new-settings.ts'
import { NOTIFY_CHOICES } from '../monitors/new-text.ts'
import { Button } from '../ui/button.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Field } from '../ui/field.tsx'
import { Section } from '../ui/page.tsx'
import { Select } from '../ui/select.tsx'
import { useToast } from '../ui/toast.tsx'
import { groupPath, refreshGroups } from './queries.ts'

const KEEP = 'keep'
const FREQUENCIES = [5, 10, 15, 20, 30, 60, 120]
const NOTIFY_SENTENCES: Record<Notify, string> = {
  immediately: 'Webhooks will receive every change.',
  on_success: 'Webhooks will receive a change only when a monitor becomes valid.',
  after_success: 'Webhooks will receive a change only when a monitor was valid and no longer is.',
}

/** Changes settings of all monitors of the group. Each setting can be kept. */
export function ChangeAllMonitors({ group }: { group: Group }) {
  const queries = useQueryClient()
  const toast = useToast()
  const shortest = useShortestFrequency()
  const [frequency, setFrequency] = useState(KEEP)
  const [notify, setNotify] = useState<Notify | typeof KEEP>(KEEP)
  const [active, setActive] = useState(KEEP)
  const [isConfirming, setConfirming] = useState(false)
  const change: GroupMonitorsChange = {
    ...(frequency === KEEP ? {} : { frequency: Number(frequency) }),
    ...(notify === KEEP ? {} : { notify }),
    ...(active === KEEP ? {} : { is_active: active === 'on' }),
  }
  const isUnchanged = Object.keys(change).length === 0
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isUnchanged) setConfirming(true)
  }
  const save = async () => {
    await api.patch(`${groupPath(group.id)}/monitors`, change)
    setFrequency(KEEP)
    setNotify(KEEP)
    setActive(KEEP)
    toast.done(`${monitorsText(group.monitors)} of ${group.name} changed.`)
    void refreshGroups(queries)
  }
  const keep = { value: KEEP, label: 'Do not change' } as const
  return (
    <Section
      title="Change all monitors"
      hint={plural(
        group.monitors,
        'Applies to the only monitor of the group.',
        (count) => `Applies to all ${count} monitors of the group.`,
      )}
    >
      <form onSubmit={submit} className="flex flex-col gap-4">
        <Field label="Check interval">
          <Select
            value={frequency}
            onChange={setFrequency}
            options={[
              keep,
              ...FREQUENCIES.filter((minutes) => minutes >= shortest).map((minutes) => ({
                value: String(minutes),
                label: `${minutes} minutes`,
              })),
            ]}
          />
        </Field>
        <Field label="Webhook notifications">
          <Select
            value={notify}
            onChange={setNotify}
            options={[keep, ...NOTIFY_CHOICES.map(({ value, label }) => ({ value, label }))]}
          />
        </Field>
        <Field label="Checks">
          <Select
            value={active}
            onChange={setActive}
            options={[keep, { value: 'on', label: 'Enabled' }, { value: 'off', label: 'Disabled' }]}
          />
        </Field>
        <div className="flex justify-end">
          <Button type="submit" disabled={isUnchanged}>
            Change {monitorsText(group.monitors)}
          </Button>
        </div>
      </form>
      <Confirm
        isOpen={isConfirming}
        onClose={() => setConfirming(false)}
        title={`Change ${monitorsText(group.monitors)}?`}
        confirmLabel={`Change ${monitorsText(group.monitors)}`}
        onConfirm={save}
      >
        {changeSentences(change).join(' ')} This overwrites their current settings.
      </Confirm>
    </Section>
  )
}

function changeSentences({ frequency, notify, is_active }: GroupMonitorsChange): string[] {
  return [
    frequency === undefined ? '' : `Zonewatch will check them every ${frequency} minutes.`,
    notify === undefined ? '' : NOTIFY_SENTENCES[notify],
    is_active === undefined
      ? ''
      : is_active
        ? 'All monitors will be enabled and checked.'
        : 'All monitors will be disabled and not checked.',
  ].filter((sentence) => sentence !== '')
}
