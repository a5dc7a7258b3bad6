import { useState } from 'react'
import { monitorsText } from '#contract/wording.ts'
import { Confirm, FormDialog } from '../ui/dialog.tsx'
import { Field, Input } from '../ui/field.tsx'
import { Select } from '../ui/select.tsx'
import { useGroups, useShortestFrequency } from './new-settings.ts'

export type ListDialog = 'move' | 'frequency' | 'delete'

type DialogProps = {
  count: number
  onClose: () => void
  onMove: (group: string, name: string) => void
  onFrequency: (minutes: number) => void
  onDelete: () => void
}

export function ListDialogs({ dialog, ...rest }: DialogProps & { dialog: ListDialog | undefined }) {
  return (
    <>
      {dialog === 'move' && <Move {...rest} />}
      {dialog === 'frequency' && <Frequency {...rest} />}
      <Confirm
        isOpen={dialog === 'delete'}
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

function Move({ count, onClose, onMove }: DialogProps) {
  const groups = useGroups() ?? []
  const [slug, setSlug] = useState('')
  const group = groups.find((candidate) => candidate.slug === slug) ?? groups[0]
  const submit = () => {
    if (!group) return
    onMove(group.slug, group.name)
    onClose()
  }
  return (
    <FormDialog
      title={`Move ${monitorsText(count)}`}
      description="The webhooks of the new group receive their changes from now on."
      submitLabel="Move"
      onSubmit={submit}
      onClose={onClose}
    >
      <Field label="Group">
        <Select
          value={group?.slug ?? ''}
          onChange={setSlug}
          options={groups.map(({ slug, name }) => ({ value: slug, label: name }))}
        />
      </Field>
    </FormDialog>
  )
}

function Frequency({ count, onClose, onFrequency }: DialogProps) {
  const shortest = useShortestFrequency()
  const [text, setText] = useState('10')
  const minutes = Number(text)
  const isValid = Number.isInteger(minutes) && minutes >= shortest && minutes <= 120
  const submit = () => {
    if (!isValid) return
    onFrequency(minutes)
    onClose()
  }
  return (
    <FormDialog
      title={`Set the check interval of ${monitorsText(count)}`}
      submitLabel="Set"
      onSubmit={submit}
      onClose={onClose}
    >
      <Field
        label="Check interval in minutes"
        hint={`${shortest} to 120.`}
        error={text !== '' && !isValid ? `Enter a whole number from ${shortest} to 120.` : undefined}
      >
        <Input inputMode="numeric" value={text} onChange={(event) => setText(event.currentTarget.value)} />
      </Field>
    </FormDialog>
  )
}
