import { getRouteApi, useRouter } from '@tanstack/react-router'
import { Download, FileUp, ListChecks, Plus } from 'lucide-react'
import { lazy, Suspense, useCallback, useState } from 'react'
import type { MonitorCounts } from '#contract/monitor-list.ts'
import type { MonitorResponse } from '#contract/monitors.ts'
import { plural } from '#contract/wording.ts'
import type { JobAct } from '../jobs/job-dialog.tsx'
import { useSession } from '../session.tsx'
import { Button, ButtonLink } from '../ui/button.tsx'
import { Page } from '../ui/page.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { ACTIONS, type Action, checkEvery, moveTo, useRun } from './list-actions.ts'
import { includeOf, useLook } from './list-appearance.ts'
import { LookMenu } from './list-appearance-menu.tsx'
import { ListBar, type Rest } from './list-bar.tsx'
import { shownFields } from './list-columns.tsx'
import type { Asking } from './list-dialogs.tsx'
import { NoMonitors, NothingFound, NotLoaded } from './list-empty.tsx'
import { ListFilters } from './list-filters.tsx'
import { ListMenu, type RowMenu } from './list-menu.tsx'
import { useListModel } from './list-model.ts'
import { useCounts, useOverview } from './list-overview.ts'
import { isFiltered, jobTarget, type ListSearch, orderedQuery, severalOf, withoutFilters } from './list-query.ts'
import { useMonitorList } from './list-rows.ts'
import { afterRun, NOTHING, type Selection } from './list-selection.ts'
import { ListSkeleton } from './list-skeleton.tsx'
import { ListStates } from './list-states.tsx'
import { leadOf } from './list-summary.ts'
import { ListTable } from './list-table.tsx'
import { ViewsMenu } from './list-views-menu.tsx'

const route = getRouteApi('/signed-in/monitors')
const ListDialogs = lazy(async () => ({ default: (await import('./list-dialogs.tsx')).ListDialogs }))
const ExportDialog = lazy(async () => ({ default: (await import('./list-export.tsx')).ExportDialog }))
const JobDialog = lazy(async () => ({ default: (await import('../jobs/job-dialog.tsx')).JobDialog }))

export function MonitorsPage() {
  const search = route.useSearch()
  const router = useRouter()
  const { can } = useSession()
  const canChange = can('write')
  const overview = useOverview()
  const counts = useCounts(overview, search)
  const [look, setLook] = useLook()
  const list = useMonitorList(search, includeOf(look))
  const { rows } = list
  const [selection, setSelection] = useState<Selection>(NOTHING)
  const [asking, setAsking] = useState<Asking>()
  const [job, setJob] = useState<JobAct>()
  const [isExporting, setExporting] = useState(false)
  const [menu, setMenu] = useState<RowMenu>()
  // Deleting one row from its menu asks for that row, whatever is ticked.
  const [single, setSingle] = useState<MonitorResponse>()
  const { run, begin, stop, dismiss } = useRun((ended) => setSelection((now) => afterRun(now, ended)))
  const onSearch = (next: ListSearch) => {
    setSelection(NOTHING)
    void router.navigate({ to: '/monitors', search: next, replace: true })
  }
  const onMenu = useCallback((monitor: MonitorResponse, anchor: HTMLElement) => setMenu({ monitor, anchor }), [])
  const model = useListModel({
    rows,
    look,
    search,
    canChange,
    selection,
    onLook: setLook,
    onSearch,
    onSelect: setSelection,
    onMenu,
  })
  const isMatching = selection.scope === 'matching'
  const ids = Object.keys(selection.ids)
  // Of all that match only a job knows which they are. One by one, many would take minutes, end with the page and have no undo.
  const isJob = isMatching || ids.length > MOST_ONE_BY_ONE
  const chosen = single ? [single] : model.table.getSelectedRowModel().rows.map(({ original }) => original)
  const onAction = (act: Action) => {
    const asJob = JOBS.get(act)
    if (isJob && asJob) return setJob(asJob)
    setAsking(undefined)
    setSingle(undefined)
    void begin(act, chosen)
  }
  const total = totalOf(counts, search)
  const hasMore = list.next !== undefined || rows.length > ids.length
  const rest: Rest | undefined =
    selection.scope === 'loaded' && hasMore
      ? { total, select: () => setSelection((now) => ({ ...now, scope: 'matching' })) }
      : undefined
  const ask = (what: Asking) => (isJob ? setJob(what) : setAsking(what))
  const isEmpty = !list.isLoading && !list.problem && rows.length === 0 && list.next === undefined
  const hasNone = isEmpty && !isFiltered(search)
  return (
    <Page
      title="Monitors"
      help="reference/states"
      lead={overview ? leadOf(overview) : <>&nbsp;</>}
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
      {hasNone ? (
        <NoMonitors canChange={canChange} />
      ) : (
        <>
          <div className="mb-3 flex flex-col gap-2.5">
            <ListStates counts={counts} search={search} onSearch={onSearch} />
            <ListFilters search={search} onSearch={onSearch}>
              <ViewsMenu search={search} look={look} onSearch={onSearch} onLook={setLook} />
              <LookMenu table={model.table} look={look} onLook={setLook} />
              <Button aria-label="Export" onClick={() => setExporting(true)}>
                <Download /> <span className="max-sm:sr-only">Export</span>
              </Button>
            </ListFilters>
          </div>
          {/* Before the rows, so that the keyboard reaches it from their head. */}
          <ListBar
            count={ids.length}
            chosen={isMatching ? (total ?? 'All matching monitors') : ids.length.toLocaleString()}
            rest={rest}
            run={run}
            onAction={onAction}
            onMove={() => ask('move')}
            onFrequency={() => ask('frequency')}
            onDelete={() => ask('delete')}
            onJob={setJob}
            onExport={() => setExporting(true)}
            onClear={() => setSelection(NOTHING)}
            onStop={stop}
            onDismiss={dismiss}
          />
          <div className="-mx-4 border-y border-line bg-surface sm:mx-0 sm:rounded-lg sm:border-x">
            {rows.length === 0 && list.problem ? (
              <NotLoaded
                list={list}
                onClear={isFiltered(search) ? () => onSearch(withoutFilters(search)) : undefined}
              />
            ) : isEmpty ? (
              <NothingFound search={search} onClear={() => onSearch(withoutFilters(search))} />
            ) : rows.length === 0 ? (
              <ListSkeleton />
            ) : (
              <div
                className={list.isLoading ? 'opacity-60 transition-opacity delay-200' : undefined}
                aria-busy={list.isLoading}
              >
                <ListTable list={list} model={model} look={look} />
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
            {foundText(list.isLoading, rows.length, list.next === undefined)}
          </p>
        </>
      )}
      <ListMenu
        menu={menu}
        canChange={canChange}
        onClose={() => setMenu(undefined)}
        onAction={(act, monitor) => void begin(act, [monitor])}
        onDelete={(monitor) => {
          setSingle(monitor)
          setAsking('delete')
        }}
      />
      {asking && (
        <Suspense>
          <ListDialogs
            asking={asking}
            count={chosen.length}
            onMove={(group, name) => onAction(moveTo(group, name))}
            onFrequency={(minutes) => onAction(checkEvery(minutes))}
            onDelete={() => onAction(ACTIONS.delete)}
            onClose={() => {
              setAsking(undefined)
              setSingle(undefined)
            }}
          />
        </Suspense>
      )}
      {isExporting && (
        <Suspense>
          <ExportDialog
            query={orderedQuery(search)}
            total={total}
            selected={isMatching ? [] : model.table.getSelectedRowModel().rows.map(({ id }) => id)}
            columns={shownFields(model.table)}
            onClose={() => setExporting(false)}
          />
        </Suspense>
      )}
      {job && (
        <Suspense>
          <JobDialog
            act={job}
            target={isMatching ? jobTarget(search) : { monitors: ids }}
            onClose={() => {
              setJob(undefined)
              setSelection(NOTHING)
            }}
          />
        </Suspense>
      )}
    </Page>
  )
}

const MOST_ONE_BY_ONE = 20

const JOBS = new Map<Action, JobAct>([
  [ACTIONS.check, 'check'],
  [ACTIONS.enable, 'enable'],
  [ACTIONS.disable, 'disable'],
])

/** How many monitors the list has, as text; undefined where that is not known. */
function totalOf(counts: MonitorCounts | undefined, { state, active }: ListSearch): string | undefined {
  if (!counts || counts.is_partial) return undefined
  const all = state
    ? severalOf(state).reduce((sum, each) => sum + (counts.states[each.toUpperCase()] ?? 0), 0)
    : active === 'false'
      ? counts.disabled
      : counts.active + counts.disabled
  return all.toLocaleString()
}

function foundText(isLoading: boolean, count: number, isAll: boolean): string {
  if (isLoading || count === 0) return ''
  if (!isAll) return `${count.toLocaleString()} loaded. Scroll to load more.`
  return plural(count, '1 monitor.', (number) => `${number} monitors.`)
}
