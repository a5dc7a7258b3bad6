import { useRouter } from '@tanstack/react-router'
import {
  functionalUpdate,
  type RowSelectionState,
  type ColumnVisibilityState as VisibilityState,
} from '@tanstack/react-table'
import { type MouseEvent, useCallback, useEffect, useMemo, useState } from 'react'
import type { MonitorResponse } from '#contract/monitors.ts'
import { type TableModel, useTableModel } from '../../ui/table.tsx'
import { useMinWidth } from '../../ui/use-min-width.ts'
import { useGroups } from '../settings.ts'
import { type ColumnId, type ListAppearance, withColumn } from './appearance.ts'
import { type ListContext, listColumns, visibleColumns } from './columns.tsx'
import { type ListSearch, sortingOf, withSorting } from './query.ts'

/**
 * The selected rows. `scope` is set after a selection of all rows, until a single row changes: `loaded` for the loaded rows,
 * `matching` for all matching monitors.
 */
export type Selection = { ids: RowSelectionState; scope?: 'loaded' | 'matching' }

export const NO_SELECTION: Selection = { ids: {} }

export type ListModel = {
  table: TableModel<MonitorResponse>
  context: ListContext
}

type ModelOptions = {
  rows: readonly MonitorResponse[]
  appearance: ListAppearance
  search: ListSearch
  canChange: boolean
  selection: Selection
  onAppearanceChange: (appearance: ListAppearance) => void
  onSearch: (search: ListSearch) => void
  onSelect: (change: (now: Selection) => Selection) => void
  onMenu: ListContext['onMenu']
}

/** The table of the loaded monitors, with columns, order and selection. */
export function useListModel(options: ModelOptions): ListModel {
  const { rows, appearance, search, canChange, selection, onAppearanceChange, onSearch, onSelect, onMenu } = options
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
      onSelectAll: (isOn) => onSelect(({ ids }) => (isOn ? { ids, scope: 'loaded' } : { ids })),
      onOpen,
      onMenu,
    }),
    [now, groups, canChange, isMatching, onSelect, onOpen, onMenu],
  )
  const visible = useVisibleColumns(appearance)
  const columns = useMemo(() => listColumns(visible, context), [visible, context])
  const columnVisibility = useMemo(
    () => Object.fromEntries(columns.map(({ id = '', enableHiding }) => [id, !enableHiding || isVisible(visible, id)])),
    [columns, visible],
  )
  const columnOrder = useMemo(() => ['select', ...visible, 'menu'], [visible])
  const sorting = useMemo(() => sortingOf(search), [search])
  const table = useTableModel({
    columns,
    data: rows,
    getRowId: ({ id }) => id,
    sortDescFirst: false,
    state: { columnOrder, columnVisibility, rowSelection: selection.ids, sorting },
    onColumnVisibilityChange: (change) =>
      onAppearanceChange(
        withVisibility(
          { ...appearance, columns: visible },
          columnVisibility,
          functionalUpdate(change, columnVisibility),
        ),
      ),
    onRowSelectionChange: (change) => onSelect(({ ids }) => ({ ids: functionalUpdate(change, ids) })),
    onSortingChange: (change) => onSearch(withSorting(search, functionalUpdate(change, sorting))),
  })
  return { table, context }
}

function useVisibleColumns(appearance: ListAppearance): readonly ColumnId[] {
  const isFrom80 = useMinWidth('80rem')
  const isFrom90 = useMinWidth('90rem')
  return useMemo(
    () => visibleColumns(appearance, { '80rem': isFrom80, '90rem': isFrom90 }),
    [appearance, isFrom80, isFrom90],
  )
}

const isVisible = (visible: readonly ColumnId[], id: string) => visible.some((columnId) => columnId === id)

/** Starts from the columns that are visible on this screen. */
function withVisibility(visible: ListAppearance, before: VisibilityState, after: VisibilityState): ListAppearance {
  const changed = (Object.keys(after) as ColumnId[]).filter((id) => after[id] !== before[id])
  return changed.reduce((appearance, id) => withColumn(appearance, id, after[id]!), visible)
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

/** Opens a monitor. With Ctrl, ⌘ or Shift the browser opens the link itself. */
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
