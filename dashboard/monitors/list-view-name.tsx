import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import type { View } from '#contract/views.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { useToast } from '../ui/toast.tsx'

type NameProps = {
  title: string
  given: string
  send: (name: string) => Promise<View>
  onSaved: (view: View) => Promise<unknown>
  onClose: () => void
}

/** Asks for the name of a view. */
export function NameDialog({ title, given, send, onSaved, onClose }: NameProps) {
  const form = useId()
  const toast = useToast()
  const [name, setName] = useState(given)
  const save = useMutation({
    mutationFn: () => send(name.trim()),
    onSuccess: async (view) => {
      await onSaved(view)
      toast.done('View saved.')
      onClose()
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate()
  }
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={title}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" form={form} isBusy={save.isPending}>
            Save
          </Button>
        </>
      }
    >
      <form id={form} onSubmit={submit} className="flex flex-col gap-4">
        <Field label="Name" hint="Everyone in the organization sees the view." error={fieldError(save.error, 'name')}>
          <Input required autoFocus maxLength={250} value={name} onChange={(event) => setName(event.target.value)} />
        </Field>
        {save.error && <ProblemNote problem={save.error} fields={['name']} />}
      </form>
    </Dialog>
  )
}
