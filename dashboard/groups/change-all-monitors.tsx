import { type FormEvent, lazy, Suspense, useState } from 'react'
import type { Group } from '#contract/groups.ts'
import type { GroupMonitorsChange, Notify } from '#contract/monitors.ts'
import { monitorsText, plural } from '#contract/wording.ts'
import { useShortestFrequency } from '../monitors/settings.ts'
import { NOTIFY_CHOICES } from '../monitors/text.ts'
import { Button } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import { Section } from '../ui/page.tsx'
import { Select } from '../ui/select.tsx'

const KEEP = 'keep'
const FREQUENCIES = [5, 10, 15, 20, 30, 60, 120]

const JobDialog = lazy(async () => ({ default: (await import('../jobs/bulk-action-dialog.tsx')).JobDialog }))

/** Changes settings of all monitors of the group by a job. Each setting can be kept. */
export function ChangeAllMonitors({ group }: { group: Group }) {
  const shortest = useShortestFrequency()
  const [frequency, setFrequency] = useState(KEEP)
  const [notify, setNotify] = useState<Notify | typeof KEEP>(KEEP)
  const [active, setActive] = useState(KEEP)
  const [isOpen, setOpen] = useState(false)
  const change: GroupMonitorsChange = {
    ...(frequency === KEEP ? {} : { frequency: Number(frequency) }),
    ...(notify === KEEP ? {} : { notify }),
    ...(active === KEEP ? {} : { is_active: active === 'on' }),
  }
  const isUnchanged = Object.keys(change).length === 0
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isUnchanged) setOpen(true)
  }
  const close = (isStarted: boolean) => {
    setOpen(false)
    if (!isStarted) return
    setFrequency(KEEP)
    setNotify(KEEP)
    setActive(KEEP)
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
      {isOpen && (
        <Suspense>
          <JobDialog
            title="Change all monitors"
            parameters={{ action: 'update', change }}
            target={{ filter: { group: group.slug } }}
            onClose={close}
          />
        </Suspense>
      )}
    </Section>
  )
}
