import { type ReactNode, useState } from 'react'
import { FormDialog } from '../ui/dialog.tsx'
import { FormProblem } from '../ui/problem.tsx'

/** The values of a form, and why it was not saved: the same for a new resource and for a stored one. */
export type FormState<Form> = { form: Form; set: (part: Partial<Form>) => void; problem: unknown }

type NewDialogProps<Form, Created> = {
  title: string
  description?: ReactNode
  submitLabel: string
  isWide?: boolean
  columns?: 1 | 2
  /** The paths of errors that the fields show; others are listed at the end. */
  paths: readonly string[]
  initial: Form | (() => Form)
  create: (form: Form) => Promise<Created>
  onCreated: (created: Created) => unknown
  onClose: () => void
  children: (state: FormState<Form>) => ReactNode
}

/** A dialog with a form that creates a resource. */
export function NewDialog<Form extends object, Created>({
  paths,
  initial,
  create,
  onCreated,
  children,
  ...dialog
}: NewDialogProps<Form, Created>) {
  const [form, setForm] = useState(initial)
  const [problem, setProblem] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const submit = async () => {
    setBusy(true)
    setProblem(undefined)
    try {
      const created = await create(form)
      await onCreated(created)
      dialog.onClose()
    } catch (error) {
      setProblem(error)
    } finally {
      setBusy(false)
    }
  }
  const set = (part: Partial<Form>) => setForm((now) => ({ ...now, ...part }))
  return (
    <FormDialog {...dialog} isBusy={isBusy} onSubmit={() => void submit()}>
      {children({ form, set, problem })}
      <FormProblem problem={problem} fields={paths} />
    </FormDialog>
  )
}
