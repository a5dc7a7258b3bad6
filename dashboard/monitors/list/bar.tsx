import { Download, MoreHorizontal, X } from 'lucide-react'
import { Fragment } from 'react'
import { monitorsText } from '#contract/wording.ts'
import { BULK_ACTIONS, type BulkAction } from '../../jobs/bulk-actions.ts'
import { Button } from '../../ui/button.tsx'
import { Menu, MenuItem, MenuSeparator } from '../../ui/menu.tsx'
import { useIsWide } from '../../ui/use-min-width.ts'

type BarProps = {
  count: number
  /** The number of selected monitors as text; `count` of them are loaded. */
  selectedText: string
  /** Offers to select the rows that are not loaded, after all loaded ones were selected. */
  remaining: Remaining | undefined
  onAction: (act: BulkAction) => void
  onExport: () => void
  onClear: () => void
}

export type Remaining = { total: string | undefined; select: () => void }

/** At the bottom of the screen: actions for the selected monitors. */
export function ListBar(props: BarProps) {
  const { count, selectedText, remaining } = props
  return (
    <>
      <div aria-live="polite" className="sr-only">
        {count > 0 && selectionText(count, selectedText)}
      </div>
      {count > 0 && (
        <section
          aria-label="Selected monitors"
          data-at-foot
          className="pointer-events-none fixed inset-x-0 bottom-4 z-20 flex justify-center px-3 sm:justify-start sm:px-6 lg:left-60 lg:px-8"
        >
          <div className="pointer-events-auto max-w-full rounded-lg border border-edge bg-raised p-1.5 shadow-pop">
            {remaining && <SelectAll count={count} remaining={remaining} />}
            <div className="flex items-center gap-1">
              <SelectionActions {...props} />
            </div>
          </div>
        </section>
      )}
    </>
  )
}

/** Buttons where there is room, otherwise in the menu. */
const BUTTONS = ['check', 'enable', 'disable'] as const
const MENU: readonly (readonly BulkAction[])[] = [
  ['expect', 'replace', 'accept', 'plan'],
  ['tag', 'untag', 'move', 'frequency'],
]

function SelectionActions({ selectedText, onAction, onExport, onClear }: BarProps) {
  const isWide = useIsWide()
  const shown = isWide ? BUTTONS : BUTTONS.slice(0, 1)
  const hidden = BUTTONS.slice(shown.length)
  const item = (act: BulkAction) => {
    const { label, icon, ...rest } = BULK_ACTIONS[act]
    return (
      <MenuItem key={act} icon={icon} isDangerous={'isDangerous' in rest} onSelect={() => onAction(act)}>
        {label}…
      </MenuItem>
    )
  }
  return (
    <>
      <Button variant="quiet" size="sm" isSquare aria-label="Clear selection" onClick={onClear}>
        <X />
      </Button>
      <span className="px-1.5 text-sm font-medium whitespace-nowrap tabular-nums">{selectedText} selected</span>
      <span className="mx-0.5 h-5 w-px bg-line" aria-hidden="true" />
      {shown.map((act) => {
        const { label, icon: Icon } = BULK_ACTIONS[act]
        return (
          <Button key={act} variant="quiet" size="sm" onClick={() => onAction(act)}>
            <Icon /> {label}
          </Button>
        )
      })}
      <Menu
        trigger={
          <Button variant="quiet" size="sm">
            <MoreHorizontal /> More
          </Button>
        }
      >
        {hidden.map(item)}
        {MENU.map((acts) => (
          <Fragment key={acts[0]}>
            {acts.map(item)}
            <MenuSeparator />
          </Fragment>
        ))}
        <MenuItem icon={Download} onSelect={onExport}>
          Export…
        </MenuItem>
        {item('delete')}
      </Menu>
    </>
  )
}

const selectionText = (count: number, selectedText: string) =>
  selectedText === count.toLocaleString() ? `${monitorsText(count)} selected` : `Selected: ${selectedText}`

/** Only loaded rows are selected; a button selects all. */
function SelectAll({ count, remaining: { total, select } }: { count: number; remaining: Remaining }) {
  return (
    <p className="flex flex-wrap items-center gap-x-2 border-b border-line px-1.5 pb-1.5 text-sm text-soft">
      <span className="tabular-nums">Only the first {count.toLocaleString()} monitors are selected.</span>
      <Button variant="quiet" size="sm" onClick={select}>
        Select all {total ?? 'that match'}
      </Button>
    </p>
  )
}
