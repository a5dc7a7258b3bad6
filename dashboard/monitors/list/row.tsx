import { type MouseEvent, memo, type RefObject, useEffect, useRef } from 'react'
import type { MonitorResponse } from '#contract/monitors.ts'
import { cx } from '../../ui/class-names.ts'
import { State } from '../../ui/state.tsx'
import { Cells, type TableModel, type TableRow } from '../../ui/table.tsx'
import { isCheckLate, stateNote } from '../state-note.ts'
import { type ListContext, MenuButton, RowCheckbox } from './columns.tsx'
import { Name, TimeAgo } from './parts.tsx'
import { monitorHref } from './query.ts'

export type RowProps = {
  row: TableRow<MonitorResponse>
  list: ListContext
  /** So that a change of columns renders the row again. */
  columns: ReturnType<TableModel<MonitorResponse>['getVisibleLeafColumns']>
  isCompact: boolean
  index: number
  isSelected: boolean
}

/** Whether the click was on the row and not on a control in it. */
const isRowClick = ({ target }: MouseEvent): boolean => !(target as HTMLElement).closest('a, button, input, label')

export const Row = memo(function Row({ row, list, isCompact, index, isSelected }: RowProps) {
  const element = useRef<HTMLTableRowElement>(null)
  useHighlight(element, row.original)
  return (
    <tr
      ref={element}
      aria-rowindex={index + 2}
      onClick={(event) => isRowClick(event) && list.onOpen(row.id, event)}
      className={cx(
        'scroll-mt-24 cursor-pointer lg:scroll-mt-10',
        isCompact ? 'h-9' : 'h-12',
        isSelected ? 'bg-accent-wash' : 'hover:bg-sunken/60',
      )}
    >
      <Cells row={row} />
    </tr>
  )
})

/** A monitor in two lines, for narrow screens. */
export const ListItem = memo(function ListItem({ row, list, isCompact, index, isSelected }: RowProps) {
  const element = useRef<HTMLLIElement>(null)
  const monitor = row.original
  useHighlight(element, monitor)
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the link in it does the same with the keyboard
    <li
      ref={element}
      aria-posinset={index + 1}
      onClick={(event) => isRowClick(event) && list.onOpen(row.id, event)}
      className={cx(
        'flex items-center gap-1 border-line px-1.5 not-last:border-b',
        isCompact ? 'h-13' : 'h-16',
        isSelected && 'bg-accent-wash',
      )}
    >
      {list.canChange && <RowCheckbox row={row} isMatching={list.isMatching} />}
      <div className={cx('min-w-0 flex-1', !list.canChange && 'pl-2.5')}>
        <a
          href={monitorHref(row.id)}
          onClick={(event) => list.onOpen(row.id, event)}
          className="block truncate rounded-sm"
        >
          <Name monitor={monitor} />
        </a>
        <p className="flex items-center gap-2 text-xs text-faint">
          <State state={monitor.state} isActive={monitor.is_active} note={stateNote(monitor, list.now)} />
          <span className="font-medium text-soft">{monitor.record_type}</span>
          <span className="truncate">
            <TimeAgo at={monitor.last_checked} now={list.now} isLate={isCheckLate(monitor, list.now)} />
          </span>
        </p>
      </div>
      <MenuButton monitor={monitor} onMenu={list.onMenu} />
    </li>
  )
})

/** The fields whose changes are highlighted. */
const highlightKey = ({ state, current_value, expected_value, is_active, incidence_count }: MonitorResponse): string =>
  JSON.stringify([state, current_value, expected_value, is_active, incidence_count])

/** Highlights the row for two seconds after its monitor changed. */
export function useHighlight(row: RefObject<HTMLElement | null>, monitor: MonitorResponse): void {
  const key = highlightKey(monitor)
  const previous = useRef(key)
  useEffect(() => {
    if (previous.current === key) return
    previous.current = key
    row.current?.animate([{ backgroundColor: 'var(--accent-wash)' }, { backgroundColor: 'transparent' }], {
      duration: 2_000,
      easing: 'ease-in',
    })
  }, [key, row])
}
