import { getRouteApi, useRouter } from '@tanstack/react-router'
import { Download, FileUp, ListChecks, Plus } from 'lucide-react'
import { lazy, Suspense, useCallback, useState } from 'react'
import type { MonitorCounts } from '#contract/monitor-list.ts'
import type { MonitorResponse } from '#contract/monitors.ts'
import { plural } from '#contract/wording.ts'
import type { BulkAction } from '../../jobs/bulk-actions.ts'
import { useSession } from '../../session.tsx'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { Page } from '../../ui/page.tsx'
import { ProblemNote } from '../../ui/problem.tsx'
import { includeOf, useListAppearance } from './appearance.ts'
import { AppearanceMenu } from './appearance-menu.tsx'
import { ListBar, type Remaining } from './bar.tsx'
import { visibleFields } from './columns.tsx'
import { ListFilters } from './filters.tsx'
import { ListMenu, type RowMenu } from './menu.tsx'
import { NO_SELECTION, type Selection, useListModel } from './model.ts'
import { summaryText, useCounts, useOverview } from './overview.ts'
import { ListProblem, ListSkeleton, NoMatches, NoMonitors } from './placeholders.tsx'
import { isFiltered, jobTarget, type ListSearch, orderedQuery, splitList, withoutFilters } from './query.ts'
import { useMonitorList } from './rows.ts'
import { ListStates } from './states.tsx'
import { ListTable } from './table.tsx'
import { ViewsMenu } from './views-menu.tsx'

const route = getRouteApi('/signed-in/monitors')
const DeleteMonitor = lazy(async () => ({ default: (await import('../delete-monitor.tsx')).DeleteMonitor }))
const ExportDialog = lazy(async () => ({ default: (await import('./export.tsx')).ExportDialog }))
const BulkActionDialog = lazy(async () => ({
  default: (await import('../../jobs/bulk-action-dialog.tsx')).BulkActionDialog,
}))

export function MonitorsPage() {
  const search = route.useSearch()
  const router = useRouter()
  const { can } = useSession()
  const canChange = can('write')
  const overview = useOverview()
  const counts = useCounts(overview, search)
  const [appearance, setAppearance] = useListAppearance()
  const list = useMonitorList(search, includeOf(appearance))
  const { rows } = list
  const [selection, setSelection] = useState<Selection>(NO_SELECTION)
  const [act, setAct] = useState<BulkAction>()
  const [isExporting, setExporting] = useState(false)
  const [menu, setMenu] = useState<RowMenu>()
  const [deleted, setDeleted] = useState<MonitorResponse>()
  const onSearch = (next: ListSearch) => {
    setSelection(NO_SELECTION)
    void router.navigate({ to: '/monitors', search: next, replace: true })
  }
  const onMenu = useCallback((monitor: MonitorResponse, anchor: HTMLElement) => setMenu({ monitor, anchor }), [])
  const model = useListModel({
    rows,
    appearance,
    search,
    canChange,
    selection,
    onAppearanceChange: setAppearance,
    onSearch,
    onSelect: setSelection,
    onMenu,
  })
  const isMatching = selection.scope === 'matching'
  const ids = Object.keys(selection.ids)
  const total = totalOf(counts, search)
  const hasMore = list.next !== undefined || rows.length > ids.length
  const remaining: Remaining | undefined =
    selection.scope === 'loaded' && hasMore
      ? { total, select: () => setSelection((now) => ({ ...now, scope: 'matching' })) }
      : undefined
  const isEmpty = !list.isLoading && !list.problem && rows.length === 0 && list.next === undefined
  const hasNoMonitors = isEmpty && !isFiltered(search)
  return (
    <Page
      title="Monitors"
      help="reference/states"
      lead={overview ? summaryText(overview) : <>&nbsp;</>}
      actions={
        canChange && (
          <>
            <ButtonLink to="/jobs">
              <ListChecks /> Jobs
            </ButtonLink>
            <ButtonLink to="/monitors/import">
              <FileUp /> Import
            </ButtonLink>
            <ButtonLink to="/monitors/new" variant="primary">
              <Plus /> New monitor
            </ButtonLink>
          </>
        )
      }
    >
      {hasNoMonitors ? (
        <NoMonitors canChange={canChange} />
      ) : (
        <>
          <div className="mb-3 flex flex-col gap-2.5">
            <ListStates counts={counts} search={search} onSearch={onSearch} />
            <ListFilters search={search} onSearch={onSearch}>
              <ViewsMenu
                search={search}
                appearance={appearance}
                onSearch={onSearch}
                onAppearanceChange={setAppearance}
              />
              <AppearanceMenu table={model.table} appearance={appearance} onAppearanceChange={setAppearance} />
              <Button aria-label="Export" onClick={() => setExporting(true)}>
                <Download /> <span className="max-sm:sr-only">Export</span>
              </Button>
            </ListFilters>
          </div>
          {/* Before the rows, so that the Tab key reaches it after the header. */}
          <ListBar
            count={ids.length}
            selectedText={isMatching ? (total ?? 'All matching monitors') : ids.length.toLocaleString()}
            remaining={remaining}
            onAction={setAct}
            onExport={() => setExporting(true)}
            onClear={() => setSelection(NO_SELECTION)}
          />
          <div className="-mx-4 border-y border-line bg-surface sm:mx-0 sm:rounded-lg sm:border-x">
            {rows.length === 0 && list.problem ? (
              <ListProblem
                list={list}
                onClear={isFiltered(search) ? () => onSearch(withoutFilters(search)) : undefined}
              />
            ) : isEmpty ? (
              <NoMatches search={search} onClear={() => onSearch(withoutFilters(search))} />
            ) : rows.length === 0 ? (
              <ListSkeleton />
            ) : (
              <div
                className={list.isLoading ? 'opacity-60 transition-opacity delay-200' : undefined}
                aria-busy={list.isLoading}
              >
                <ListTable list={list} model={model} appearance={appearance} />
              </div>
            )}
            {rows.length > 0 && list.problem !== undefined && (
              <div className="flex flex-col items-start gap-2 p-3">
                <ProblemNote problem={list.problem} />
                <Button size="sm" onClick={list.retry}>
                  Try again
                </Button>
              </div>
            )}
          </div>
          <p aria-live="polite" className="pt-3 text-xs text-faint tabular-nums">
            {loadedText(list.isLoading, rows.length, list.next === undefined)}
          </p>
        </>
      )}
      <ListMenu menu={menu} canChange={canChange} onClose={() => setMenu(undefined)} onDelete={setDeleted} />
      <Suspense>
        {deleted && <DeleteMonitor monitor={deleted} onClose={() => setDeleted(undefined)} />}
        {act && (
          <BulkActionDialog
            act={act}
            target={isMatching ? jobTarget(search) : { monitors: ids }}
            onClose={(isStarted) => {
              setAct(undefined)
              if (isStarted) setSelection(NO_SELECTION)
            }}
          />
        )}
      </Suspense>
      {isExporting && (
        <Suspense>
          <ExportDialog
            query={orderedQuery(search)}
            total={total}
            selected={isMatching ? [] : model.table.getSelectedRowModel().rows.map(({ id }) => id)}
            columns={visibleFields(model.table)}
            onClose={() => setExporting(false)}
          />
        </Suspense>
      )}
    </Page>
  )
}

/** The number of monitors in the list, as text; undefined if unknown. */
function totalOf(counts: MonitorCounts | undefined, { state, active }: ListSearch): string | undefined {
  if (!counts || counts.is_partial) return undefined
  const all = state
    ? splitList(state).reduce((sum, each) => sum + (counts.states[each.toUpperCase()] ?? 0), 0)
    : active === 'false'
      ? counts.disabled
      : counts.active + counts.disabled
  return all.toLocaleString()
}

function loadedText(isLoading: boolean, count: number, isAll: boolean): string {
  if (isLoading || count === 0) return ''
  if (!isAll) return `${count.toLocaleString()} loaded. Scroll to load more.`
  return plural(count, '1 monitor.', (number) => `${number} monitors.`)
}
