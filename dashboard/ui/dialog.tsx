import { AlertDialog } from '@base-ui/react/alert-dialog'
import { Dialog as Base } from '@base-ui/react/dialog'
import { X } from 'lucide-react'
import { type FormEvent, type ReactNode, useId, useRef, useState } from 'react'
import { Button } from './button.tsx'
import { cx } from './class-names.ts'
import { ProblemNote } from './problem.tsx'

/** A dialog over a dialog renders its own backdrop. It has the same z-index as the frame, so that it covers the dialog below. */
const backdrop =
  'fixed inset-0 z-50 bg-black/35 transition-opacity duration-150 data-[starting-style]:opacity-0 data-[ending-style]:opacity-0 dark:bg-black/60'
const frame =
  'popup fixed top-1/2 left-1/2 z-50 flex max-h-[calc(100dvh-2rem)] w-[calc(100vw-2rem)] -translate-x-1/2 -translate-y-1/2 flex-col rounded-lg border border-line bg-raised shadow-pop'

type DialogProps = {
  isOpen: boolean
  /** Without it the user cannot close the dialog. */
  onClose?: () => void
  title: ReactNode
  description?: ReactNode
  isWide?: boolean
  /** A click outside does not close the dialog. */
  isPersistent?: boolean
  /** Buttons, the primary one last. */
  footer?: ReactNode
  children: ReactNode
}

/** Asks before Escape, the X or a click outside discards a form that was changed. */
export function Dialog({ isOpen, onClose, title, description, isWide, isPersistent, footer, children }: DialogProps) {
  const body = useRef<HTMLDivElement>(null)
  const isChanged = useRef(false)
  const [isAsking, setAsking] = useState(false)
  const close = () => {
    if (isChanged.current && body.current?.querySelector('form')) setAsking(true)
    else onClose?.()
  }
  return (
    <Base.Root open={isOpen} onOpenChange={(open) => !open && close()} disablePointerDismissal={isPersistent ?? false}>
      <Base.Portal>
        <Base.Backdrop forceRender className={backdrop} />
        <Base.Popup
          // On a touch screen a focused field opens the keyboard, which covers the dialog.
          initialFocus={(type) => (type === 'touch' ? true : firstFocus(body.current))}
          className={cx(frame, isWide ? 'max-w-3xl' : 'max-w-md')}
        >
          <header className="flex items-start gap-4 border-b border-line px-5 py-4">
            <div className="min-w-0 flex-1">
              <Base.Title className="text-base font-semibold">{title}</Base.Title>
              {description && <Base.Description className="mt-0.5 text-sm text-faint">{description}</Base.Description>}
            </div>
            {onClose && (
              <Base.Close
                render={
                  <Button variant="quiet" size="sm" isSquare aria-label="Close">
                    <X />
                  </Button>
                }
              />
            )}
          </header>
          {/* biome-ignore lint/a11y/noStaticElementInteractions: it observes the fields */}
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: the keyboard clicks these elements too */}
          <div
            ref={body}
            className="min-h-0 flex-1 overflow-y-auto px-5 py-4"
            onInput={() => {
              isChanged.current = true
            }}
            onClick={({ target }) => {
              if ((target as Element).closest?.(CHOICES)) isChanged.current = true
            }}
          >
            {children}
          </div>
          {footer && (
            <footer className="flex flex-wrap justify-end gap-2 border-t border-line px-5 py-3.5">{footer}</footer>
          )}
        </Base.Popup>
        <Confirm
          isOpen={isAsking}
          onClose={() => setAsking(false)}
          title="Discard your changes?"
          cancelLabel="Keep editing"
          confirmLabel="Discard"
          isDangerous
          onConfirm={async () => onClose?.()}
        >
          Your input will be lost.
        </Confirm>
      </Base.Portal>
    </Base.Root>
  )
}

/** Elements whose click changes a form. Options of a list are in a portal; React passes their clicks on to the dialog. */
const CHOICES = '[role=checkbox], [role=switch], [role=radio], [role=option]'

const FIELDS = 'input:enabled:not([tabindex="-1"]), textarea:enabled, [role=combobox], [role=checkbox], [role=switch]'

/** The element that has the focus, else the first field. `true` leaves the choice to the dialog. */
function firstFocus(body: HTMLElement | null): HTMLElement | true {
  if (body?.contains(document.activeElement)) return document.activeElement as HTMLElement
  return body?.querySelector<HTMLElement>(FIELDS) ?? true
}

type ConfirmProps = {
  isOpen: boolean
  onClose: () => void
  title: string
  /** What happens, and whether it can be undone. */
  children: ReactNode
  /** The button, for example "Delete monitor". */
  confirmLabel: string
  cancelLabel?: string
  isDangerous?: boolean
  /** The dialog closes when it resolves, and shows the error when it rejects. */
  onConfirm: () => Promise<unknown>
}

/** Asks for confirmation before an action that cannot be undone. */
export function Confirm({
  isOpen,
  onClose,
  title,
  children,
  confirmLabel,
  cancelLabel = 'Cancel',
  isDangerous,
  onConfirm,
}: ConfirmProps) {
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<unknown>()
  const close = () => {
    setProblem(undefined)
    onClose()
  }
  const confirm = async () => {
    setBusy(true)
    setProblem(undefined)
    try {
      await onConfirm()
      close()
    } catch (error) {
      setProblem(error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <AlertDialog.Root open={isOpen} onOpenChange={(open) => !open && close()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop forceRender className={backdrop} />
        <AlertDialog.Popup className={cx(frame, 'max-w-sm gap-2 p-5')}>
          <AlertDialog.Title className="text-base font-semibold">{title}</AlertDialog.Title>
          <AlertDialog.Description render={<div />} className="text-sm text-soft">
            {children}
          </AlertDialog.Description>
          {problem !== undefined && <ProblemNote problem={problem} />}
          <div className="mt-3 flex justify-end gap-2">
            <AlertDialog.Close render={<Button>{cancelLabel}</Button>} />
            <Button variant={isDangerous ? 'danger' : 'primary'} isBusy={isBusy} onClick={confirm}>
              {confirmLabel}
            </Button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}

type FormDialogProps = {
  columns?: 1 | 2
  title: string
  description?: ReactNode
  submitLabel: string
  isBusy?: boolean
  isWide?: boolean
  /** Buttons before Cancel. */
  extraActions?: ReactNode
  onSubmit: () => void
  onClose: () => void
  children: ReactNode
}

/** A dialog with a form, a Cancel and a submit button. A click outside does not close it. */
export function FormDialog({
  columns = 1,
  submitLabel,
  isBusy = false,
  extraActions,
  onSubmit,
  onClose,
  children,
  ...rest
}: FormDialogProps) {
  const formId = useId()
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onSubmit()
  }
  return (
    <Dialog
      isOpen
      isPersistent
      onClose={onClose}
      {...rest}
      footer={
        <>
          {extraActions}
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" form={formId} isBusy={isBusy}>
            {submitLabel}
          </Button>
        </>
      }
    >
      <form id={formId} onSubmit={submit} className={cx('grid gap-5', columns === 2 && 'sm:grid-cols-2')}>
        {children}
      </form>
    </Dialog>
  )
}
