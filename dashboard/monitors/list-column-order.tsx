import { ArrowDown, ArrowUp } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import type { ColumnId } from './list-appearance.ts'

type OrderProps = {
  columns: readonly { id: string; label: string }[]
  onOrder: (columns: readonly ColumnId[]) => void
  onClose: () => void
}

/** Moves columns of the list; the list behind it shows each step. */
export function ColumnOrder({ columns, onOrder, onClose }: OrderProps) {
  const [said, setSaid] = useState('')
  const move = (from: number, to: number) => {
    const { label } = columns[from]!
    const moved = columns.toSpliced(from, 1).toSpliced(to, 0, columns[from]!)
    onOrder(moved.map((column) => column.id as ColumnId))
    setSaid(`${label} is column ${to + 1} of ${columns.length}.`)
  }
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="Order of columns"
      description="The first one is on the left."
      footer={
        <Button variant="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <ol className="divide-y divide-line rounded-md border border-line">
        {columns.map(({ id, label }, at) => (
          <li key={id} className="flex items-center gap-1 py-1 pr-1 pl-3">
            <span className="min-w-0 flex-1 truncate text-sm">{label}</span>
            <Step label={`Move ${label} up`} isOff={at === 0} onPress={() => move(at, at - 1)}>
              <ArrowUp />
            </Step>
            <Step label={`Move ${label} down`} isOff={at === columns.length - 1} onPress={() => move(at, at + 1)}>
              <ArrowDown />
            </Step>
          </li>
        ))}
      </ol>
      <p aria-live="polite" className="sr-only">
        {said}
      </p>
    </Dialog>
  )
}

type StepProps = { label: string; isOff: boolean; onPress: () => void; children: ReactNode }

/** Keeps the focus at the end of the list too, where it does nothing. */
const Step = ({ label, isOff, onPress, children }: StepProps) => (
  <Button
    variant="quiet"
    size="sm"
    isSquare
    aria-label={label}
    aria-disabled={isOff || undefined}
    onClick={() => !isOff && onPress()}
  >
    {children}
  </Button>
)
