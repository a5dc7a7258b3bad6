import { ArrowDown, ArrowUp } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import type { ColumnId } from './appearance.ts'

type OrderProps = {
  columns: readonly { id: string; label: string }[]
  onOrder: (columns: readonly ColumnId[]) => void
  onClose: () => void
}

/** Moves columns. The list behind the dialog shows each step. */
export function ColumnOrder({ columns, onOrder, onClose }: OrderProps) {
  const [announcement, setAnnouncement] = useState('')
  const move = (from: number, to: number) => {
    const { label } = columns[from]!
    const moved = columns.toSpliced(from, 1).toSpliced(to, 0, columns[from]!)
    onOrder(moved.map((column) => column.id as ColumnId))
    setAnnouncement(`${label} is column ${to + 1} of ${columns.length}.`)
  }
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="Column order"
      description="The first column is on the left."
      footer={
        <Button variant="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <ol className="divide-y divide-line rounded-md border border-line">
        {columns.map(({ id, label }, index) => (
          <li key={id} className="flex items-center gap-1 py-1 pr-1 pl-3">
            <span className="min-w-0 flex-1 truncate text-sm">{label}</span>
            <Step label={`Move ${label} up`} isAtEnd={index === 0} onClick={() => move(index, index - 1)}>
              <ArrowUp />
            </Step>
            <Step
              label={`Move ${label} down`}
              isAtEnd={index === columns.length - 1}
              onClick={() => move(index, index + 1)}
            >
              <ArrowDown />
            </Step>
          </li>
        ))}
      </ol>
      <p aria-live="polite" className="sr-only">
        {announcement}
      </p>
    </Dialog>
  )
}

type StepProps = { label: string; isAtEnd: boolean; onClick: () => void; children: ReactNode }

/** Not disabled at the ends of the list, so that it keeps the focus. */
const Step = ({ label, isAtEnd, onClick, children }: StepProps) => (
  <Button
    variant="quiet"
    size="sm"
    isSquare
    aria-label={label}
    aria-disabled={isAtEnd || undefined}
    onClick={() => !isAtEnd && onClick()}
  >
    {children}
  </Button>
)
