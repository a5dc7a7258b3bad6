import { useRouter } from '@tanstack/react-router'
import { functionalUpdate, type ColumnVisibilityState as VisibilityState } from '@tanstack/react-table'
import { type MouseEvent, useCallback, useEffect, useMemo, useState } from 'react'
import type { MonitorResponse } from '#contract/monitors.ts'
import { type TableModel, useTableModel } from '../ui/table.tsx'
import { type ColumnId, type Look, withColumn } from './list-appearance.ts'
import { type ListContext, listColumns, shownColumns } from './list-columns.tsx'
import { useIsFrom } from './list-media.ts'
import { type ListSearch, sortingOf, withSorting } from './list-query.ts'
import type { Selection } from './list-selection.ts'
import { useGroups } from './new-settings.ts'

export type ListModel = {
  table: TableModel<MonitorResponse>
  context: ListContext
}

type Given = {
  rows: readonly MonitorResponse[]
  look: Look
  search: ListSearch
  canChange: boolean
  selection: Selection
  onLook: (look: Look) => void
  onSearch: (search: ListSearch) => void
  onSelect: (change: (now: Selection) => Selection) => void
  onMenu: ListContext['onMenu']
}

/** The table of the loaded monitors: columns, order, and which are selected. */
export function useListModel(given: Given): ListModel {
  const { rows, look, search, canChange, selection, onLook, onSearch, onSelect, onMenu } = given
  const now = useNow()
  const onOpen = useOpen()
  const groups = useGroups()
  const isMatching = selection.scope === 'matching'
  const context = useMemo<ListContext>(
    () => ({
      now,
      groupName: (slug) => groups?.find((group) => group.slug === slug)?.name ?? slug ?? '',
      canChange,
      isMatching,
      onTickAll: (isOn) => onSelect(({ ids }) => (isOn ? { ids, scope: 'loaded' } : { ids })),
      onOpen,
      onMenu,
    }),
    [now, groups, canChange, isMatching, onSelect, onOpen, onMenu],
  )
  const shown = useShownColumns(look)
  const columns = useMemo(() => listColumns(shown, context), [shown, context])
  const columnVisibility = useMemo(
    () => Object.fromEntries(columns.map(({ id = '', enableHiding }) => [id, !enableHiding || isAmong(shown, id)])),
    [columns, shown],
  )
  const columnOrder = useMemo(() => ['tick', ...shown, 'menu'], [shown])
  const sorting = useMemo(() => sortingOf(search), [search])
  const table = useTableModel({
    columns,
    data: rows,
    getRowId: ({ id }) => id,
    sortDescFirst: false,
    state: { columnOrder, columnVisibility, rowSelection: selection.ids, sorting },
    onColumnVisibilityChange: (change) =>
      onLook(withShown({ ...look, columns: shown }, columnVisibility, functionalUpdate(change, columnVisibility))),
    onRowSelectionChange: (change) => onSelect(({ ids }) => ({ ids: functionalUpdate(change, ids) })),
    onSortingChange: (change) => onSearch(withSorting(search, functionalUpdate(change, sorting))),
  })
  return { table, context }
}

function useShownColumns(look: Look): readonly ColumnId[] {
  const isFrom80 = useIsFrom('80rem')
  const isFrom90 = useIsFrom('90rem')
  return useMemo(() => shownColumns(look, { '80rem': isFrom80, '90rem': isFrom90 }), [look, isFrom80, isFrom90])
}

const isAmong = (shown: readonly ColumnId[], id: string) => shown.some((each) => each === id)

/** A choice begins with the columns that are on this screen. */
function withShown(shown: Look, before: VisibilityState, after: VisibilityState): Look {
  const changed = (Object.keys(after) as ColumnId[]).filter((id) => after[id] !== before[id])
  return changed.reduce((look, id) => withColumn(look, id, after[id]!), shown)
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
