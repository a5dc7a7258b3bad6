import { type FormEvent, useId, useState } from 'react'
import { plural } from '#contract/wording.ts'
import { Button } from '../ui/button.tsx'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { Field, Input } from '../ui/field.tsx'
import { Select } from '../ui/select.tsx'
import { useGroups, useShortestFrequency } from './new-settings.ts'

export type Asking = 'move' | 'frequency' | 'delete'

const monitorsText = (count: number) => plural(count, '1 monitor', (number) => `${number} monitors`)

type AskProps = {
  count: number
  onClose: () => void
  onMove: (group: string, name: string) => void
  onFrequency: (minutes: number) => void
  onDelete: () => void
}

/** What has to be known, or meant, before it is done to `count` monitors. */
export function ListDialogs({ asking, ...rest }: AskProps & { asking: Asking | undefined }) {
  return (
    <>
      {asking === 'move' && <Move {...rest} />}
      {asking === 'frequency' && <Frequency {...rest} />}
      <Confirm
        isOpen={asking === 'delete'}
        onClose={rest.onClose}
        title={`Delete ${monitorsText(rest.count)}?`}
        confirmLabel={`Delete ${monitorsText(rest.count)}`}
        isDangerous
        onConfirm={async () => rest.onDelete()}
      >
        {rest.count === 1
          ? 'Zonewatch stops checking it and deletes its event history.'
          : 'Zonewatch stops checking them and deletes their event history.'}{' '}
        You cannot undo this. To keep the history, disable instead.
      </Confirm>
    </>
  )
}

function Move({ count, onClose, onMove }: AskProps) {
  const form = useId()
  const groups = useGroups() ?? []
  const [chosen, setChosen] = useState('')
  const group = groups.find(({ slug }) => slug === chosen) ?? groups[0]
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!group) return
    onMove(group.slug, group.name)
    onClose()
  }
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={`Move ${monitorsText(count)}`}
      description="The webhooks of the new group receive their changes from now on."
      footer={<Buttons form={form} act="Move" onClose={onClose} />}
    >
      <form id={form} onSubmit={submit}>
        <Field label="Group">
          <Select
            value={group?.slug ?? ''}
            onChange={setChosen}
            options={groups.map(({ slug, name }) => ({ value: slug, label: name }))}
          />
        </Field>
      </form>
    </Dialog>
  )
}

function Frequency({ count, onClose, onFrequency }: AskProps) {
  const form = useId()
  const least = useShortestFrequency()
  const [text, setText] = useState('10')
  const minutes = Number(text)
  const isRight = Number.isInteger(minutes) && minutes >= least && minutes <= 120
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isRight) return
    onFrequency(minutes)
    onClose()
  }
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={`Set the check interval of ${monitorsText(count)}`}
      footer={<Buttons form={form} act="Set" onClose={onClose} />}
    >
      <form id={form} onSubmit={submit} noValidate>
        <Field
          label="Check interval in minutes"
          hint={`${least} to 120.`}
          error={text !== '' && !isRight ? `Enter a whole number from ${least} to 120.` : undefined}
        >
          <Input inputMode="numeric" value={text} onChange={(event) => setText(event.currentTarget.value)} />
        </Field>
      </form>
    </Dialog>
  )
}

const Buttons = ({ form, act, onClose }: { form: string; act: string; onClose: () => void }) => (
  <>
    <Button onClick={onClose}>Cancel</Button>
    <Button variant="primary" type="submit" form={form}>
      {act}
    </Button>
  </>
)
