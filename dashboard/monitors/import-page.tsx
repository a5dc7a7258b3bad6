import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Pencil } from 'lucide-react'
import { useState } from 'react'
import { plural } from '#contract/wording.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Page, Section } from '../ui/page.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { ImportGone } from './import-gone.tsx'
import { type Compare, compareWith, type ImportInput, NO_INPUT, SOURCES, type Source } from './import-input.ts'
import { ImportProgress, ImportResult } from './import-result.tsx'
import { ImportReview } from './import-review.tsx'
import type { Placed } from './import-run.ts'
import { ImportSource } from './import-source.tsx'
import { type Plan, usePlan, useRun } from './import-state.ts'
import { canChoose } from './import-table.tsx'
import { NotAllowed } from './list-empty.tsx'
import { groupName, useGroups, useListeners, useWatchSettings, type WatchSettings } from './new-settings.ts'
import { SettingsFields } from './new-settings-fields.tsx'
import { differSentence, importSentence } from './new-words.ts'

export function ImportPage() {
  const { can } = useSession()
  return (
    <Page
      title="Import monitors"
      help="guides/import"
      lead="From a zone file, a CSV or the common records of a domain. Review every row before you import."
      back={{ to: '/monitors', label: 'Monitors' }}
    >
      {can('write') ? <Import /> : <NotAllowed what="import monitors" />}
    </Page>
  )
}

function Import() {
  const { from, group } = useSearch({ from: '/signed-in/monitors/import' })
  const navigate = useNavigate({ from: '/monitors/import' })
  const [texts, setTexts] = useState(NO_INPUT)
  const [settings, setSettings] = useWatchSettings(group)
  const { plan, isPlanning, problem, make, forget } = usePlan()
  const input: ImportInput = { ...texts, from: SOURCES.find((each) => each === from) ?? 'zone' }
  const change = ({ from: way, ...next }: ImportInput) => {
    setTexts(next)
    if (way !== input.from) showWay(way)
  }
  const showWay = (way: Source) =>
    void navigate({ search: { from: way, ...(group ? { group } : {}) }, replace: true, resetScroll: false })
  const settle = (next: WatchSettings) => {
    setSettings(next)
    const isMoved = next.group !== settings.group || (next.newGroup === undefined) !== (settings.newGroup === undefined)
    // Which rows are there already depends on the group.
    if (isMoved && plan) void make(plan.input, next)
  }
  if (!plan) {
    return (
      <ImportSource
        input={input}
        onChange={change}
        onRead={(given) => void make(given, settings)}
        isBusy={isPlanning}
        problem={problem}
      />
    )
  }
  return (
    <Planned
      plan={plan}
      problem={problem}
      settings={settings}
      onSettle={settle}
      onCompare={(compare) => void make(compareWith(plan.input, compare), settings)}
      onReady={setSettings}
      onBack={forget}
      onMore={() => {
        setTexts(NO_INPUT)
        forget()
      }}
    />
  )
}

/** The button that was pressed is gone: reading goes on here. */
const focus = (node: HTMLElement | null) => node?.focus()

type PlannedProps = {
  plan: Plan
  problem: unknown
  settings: WatchSettings
  onSettle: (settings: WatchSettings) => void
  onCompare: (compare: Compare | undefined) => void
  /** The new group was made. */
  onReady: (settings: WatchSettings) => void
  onBack: () => void
  /** From the beginning. */
  onMore: () => void
}

function Planned({ plan, problem: planProblem, settings, onSettle, onCompare, onReady, onBack, onMore }: PlannedProps) {
  const [choices, setChoices] = useState<ReadonlyMap<string, boolean>>(new Map())
  const { run, isRunning, isOver, group, problem, start } = useRun()
  // What was chosen before the group was changed, of a row with another fate or another monitor, is not meant.
  const keyOf = ({ at, row }: Placed) => `${at} ${row.fate} ${row.monitor?.id ?? ''}`
  const isSelected = (placed: Placed) =>
    canChoose(placed.row.fate) && (choices.get(keyOf(placed)) ?? placed.row.fate === 'make')
  const chosen = plan.rows.filter(isSelected)
  const choose = (made: ReadonlyMap<number, boolean>) =>
    setChoices((was) => new Map([...was, ...Array.from(made, ([at, isOn]) => [keyOf(plan.rows[at]!), isOn] as const)]))
  if (run && isOver) {
    const refused = plan.rows
      .filter(({ at }) => run.refused.has(at))
      .map(({ at, row }) => ({ at, row: { ...row, fate: 'refuse' as const, why: run.refused.get(at)! } }))
    return (
      <div ref={focus} tabIndex={-1} className="flex scroll-mt-18 flex-col gap-4 outline-none">
        <ImportResult run={run} group={group} onMore={onMore} />
        {refused.length > 0 && (
          <ImportReview
            title="Rejected rows"
            hint="Correct these rows and import them again."
            rows={refused}
            chosen={undefined}
            onChoose={choose}
          />
        )}
      </div>
    )
  }
  return (
    <div ref={focus} tabIndex={-1} className="flex scroll-mt-18 flex-col gap-4 outline-none">
      <ImportReview
        title="Preview"
        hint={sourceWords(plan)}
        actions={
          <Button size="sm" disabled={isRunning} onClick={onBack}>
            <Pencil /> Edit input
          </Button>
        }
        rows={plan.rows}
        chosen={isRunning ? undefined : new Set(chosen.map(({ at }) => at))}
        onChoose={choose}
      />
      {plan.rows.length > 0 && (
        <>
          <div inert={isRunning} className="transition-opacity inert:opacity-60">
            <Section title="Settings" hint="Used for rows that do not set their own.">
              <SettingsFields settings={settings} onChange={onSettle} problem={problem} />
            </Section>
          </div>
          {!isRunning && plan.input.from !== 'domain' && (
            <ImportGone compare={plan.input.compare} gone={plan.gone} onCompare={onCompare} />
          )}
          {planProblem !== undefined && <ProblemNote problem={planProblem} />}
          {problem !== undefined && <ProblemNote problem={problem} fields={['name', 'slug']} />}
          {run && isRunning ? (
            <ImportProgress run={run} />
          ) : (
            <div className="flex flex-col gap-4 px-1">
              <Outlook rows={plan.rows} chosen={chosen} settings={settings} />
              <div className="flex justify-end">
                <Button
                  variant="primary"
                  disabled={chosen.length === 0}
                  isBusy={isRunning}
                  onClick={() => void start(chosen, settings, onReady)}
                >
                  {actWords(chosen)}
                </Button>
              </div>
            </div>
          )}
        </>
      )}
    </div>
  )
}

/** What will happen, before it does. */
function Outlook({
  rows,
  chosen: all,
  settings,
}: {
  rows: readonly Placed[]
  chosen: readonly Placed[]
  settings: WatchSettings
}) {
  const groups = useGroups()
  const listeners = useListeners(settings, groups)
  const { frequency, notify } = settings
  const chosen = all.filter(({ row }) => row.fate === 'make')
  const differing = rows.filter(({ row }) => row.fate === 'differs').length
  const count = chosen.length
  const own = chosen.filter(({ row }) => row.group !== null || row.notify !== null || row.frequency !== null).length
  return (
    <p className="text-sm wrap-anywhere text-soft">
      {differing > 0 && `${differSentence(differing, all.length - chosen.length)} `}
      {importSentence({ count, own, frequency, notify, group: groupName(settings, groups), listeners })}
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

/** What the button does. */
function actWords(chosen: readonly Placed[]): string {
  const updates = chosen.filter(({ row }) => row.fate === 'differs').length
  const made = chosen.length - updates
  if (updates === 0) return plural(made, 'Create 1 monitor', (count) => `Create ${count} monitors`)
  if (made === 0) return plural(updates, 'Update 1 monitor', (count) => `Update ${count} monitors`)
  return `Create ${made.toLocaleString('en')} and update ${updates.toLocaleString('en')} monitors`
}

function sourceWords({ input, rows }: Plan): string {
  if (input.from === 'domain') {
    const domain = input.domain.trim()
    return plural(rows.length, `1 row found for ${domain}.`, (count) => `${count} rows found for ${domain}.`)
  }
  const lines = input[input.from].trimEnd().split('\n').length.toLocaleString('en')
  const count = plural(rows.length, '1 row', (number) => `${number} rows`)
  return input.from === 'zone' ? `Zone file: ${lines} lines, ${count}.` : `CSV file: ${lines} lines, ${count}.`
}
