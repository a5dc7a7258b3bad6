import { type MouseEvent, memo, useRef } from 'react'
import type { MonitorResponse } from '#contract/monitors.ts'
import { cx } from '../ui/class-names.ts'
import { State } from '../ui/state.tsx'
import { Cells, type TableModel, type TableRow } from '../ui/table.tsx'
import { type ListContext, MenuButton, RowTick } from './list-columns.tsx'
import { useFlash } from './list-highlight.ts'
import { Name, Since } from './list-parts.tsx'
import { monitorHref } from './list-query.ts'

export type RowProps = {
  row: TableRow<MonitorResponse>
  list: ListContext
  /** With other columns the cells are others. */
  columns: ReturnType<TableModel<MonitorResponse>['getVisibleLeafColumns']>
  isCompact: boolean
  at: number
  isTicked: boolean
}

/** Whether the press was meant for the row, not for a control in it. */
const isForRow = ({ target }: MouseEvent): boolean => !(target as HTMLElement).closest('a, button, input, label')

export const Row = memo(function Row({ row, list, isCompact, at, isTicked }: RowProps) {
  const element = useRef<HTMLTableRowElement>(null)
  useFlash(element, row.original)
  return (
    <tr
      ref={element}
      aria-rowindex={at + 2}
      onClick={(event) => isForRow(event) && list.onOpen(row.id, event)}
      className={cx(
        'scroll-mt-24 cursor-pointer lg:scroll-mt-10',
        isCompact ? 'h-9' : 'h-12',
        isTicked ? 'bg-accent-wash' : 'hover:bg-sunken/60',
      )}
    >
      <Cells row={row} />
    </tr>
  )
})

/** The same monitor in two lines, for narrow screens. */
export const Lines = memo(function Lines({ row, list, isCompact, at, isTicked }: RowProps) {
  const element = useRef<HTMLLIElement>(null)
  const monitor = row.original
  useFlash(element, monitor)
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the link in it does the same with the keyboard
    <li
      ref={element}
      aria-posinset={at + 1}
      onClick={(event) => isForRow(event) && list.onOpen(row.id, event)}
      className={cx(
        'flex items-center gap-1 border-line px-1.5 not-last:border-b',
        isCompact ? 'h-13' : 'h-16',
        isTicked && 'bg-accent-wash',
      )}
    >
      {list.canChange && <RowTick row={row} isMatching={list.isMatching} />}
      <div className={cx('min-w-0 flex-1', !list.canChange && 'pl-2.5')}>
        <a
          href={monitorHref(row.id)}
          onClick={(event) => list.onOpen(row.id, event)}
          className="block truncate rounded-sm"
        >
          <Name monitor={monitor} />
        </a>
        <p className="flex items-center gap-2 text-xs text-faint">
          <State state={monitor.state} isActive={monitor.is_active} />
          <span className="font-medium text-soft">{monitor.record_type}</span>
          <span className="truncate">
            <Since at={monitor.last_checked} now={list.now} />
          </span>
        </p>
      </div>
      <MenuButton monitor={monitor} onMenu={list.onMenu} />
    </li>
  )
})
