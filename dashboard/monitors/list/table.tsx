import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react'
import type { MonitorResponse } from '#contract/monitors.ts'
import { TableFrame, type TableRow } from '../../ui/table.tsx'
import { useIsWide } from '../../ui/use-min-width.ts'
import type { ListAppearance } from './appearance.ts'
import { SelectAllCheckbox, tableMinWidth } from './columns.tsx'
import type { ListModel } from './model.ts'
import { ListItem, Row, type RowProps } from './row.tsx'
import type { MonitorList } from './rows.ts'

const ROW_PX = { comfortable: 48, compact: 36 }
const LIST_ITEM_PX = { comfortable: 64, compact: 52 }
/** Placeholder rows after the loaded ones. */
const PLACEHOLDER_ROWS = 20
const RANGE_STEP = 20

type TableProps = {
  list: MonitorList
  model: ListModel
  appearance: ListAppearance
}

/** Renders the visible rows, with space for the others. The page itself scrolls. */
export function ListTable({ list: { rows: loaded, next, show }, model, appearance }: TableProps) {
  const { table, context } = model
  const { rows } = table.getRowModel()
  const isWide = useIsWide()
  const box = useRef<HTMLDivElement>(null)
  const size = (isWide ? ROW_PX : LIST_ITEM_PX)[appearance.density]
  const count = loaded.length + (next === undefined ? 0 : PLACEHOLDER_ROWS)
  const position = usePosition(box)
  const virtual = useWindowVirtualizer({
    count,
    estimateSize: () => size,
    overscan: 8,
    scrollMargin: position.top,
    getItemKey: (index) => rows[index]?.id ?? index,
  })
  useLayoutEffect(() => virtual.measure(), [size])
  const items = virtual.getVirtualItems()
  const first = items[0]?.index ?? 0
  const last = items.at(-1)?.index ?? 0
  // In steps, so that scrolling by a row is key for the rows only.
  const from = first - (first % RANGE_STEP)
  const to = last - (last % RANGE_STEP) + RANGE_STEP
  useEffect(() => show(from, to), [show, from, to])
  const propsOf = (row: TableRow<MonitorResponse>, index: number): RowProps => ({
    row,
    list: context,
    columns: table.getVisibleLeafColumns(),
    isCompact: appearance.density === 'compact',
    index,
    isSelected: context.isMatching || row.getIsSelected(),
  })
  const above = first * size
  const below = Math.max(0, count - 1 - last) * size
  if (!isWide) {
    return (
      <>
        {context.canChange && (
          <div className="flex h-10 items-center gap-1 border-b border-line px-1.5 text-xs text-faint">
            <SelectAllCheckbox table={table} list={context} />
            <span aria-hidden="true">Select all</span>
          </div>
        )}
        <div ref={box}>
          <ul aria-label="Monitors" style={{ paddingTop: above, paddingBottom: below }}>
            {items.map(({ index, key }) => {
              const row = rows[index]
              return row ? (
                <ListItem key={key} {...propsOf(row, index)} />
              ) : (
                <li key={key} style={{ height: size }} className="px-4 pt-5">
                  <div className="skeleton h-5 w-3/4" />
                </li>
              )
            })}
          </ul>
        </div>
      </>
    )
  }
  // Only selected columns can be wider than the screen. The header is then not sticky.
  const isScrolled = appearance.columns !== undefined && position.width < tableMinWidth(table)
  return (
    <div ref={box} className={isScrolled ? 'overflow-x-auto' : undefined}>
      <TableFrame
        table={table}
        label="Monitors"
        rowCount={next === undefined ? rows.length + 1 : -1}
        style={isScrolled ? { minWidth: tableMinWidth(table) } : undefined}
        className="table-fixed"
        headClassName="sticky top-14 z-10 bg-surface shadow-[0_1px_0_var(--line)] lg:top-0"
        onKeyDown={focusAdjacentRow}
      >
        {above > 0 && <tr style={{ height: above }} />}
        {items.map(({ index, key }) => {
          const row = rows[index]
          return row ? (
            <Row key={key} {...propsOf(row, index)} />
          ) : (
            <SkeletonRow key={key} height={size} span={table.getVisibleLeafColumns().length - 1} />
          )
        })}
        {below > 0 && <tr style={{ height: below }} />}
      </TableFrame>
    </div>
  )
}

const SkeletonRow = ({ height, span }: { height: number; span: number }) => (
  <tr style={{ height }} className="border-b border-line">
    <td />
    <td colSpan={span} className="px-2">
      <div className="skeleton h-5 w-4/5" />
    </td>
  </tr>
)

/** The distance from the top of the page, updated when content above changes its height, and the width. */
function usePosition(box: RefObject<HTMLDivElement | null>): { top: number; width: number } {
  const [position, setPosition] = useState({ top: 0, width: Number.POSITIVE_INFINITY })
  useLayoutEffect(() => {
    const measure = () => {
      const { top = 0, width = 0 } = box.current?.getBoundingClientRect() ?? {}
      const next = { top: Math.round(top + scrollY), width: Math.round(width) }
      setPosition((now) => (now.top === next.top && now.width === next.width ? now : next))
    }
    measure()
    const observer = new ResizeObserver(measure)
    for (let above = box.current?.previousElementSibling; above; above = above.previousElementSibling)
      observer.observe(above)
    observer.observe(document.documentElement)
    return () => observer.disconnect()
  }, [box])
  return position
}

/** The arrow keys move to the same control in the next or previous row. */
function focusAdjacentRow(event: KeyboardEvent<HTMLElement>): void {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
  const from = event.target as HTMLElement
  const row = from.closest('tr')
  const next = event.key === 'ArrowDown' ? row?.nextElementSibling : row?.previousElementSibling
  const to = next?.querySelector<HTMLElement>(`[data-cell="${from.dataset.cell}"]`)
  if (!to) return
  event.preventDefault()
  to.focus({ preventScroll: true })
  to.closest('tr')?.scrollIntoView({ block: 'nearest' })
}
