import { useRouter } from '@tanstack/react-router'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import {
  type KeyboardEvent,
  type MouseEvent,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import type { MonitorAnswer } from '#contract/monitors.ts'
import { ListHead } from './list-head.tsx'
import { useIsWide } from './list-media.ts'
import type { ListSearch } from './list-query.ts'
import { Lines, Row, type RowProps } from './list-row.tsx'
import type { MonitorList } from './list-rows.ts'
import type { Selection } from './list-selection.ts'
import { useGroups } from './new-settings.ts'

const ROW_PX = 48
const LINES_PX = 64
/** Rows still to come that have their place already. */
const TO_COME = 20
const STEP = 20

type TableProps = {
  list: MonitorList
  search: ListSearch
  onSearch: (search: ListSearch) => void
  selection: Selection
  canChange: boolean
  onTick: (id: string, withRange: boolean) => void
  onTickAll: () => void
  onMenu: (monitor: MonitorAnswer, anchor: HTMLElement) => void
}

/** The rows on the screen, and place for all others: the page itself scrolls. */
export function ListTable({ list, search, onSearch, selection, canChange, onTick, onTickAll, onMenu }: TableProps) {
  const { rows, next, show } = list
  const isWide = useIsWide()
  const box = useRef<HTMLDivElement>(null)
  const size = isWide ? ROW_PX : LINES_PX
  const count = rows.length + (next === undefined ? 0 : TO_COME)
  const virtual = useWindowVirtualizer({
    count,
    estimateSize: () => size,
    overscan: 8,
    scrollMargin: useTop(box),
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
              <li key={key} className="h-16 px-4 pt-5">
                <div className="bone h-5 w-3/4" />
              </li>
            )
          })}
        </ul>
      </div>
    )
  }
  return (
    <div ref={box}>
      <table
        className="w-full table-fixed text-left text-sm"
        aria-label="Monitors"
        aria-rowcount={total === -1 ? -1 : total + 1}
      >
        <ListHead
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
            return monitor ? <Row key={key} {...propsOf(monitor, index)} /> : <BoneRow key={key} />
          })}
          {below > 0 && <tr style={{ height: below }} />}
        </tbody>
      </table>
    </div>
  )
}

const BoneRow = () => (
  <tr className="h-12 border-b border-line">
    <td />
    <td colSpan={6} className="px-2">
      <div className="bone h-5 w-4/5" />
    </td>
  </tr>
)

/** How far below the top of the page it begins, kept true while what stands above it changes its height. */
function useTop(box: RefObject<HTMLDivElement | null>): number {
  const [top, setTop] = useState(0)
  useLayoutEffect(() => {
    const measure = () => setTop(Math.round((box.current?.getBoundingClientRect().top ?? 0) + scrollY))
    measure()
    const observer = new ResizeObserver(measure)
    for (let above = box.current?.previousElementSibling; above; above = above.previousElementSibling)
      observer.observe(above)
    observer.observe(document.documentElement)
    return () => observer.disconnect()
  }, [box])
  return top
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
