import { type FormEvent, type ReactNode, useId } from 'react'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'

type FormDialogProps = {
  title: string
  description: ReactNode
  /** Of the button that saves. */
  act: string
  isBusy: boolean
  isWide?: boolean
  /** Beside the other buttons, at the start. */
  aside?: ReactNode
  onSave: () => void
  onClose: () => void
  children: ReactNode
}

/** A form that a click beside it does not close. */
export function FormDialog({ act, isBusy, aside, onSave, onClose, children, ...rest }: FormDialogProps) {
  const formId = useId()
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onSave()
  }
  return (
    <Dialog
      isOpen
      isKept
      onClose={onClose}
      {...rest}
      footer={
        <>
          {aside}
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" form={formId} isBusy={isBusy}>
            {act}
          </Button>
        </>
      }
    >
      <form id={formId} onSubmit={submit} className="grid gap-5 sm:grid-cols-2">
        {children}
      </form>
    </Dialog>
  )
}
