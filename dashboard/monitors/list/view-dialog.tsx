import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { View } from '#contract/views.ts'
import { FormDialog } from '../../ui/dialog.tsx'
import { Field, Input } from '../../ui/field.tsx'
import { fieldError, ProblemNote } from '../../ui/problem.tsx'
import { useToast } from '../../ui/toast.tsx'

type NameProps = {
  title: string
  initialName: string
  send: (name: string) => Promise<View>
  onSaved: (view: View) => Promise<unknown>
  onClose: () => void
}

export function NameDialog({ title, initialName, send, onSaved, onClose }: NameProps) {
  const toast = useToast()
  const [name, setName] = useState(initialName)
  const save = useMutation({
    mutationFn: () => send(name.trim()),
    onSuccess: async (view) => {
      await onSaved(view)
      toast.done('View saved.')
      onClose()
    },
  })
  return (
    <FormDialog
      title={title}
      submitLabel="Save"
      isBusy={save.isPending}
      onSubmit={() => save.mutate()}
      onClose={onClose}
    >
      <Field label="Name" hint="Everyone in the organization sees the view." error={fieldError(save.error, 'name')}>
        <Input required autoFocus maxLength={250} value={name} onChange={(event) => setName(event.target.value)} />
      </Field>
      {save.error && <ProblemNote problem={save.error} fields={['name']} />}
    </FormDialog>
  )
}
