import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Pencil } from 'lucide-react'
import { useState } from 'react'
import { plural } from '#contract/wording.ts'
import { useSession } from '../../session.tsx'
import { Button } from '../../ui/button.tsx'
import { Page, Section } from '../../ui/page.tsx'
import { ProblemNote } from '../../ui/problem.tsx'
import { ReadOnlyNotice } from '../list/placeholders.tsx'
import { SettingsFields } from '../new/settings-fields.tsx'
import { groupName, type MonitorSettings, useGroups, useMonitorSettings, useReceivingWebhooks } from '../settings.ts'
import { differencesSummary, importSummary } from '../text.ts'
import { type Compare, EMPTY_INPUT, type ImportInput, SOURCES, type Source, withCompare } from './input.ts'
import { MissingMonitors } from './missing.tsx'
import { ImportProgress, ImportResult } from './result.tsx'
import type { IndexedRow } from './run.ts'
import { ImportSource } from './source.tsx'
import { type Plan, usePlan, useRun } from './state.ts'
import { canImport, ImportReview } from './table.tsx'

export function ImportPage() {
  const { can } = useSession()
  return (
    <Page
      title="Import monitors"
      help="guides/import"
      lead="From a zone file, a CSV or the common records of a domain. Review every row before you import."
      back={{ to: '/monitors', label: 'Monitors' }}
    >
      {can('write') ? <Import /> : <ReadOnlyNotice action="import monitors" />}
    </Page>
  )
}

function Import() {
  const { from, group } = useSearch({ from: '/signed-in/monitors/import' })
  const navigate = useNavigate({ from: '/monitors/import' })
  const [texts, setTexts] = useState(EMPTY_INPUT)
  const [settings, setSettings] = useMonitorSettings(group)
  const { plan, isPlanning, problem, make, forget } = usePlan()
  const input: ImportInput = { ...texts, from: SOURCES.find((source) => source === from) ?? 'zone' }
  const change = ({ from: source, ...next }: ImportInput) => {
    setTexts(next)
    if (source !== input.from) changeSource(source)
  }
  const changeSource = (source: Source) =>
    void navigate({ search: { from: source, ...(group ? { group } : {}) }, replace: true, resetScroll: false })
  const changeSettings = (next: MonitorSettings) => {
    setSettings(next)
    const isGroupChanged =
      next.group !== settings.group || (next.newGroup === undefined) !== (settings.newGroup === undefined)
    // Which monitors exist already depends on the group.
    if (isGroupChanged && plan) void make(plan.input, next)
  }
  if (!plan) {
    return (
      <ImportSource
        input={input}
        onChange={change}
        onSubmit={(submitted) => void make(submitted, settings)}
        isBusy={isPlanning}
        problem={problem}
      />
    )
  }
  return (
    <ImportPreview
      plan={plan}
      problem={problem}
      settings={settings}
      onSettingsChange={changeSettings}
      onCompare={(compare) => void make(withCompare(plan.input, compare), settings)}
      onGroupCreated={setSettings}
      onBack={forget}
      onRestart={() => {
        setTexts(EMPTY_INPUT)
        forget()
      }}
    />
  )
}

/** Focuses the new content, because the pressed button is gone. */
const focus = (node: HTMLElement | null) => node?.focus()

type PreviewProps = {
  plan: Plan
  problem: unknown
  settings: MonitorSettings
  onSettingsChange: (settings: MonitorSettings) => void
  onCompare: (compare: Compare | undefined) => void
  onGroupCreated: (settings: MonitorSettings) => void
  onBack: () => void
  onRestart: () => void
}

function ImportPreview({
  plan,
  problem: planProblem,
  settings,
  onSettingsChange,
  onCompare,
  onGroupCreated,
  onBack,
  onRestart,
}: PreviewProps) {
  const [selections, setSelections] = useState<ReadonlyMap<string, boolean>>(new Map())
  const { run, isRunning, isOver, group, problem, start } = useRun()
  // After a change of the group, a selection counts only if result and monitor of the row are the same.
  const rowKey = ({ index, row }: IndexedRow) => `${index} ${row.result} ${row.monitor?.id ?? ''}`
  const isSelected = (placed: IndexedRow) =>
    canImport(placed.row.result) && (selections.get(rowKey(placed)) ?? placed.row.result === 'create')
  const selected = plan.rows.filter(isSelected)
  const select = (created: ReadonlyMap<number, boolean>) =>
    setSelections(
      (was) => new Map([...was, ...Array.from(created, ([index, isOn]) => [rowKey(plan.rows[index]!), isOn] as const)]),
    )
  if (run && isOver) {
    const rejected = plan.rows
      .filter(({ index }) => run.rejected.has(index))
      .map(({ index, row }) => ({
        index,
        row: { ...row, result: 'reject' as const, reason: run.rejected.get(index)! },
      }))
    return (
      <div ref={focus} tabIndex={-1} className="flex scroll-mt-18 flex-col gap-4 outline-none">
        <ImportResult run={run} group={group} onRestart={onRestart} />
        {rejected.length > 0 && (
          <ImportReview
            title="Rejected rows"
            hint="Correct these rows and import them again."
            rows={rejected}
            selected={undefined}
            onSelect={select}
          />
        )}
      </div>
    )
  }
  return (
    <div ref={focus} tabIndex={-1} className="flex scroll-mt-18 flex-col gap-4 outline-none">
      <ImportReview
        title="Preview"
        hint={sourceSummary(plan)}
        actions={
          <Button size="sm" disabled={isRunning} onClick={onBack}>
            <Pencil /> Edit input
          </Button>
        }
        rows={plan.rows}
        selected={isRunning ? undefined : new Set(selected.map(({ index }) => index))}
        onSelect={select}
      />
      {plan.rows.length > 0 && (
        <>
          <div inert={isRunning} className="transition-opacity inert:opacity-60">
            <Section title="Settings" hint="Used for rows that do not set their own.">
              <SettingsFields settings={settings} onChange={onSettingsChange} problem={problem} />
            </Section>
          </div>
          {!isRunning && plan.input.from !== 'domain' && (
            <MissingMonitors compare={plan.input.compare} missing={plan.missing} onCompare={onCompare} />
          )}
          {planProblem !== undefined && <ProblemNote problem={planProblem} />}
          {problem !== undefined && <ProblemNote problem={problem} fields={['name', 'slug']} />}
          {run && isRunning ? (
            <ImportProgress run={run} />
          ) : (
            <div className="flex flex-col gap-4 px-1">
              <ImportSummary rows={plan.rows} selected={selected} settings={settings} />
              <div className="flex justify-end">
                <Button
                  variant="primary"
                  disabled={selected.length === 0}
                  isBusy={isRunning}
                  onClick={() => void start(selected, settings, onGroupCreated)}
                >
                  {submitLabel(selected)}
                </Button>
              </div>
            </div>
          )}
        </>
      )}
    </div>
  )
}

/** What the import will do. */
function ImportSummary({
  rows,
  selected: all,
  settings,
}: {
  rows: readonly IndexedRow[]
  selected: readonly IndexedRow[]
  settings: MonitorSettings
}) {
  const groups = useGroups()
  const listeners = useReceivingWebhooks(settings, groups)
  const { frequency, notify } = settings
  const selected = all.filter(({ row }) => row.result === 'create')
  const differing = rows.filter(({ row }) => row.result === 'update').length
  const count = selected.length
  const withOwnSettings = selected.filter(
    ({ row }) => row.group !== null || row.notify !== null || row.frequency !== null,
  ).length
  return (
    <p className="text-sm wrap-anywhere text-soft">
      {differing > 0 && `${differencesSummary(differing, all.length - selected.length)} `}
      {importSummary({
        count,
        own: withOwnSettings,
        frequency,
        notify,
        group: groupName(settings, groups),
        listeners,
      })}
      {count > 0 && listeners?.count === 0 && (
        <>
          {' '}
          <Link
            to="/webhooks"
            search={{ open: 'new' }}
            className="rounded-sm text-accent-ink underline underline-offset-2"
          >
            Connect a webhook
          </Link>
        </>
      )}
    </p>
  )
}

function submitLabel(selected: readonly IndexedRow[]): string {
  const updates = selected.filter(({ row }) => row.result === 'update').length
  const created = selected.length - updates
  if (updates === 0) return plural(created, 'Create 1 monitor', (count) => `Create ${count} monitors`)
  if (created === 0) return plural(updates, 'Update 1 monitor', (count) => `Update ${count} monitors`)
  return `Create ${created.toLocaleString('en')} and update ${updates.toLocaleString('en')} monitors`
}

function sourceSummary({ input, rows }: Plan): string {
  if (input.from === 'domain') {
    const domain = input.domain.trim()
    return plural(rows.length, `1 row found for ${domain}.`, (count) => `${count} rows found for ${domain}.`)
  }
  const lines = input[input.from].trimEnd().split('\n').length.toLocaleString('en')
  const count = plural(rows.length, '1 row', (number) => `${number} rows`)
  return input.from === 'zone' ? `Zone file: ${lines} lines, ${count}.` : `CSV file: ${lines} lines, ${count}.`
}
