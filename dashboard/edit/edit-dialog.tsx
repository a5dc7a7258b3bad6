import { type FormEvent, type ReactNode, useId, useState } from 'react'
import type { Versioned } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { cx } from '../ui/class-names.ts'
import { Dialog } from '../ui/dialog.tsx'
import { FormProblem } from '../ui/problem.tsx'
import { ConflictNote } from './conflict-note.tsx'
import { LoadResource } from './load-resource.tsx'
import { type Edit, type EditOptions, useEdit } from './use-edit.ts'

type FormProps<Resource, Form extends object, Change extends object> = EditOptions<Resource, Form, Change> & {
  /** Without the browser's validation, so that the server reports all errors. */
  noValidate?: boolean
  /** The paths of errors that the fields show; others are listed at the end. */
  paths: readonly string[]
  columns?: 1 | 2
  /** Returns false if the form is not to be sent. */
  beforeSave?: (edit: Edit<Resource, Form, Change>) => boolean
  onSaved: (saved: Resource, change: Change) => unknown
  onClose: () => void
  children: (edit: Edit<Resource, Form, Change>) => ReactNode
}
type EditDialogProps<Resource, Form extends object, Change extends object> = FormProps<Resource, Form, Change> & {
  title: string
  description?: ReactNode
  isWide?: boolean
}

/** A dialog that loads a resource, edits it and saves the changes. */
export function EditDialog<Resource, Form extends object, Change extends object>({
  title,
  description,
  isWide = false,
  ...form
}: EditDialogProps<Resource, Form, Change>) {
  const formId = useId()
  const [isBusy, setBusy] = useState(false)
  return (
    <Dialog
      isOpen
      isPersistent
      onClose={form.onClose}
      title={title}
      description={description}
      isWide={isWide}
      footer={
        <>
          <Button onClick={form.onClose}>Cancel</Button>
          <Button variant="primary" type="submit" form={formId} isBusy={isBusy}>
            Save
          </Button>
        </>
      }
    >
      <LoadResource<Resource> path={form.path}>
        {(opened) => <EditForm {...form} id={formId} opened={opened} onBusy={setBusy} />}
      </LoadResource>
    </Dialog>
  )
}

function EditForm<Resource, Form extends object, Change extends object>({
  id,
  opened,
  onBusy,
  noValidate = false,
  paths,
  columns = 1,
  beforeSave,
  onSaved,
  onClose,
  children,
  ...options
}: FormProps<Resource, Form, Change> & {
  id: string
  opened: Versioned<Resource>
  onBusy: (isBusy: boolean) => void
}) {
  const edit = useEdit(opened, options)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (beforeSave && !beforeSave(edit)) return
    if (!edit.isChanged) return onClose()
    onBusy(true)
    const saved = await edit.save()
    onBusy(false)
    if (!saved) return
    await onSaved(saved, edit.change)
    onClose()
  }
  return (
    <form
      id={id}
      onSubmit={submit}
      noValidate={noValidate}
      className={cx('grid grid-cols-[minmax(0,1fr)] gap-5', columns === 2 && 'sm:grid-cols-2')}
    >
      <ConflictNote {...edit} fields={options.fields} />
      {children(edit)}
      <FormProblem problem={edit.problem} fields={paths} />
    </form>
  )
}
