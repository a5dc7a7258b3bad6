import { AlertDialog } from '@base-ui/react/alert-dialog'
import { Dialog as Base } from '@base-ui/react/dialog'
import { X } from 'lucide-react'
import { type ReactNode, useRef, useState } from 'react'
import { Button } from './button.tsx'
import { cx } from './class.ts'
import { ProblemNote } from './problem.tsx'

/** Rendered for a dialog over a dialog too, which it then covers: hence the layer of the frame. */
const backdrop =
  'fixed inset-0 z-50 bg-black/35 transition-opacity duration-150 data-[starting-style]:opacity-0 data-[ending-style]:opacity-0 dark:bg-black/60'
const frame =
  'popup fixed top-1/2 left-1/2 z-50 flex max-h-[calc(100dvh-2rem)] w-[calc(100vw-2rem)] -translate-x-1/2 -translate-y-1/2 flex-col rounded-lg border border-line bg-raised shadow-pop'

type DialogProps = {
  isOpen: boolean
  /** Without it the dialog stays until its work is done. */
  onClose?: () => void
  title: ReactNode
  description?: ReactNode
  isWide?: boolean
  /** A click outside does not close it, because input would be lost. */
  isKept?: boolean
  /** Buttons, the main one last. */
  footer?: ReactNode
  children: ReactNode
}

export function Dialog({ isOpen, onClose, title, description, isWide, isKept, footer, children }: DialogProps) {
  const body = useRef<HTMLDivElement>(null)
  return (
    <Base.Root open={isOpen} onOpenChange={(open) => !open && onClose?.()} disablePointerDismissal={isKept ?? false}>
      <Base.Portal>
        <Base.Backdrop forceRender className={backdrop} />
        <Base.Popup
          // On a touch screen a field in focus opens the keyboard, which covers the dialog.
          initialFocus={(type) => (type === 'touch' ? true : firstField(body.current))}
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
                  <Button look="quiet" size="sm" isSquare aria-label="Close">
                    <X />
                  </Button>
                }
              />
            )}
          </header>
          <div ref={body} className="min-h-0 flex-1 overflow-y-auto px-5 py-4">
            {children}
          </div>
          {footer && (
            <footer className="flex flex-wrap justify-end gap-2 border-t border-line px-5 py-3.5">{footer}</footer>
          )}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}

const FIELDS = 'input:enabled:not([tabindex="-1"]), textarea:enabled, [role=combobox], [role=checkbox], [role=switch]'

/** What has the focus already, else the first field. Without one the dialog decides. */
function firstField(body: HTMLElement | null): HTMLElement | true {
  if (body?.contains(document.activeElement)) return document.activeElement as HTMLElement
  return body?.querySelector<HTMLElement>(FIELDS) ?? true
}

type ConfirmProps = {
  isOpen: boolean
  onClose: () => void
  title: string
  /** What will happen, and whether it can be taken back. */
  children: ReactNode
  /** The verb on the button ("Delete monitor"). */
  act: string
  isDangerous?: boolean
  /** Rejects with an ApiProblem, whose sentence is shown; otherwise the dialog closes. */
  onConfirm: () => Promise<unknown>
}

/** Asks before what cannot be taken back. */
export function Confirm({ isOpen, onClose, title, children, act, isDangerous, onConfirm }: ConfirmProps) {
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
            <AlertDialog.Close render={<Button>Cancel</Button>} />
            <Button look={isDangerous ? 'danger' : 'primary'} isBusy={isBusy} onClick={confirm}>
              {act}
            </Button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}
