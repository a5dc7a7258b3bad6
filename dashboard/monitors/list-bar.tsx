import { useBlocker } from '@tanstack/react-router'
import {
  CalendarClock,
  CirclePause,
  CirclePlay,
  Clock,
  Download,
  FolderInput,
  ListChecks,
  MoreHorizontal,
  PencilLine,
  Replace,
  RotateCw,
  Tag,
  Tags,
  Trash2,
  X,
} from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { monitorsText, recordName } from '#contract/wording.ts'
import type { BulkAction } from '../jobs/bulk-action-dialog.tsx'
import { Button } from '../ui/button.tsx'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { Menu, MenuItem, MenuSeparator } from '../ui/menu.tsx'
import { problemMessage } from '../ui/problem.tsx'
import { useIsWide } from '../ui/use-min-width.ts'
import { ACTIONS, type Action, type Run } from './list-actions.ts'

type BarProps = {
  count: number
  /** The number of selected monitors as text; `count` of them are loaded. */
  selectedText: string
  /** Offers to select the rows that are not loaded, after all loaded ones were selected. */
  remaining: Remaining | undefined
  run: Run | undefined
  onAction: (act: Action) => void
  onMove: () => void
  onFrequency: () => void
  onDelete: () => void
  /** Actions that only a job can do. */
  onJob: (act: BulkAction) => void
  onExport: () => void
  onClear: () => void
  onStop: () => void
  onDismiss: () => void
}

export type Remaining = { total: string | undefined; select: () => void }

/** At the bottom of the screen: actions for the selected monitors, their progress and errors. */
export function ListBar(props: BarProps) {
  const { count, selectedText, run } = props
  return (
    <>
      <div aria-live="polite" className="sr-only">
        {run ? runText(run) : count > 0 ? selectionText(count, selectedText) : ''}
      </div>
      {(run || count > 0) && (
        <section
          aria-label="Selected monitors"
          data-at-foot
          className="pointer-events-none fixed inset-x-0 bottom-4 z-20 flex justify-center px-3 sm:justify-start sm:px-6 lg:left-60 lg:px-8"
        >
          <div className="pointer-events-auto max-w-full rounded-lg border border-edge bg-raised p-1.5 shadow-pop">
            {!run && props.remaining && <SelectAll count={count} remaining={props.remaining} />}
            <div className="flex items-center gap-1">
              {run ? <RunStatus {...props} run={run} /> : <SelectionActions {...props} />}
            </div>
          </div>
        </section>
      )}
      <LeaveGuard isRunning={run !== undefined && !run.isEnded} />
    </>
  )
}

function SelectionActions({
  selectedText,
  onAction,
  onMove,
  onFrequency,
  onDelete,
  onJob,
  onExport,
  onClear,
}: BarProps) {
  const isWide = useIsWide()
  return (
    <>
      <Button variant="quiet" size="sm" isSquare aria-label="Clear selection" onClick={onClear}>
        <X />
      </Button>
      <span className="px-1.5 text-sm font-medium whitespace-nowrap tabular-nums">{selectedText} selected</span>
      <Divider />
      <Button variant="quiet" size="sm" onClick={() => onAction(ACTIONS.check)}>
        <RotateCw /> Check now
      </Button>
      {isWide && (
        <>
          <Button variant="quiet" size="sm" onClick={() => onAction(ACTIONS.enable)}>
            <CirclePlay /> Enable
          </Button>
          <Button variant="quiet" size="sm" onClick={() => onAction(ACTIONS.disable)}>
            <CirclePause /> Disable
          </Button>
        </>
      )}
      <Menu
        trigger={
          <Button variant="quiet" size="sm">
            <MoreHorizontal /> More
          </Button>
        }
      >
        {!isWide && (
          <>
            <MenuItem icon={CirclePlay} onSelect={() => onAction(ACTIONS.enable)}>
              Enable
            </MenuItem>
            <MenuItem icon={CirclePause} onSelect={() => onAction(ACTIONS.disable)}>
              Disable
            </MenuItem>
          </>
        )}
        <MenuItem icon={PencilLine} onSelect={() => onJob('expect')}>
          Set expected values…
        </MenuItem>
        <MenuItem icon={Replace} onSelect={() => onJob('replace')}>
          Replace an expected value…
        </MenuItem>
        <MenuItem icon={ListChecks} onSelect={() => onJob('accept')}>
          Accept current values…
        </MenuItem>
        <MenuItem icon={CalendarClock} onSelect={() => onJob('plan')}>
          Plan a change…
        </MenuItem>
        <MenuSeparator />
        <MenuItem icon={Tag} onSelect={() => onJob('tag')}>
          Add tags…
        </MenuItem>
        <MenuItem icon={Tags} onSelect={() => onJob('untag')}>
          Remove tags…
        </MenuItem>
        <MenuItem icon={FolderInput} onSelect={onMove}>
          Move to group…
        </MenuItem>
        <MenuItem icon={Clock} onSelect={onFrequency}>
          Set check interval…
        </MenuItem>
        <MenuSeparator />
        <MenuItem icon={Download} onSelect={onExport}>
          Export…
        </MenuItem>
        <MenuItem icon={Trash2} isDangerous onSelect={onDelete}>
          Delete…
        </MenuItem>
      </Menu>
    </>
  )
}

const selectionText = (count: number, selectedText: string) =>
  selectedText === count.toLocaleString() ? `${monitorsText(count)} selected` : `Selected: ${selectedText}`

/** Only loaded rows are selected; a button selects all. */
function SelectAll({ count, remaining: { total, select } }: { count: number; remaining: Remaining }) {
  return (
    <p className="flex flex-wrap items-center gap-x-2 border-b border-line px-1.5 pb-1.5 text-sm text-soft">
      <span className="tabular-nums">Only the first {count.toLocaleString()} monitors are selected.</span>
      <Button variant="quiet" size="sm" onClick={select}>
        Select all {total ?? 'that match'}
      </Button>
    </p>
  )
}

const Divider = () => <span className="mx-0.5 h-5 w-px bg-line" aria-hidden="true" />

function RunStatus({ run, onStop, onDismiss }: BarProps & { run: Run }) {
  const [isOpen, setOpen] = useState(false)
  const { progress, total, isEnded } = run
  const finished = progress.done + progress.failures.length
  return (
    <>
      <span className="px-2 text-sm tabular-nums">{runText(run)}</span>
      {!isEnded && (
        <div
          role="progressbar"
          aria-label="Progress"
          aria-valuenow={finished}
          aria-valuemax={total}
          tabIndex={-1}
          className="mx-1 h-1.5 w-24 shrink-0 overflow-hidden rounded-full bg-sunken sm:w-40"
        >
          <div className="h-full bg-accent" style={{ width: `${(100 * finished) / total}%` }} />
        </div>
      )}
      {progress.failures.length > 0 && (
        <Button variant="quiet" size="sm" onClick={() => setOpen(true)}>
          Errors
        </Button>
      )}
      <Button variant="quiet" size="sm" onClick={isEnded ? onDismiss : onStop}>
        {isEnded ? 'Dismiss' : 'Stop'}
      </Button>
      <Dialog
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        title={`${monitorsText(progress.failures.length)} not ${run.act.done}`}
        isWide
      >
        <ul className="divide-y divide-line">
          {progress.failures.slice(0, MAX_FAILURES_SHOWN).map(({ item, problem }) => (
            <FailedMonitor key={item.id} name={`${recordName(item)} ${item.record_type}`}>
              {problemMessage(problem)}
            </FailedMonitor>
          ))}
        </ul>
        {progress.failures.length > MAX_FAILURES_SHOWN && (
          <p className="pt-3 text-sm text-faint">
            and {(progress.failures.length - MAX_FAILURES_SHOWN).toLocaleString()} more. They stay selected.
          </p>
        )}
      </Dialog>
    </>
  )
}

const MAX_FAILURES_SHOWN = 200

const FailedMonitor = ({ name, children }: { name: string; children: ReactNode }) => (
  <li className="py-2">
    <p className="font-mono text-sm break-all">{name}</p>
    <p className="text-sm text-bad">{children}</p>
  </li>
)

function runText({ act, total, progress: { done, failures, resumesAt }, isEnded }: Run): string {
  if (isEnded) return `${done.toLocaleString()} ${act.done}, ${failures.length.toLocaleString()} failed`
  const of = `${(done + failures.length).toLocaleString()} of ${monitorsText(total)}`
  const failed = failures.length === 0 ? '' : `, ${failures.length.toLocaleString()} failed`
  const rateLimitText =
    resumesAt === undefined ? '' : `. Rate limit reached. Continues at ${new Date(resumesAt).toLocaleTimeString()}`
  return `${act.doing} ${of}${failed}${rateLimitText}`
}

/** Confirms leaving the page, which stops the run. */
function LeaveGuard({ isRunning }: { isRunning: boolean }) {
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => isRunning && current.pathname !== next.pathname,
    enableBeforeUnload: () => isRunning,
    withResolver: true,
  })
  return (
    <Confirm
      isOpen={blocker.status === 'blocked'}
      onClose={() => blocker.reset?.()}
      title="Leave this page?"
      confirmLabel="Stop and leave"
      onConfirm={async () => blocker.proceed?.()}
    >
      The operation stops. Changes already made are kept. The remaining monitors are not changed.
    </Confirm>
  )
}
