import { useRouter } from '@tanstack/react-router'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import {
  type KeyboardEvent,
  type MouseEvent,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import type { MonitorAnswer } from '#contract/monitors.ts'
import type { Look } from './list-appearance.ts'
import { shownColumns, widthOf } from './list-columns.tsx'
import { ListHead } from './list-head.tsx'
import { useIsWide } from './list-media.ts'
import type { ListSearch } from './list-query.ts'
import { Lines, Row, type RowProps } from './list-row.tsx'
import type { MonitorList } from './list-rows.ts'
import type { Selection } from './list-selection.ts'
import { useGroups } from './new-settings.ts'

const ROW_PX = { comfortable: 48, compact: 36 }
const LINES_PX = { comfortable: 64, compact: 52 }
/** Rows still to come that have their place already. */
const TO_COME = 20
const STEP = 20

type TableProps = {
  list: MonitorList
  look: Look
  search: ListSearch
  onSearch: (search: ListSearch) => void
  selection: Selection
  canChange: boolean
  onTick: (id: string, withRange: boolean) => void
  onTickAll: () => void
  onMenu: (monitor: MonitorAnswer, anchor: HTMLElement) => void
}

/** The rows on the screen, and place for all others: the page itself scrolls. */
export function ListTable({
  list,
  look,
  search,
  onSearch,
  selection,
  canChange,
  onTick,
  onTickAll,
  onMenu,
}: TableProps) {
  const { rows, next, show } = list
  const isWide = useIsWide()
  const box = useRef<HTMLDivElement>(null)
  const size = (isWide ? ROW_PX : LINES_PX)[look.density]
  const columns = useMemo(() => shownColumns(look), [look])
  const count = rows.length + (next === undefined ? 0 : TO_COME)
  const place = usePlace(box)
  const virtual = useWindowVirtualizer({
    count,
    estimateSize: () => size,
    overscan: 8,
    scrollMargin: place.top,
    getItemKey: (at) => rows[at]?.id ?? at,
  })
  useLayoutEffect(() => virtual.measure(), [size])
  const items = virtual.getVirtualItems()
  const first = items[0]?.index ?? 0
  const last = items.at(-1)?.index ?? 0
  // In steps, so that scrolling by a row is news for the rows only.
  const from = first - (first % STEP)
  const to = last - (last % STEP) + STEP
  useEffect(() => show(from, to), [show, from, to])
  const now = useNow()
  const onOpen = useOpen()
  const groups = useGroups()
  const groupOf = (slug: string | undefined) => groups?.find((group) => group.slug === slug)?.name ?? slug ?? ''
  const propsOf = (monitor: MonitorAnswer, at: number): RowProps => ({
    monitor,
    columns,
    isCompact: look.density === 'compact',
    at,
    now,
    group: groupOf(monitor.group),
    isTicked: selection.isMatching === true || selection.ids.has(monitor.id),
    canChange,
    onTick,
    onOpen,
    onMenu,
  })
  const above = first * size
  const below = Math.max(0, count - 1 - last) * size
  const total = next === undefined ? rows.length : -1
  if (!isWide) {
    return (
      <div ref={box}>
        <ul aria-label="Monitors" style={{ paddingTop: above, paddingBottom: below }}>
          {items.map(({ index, key }) => {
            const monitor = rows[index]
            return monitor ? (
              <Lines key={key} {...propsOf(monitor, index)} />
            ) : (
              <li key={key} style={{ height: size }} className="px-4 pt-5">
                <div className="skeleton h-5 w-3/4" />
              </li>
            )
          })}
        </ul>
      </div>
    )
  }
  // Only a choice of columns may need more than the screen has: the head then scrolls with the page.
  const isScrolled = look.columns !== undefined && place.width < widthOf(columns)
  return (
    <div ref={box} className={isScrolled ? 'overflow-x-auto' : undefined}>
      <table
        style={isScrolled ? { minWidth: widthOf(columns) } : undefined}
        className="w-full table-fixed text-left text-sm"
        aria-label="Monitors"
        aria-rowcount={total === -1 ? -1 : total + 1}
      >
        <ListHead
          columns={columns}
          rows={rows}
          search={search}
          onSearch={onSearch}
          selection={selection}
          canChange={canChange}
          onTickAll={onTickAll}
        />
        <tbody onKeyDown={toNeighbour}>
          {above > 0 && <tr style={{ height: above }} />}
          {items.map(({ index, key }) => {
            const monitor = rows[index]
            return monitor ? (
              <Row key={key} {...propsOf(monitor, index)} />
            ) : (
              <BoneRow key={key} height={size} span={columns.length + 1} />
            )
          })}
          {below > 0 && <tr style={{ height: below }} />}
        </tbody>
      </table>
    </div>
  )
}

const BoneRow = ({ height, span }: { height: number; span: number }) => (
  <tr style={{ height }} className="border-b border-line">
    <td />
    <td colSpan={span} className="px-2">
      <div className="skeleton h-5 w-4/5" />
    </td>
  </tr>
)

/** How far below the top of the page it begins, kept true while what stands above it changes its height, and how wide it is. */
function usePlace(box: RefObject<HTMLDivElement | null>): { top: number; width: number } {
  const [place, setPlace] = useState({ top: 0, width: Number.POSITIVE_INFINITY })
  useLayoutEffect(() => {
    const measure = () => {
      const { top = 0, width = 0 } = box.current?.getBoundingClientRect() ?? {}
      const next = { top: Math.round(top + scrollY), width: Math.round(width) }
      setPlace((now) => (now.top === next.top && now.width === next.width ? now : next))
    }
    measure()
    const observer = new ResizeObserver(measure)
    for (let above = box.current?.previousElementSibling; above; above = above.previousElementSibling)
      observer.observe(above)
    observer.observe(document.documentElement)
    return () => observer.disconnect()
  }, [box])
  return place
}

/** One clock for all rows. */
function useNow(): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000)
    return () => clearInterval(timer)
  }, [])
  return now
}

/** Opens a monitor; with Ctrl, ⌘ or the middle button the browser does it, in a new tab. */
function useOpen(): (id: string, event: MouseEvent) => void {
  const router = useRouter()
  return useCallback(
    (id, event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return
      event.preventDefault()
      void router.navigate({ to: '/monitors/$monitor', params: { monitor: id } })
    },
    [router],
  )
}

/** Up and down go to the same control of the next row. */
function toNeighbour(event: KeyboardEvent<HTMLElement>): void {
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
