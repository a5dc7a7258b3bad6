import { Collapsible } from '@base-ui/react/collapsible'
import { ChevronRight, CircleCheck, OctagonX } from 'lucide-react'
import { useState } from 'react'
import { Spinner } from '../ui/spinner.tsx'
import { Time } from '../ui/time.tsx'
import { AttemptDetails } from './attempt.tsx'
import { msText } from './timings.ts'
import type { Attempt } from './use-outcome.ts'

/** Newest first; the newest is open. */
export function Attempts({ attempts, isUnderWay }: { attempts: readonly Attempt[]; isUnderWay: boolean }) {
  // They are numbered from 1.
  const made = attempts.at(-1)?.number ?? 0
  return (
    <section>
      <h3 className="mb-2 text-sm font-semibold">
        Attempts{' '}
        <span className="font-normal text-faint tabular-nums">
          {made.toLocaleString()}
          {made > attempts.length && `, latest ${attempts.length} shown`}
        </span>
      </h3>
      <div className="divide-y divide-line rounded-md border border-line">
        {isUnderWay && (
          <p className="flex items-center gap-2 px-3 py-2.5 text-sm text-soft">
            <Spinner /> An attempt is in progress.
          </p>
        )}
        {attempts.length === 0 && !isUnderWay && <p className="px-3 py-2.5 text-sm text-faint">No attempts yet.</p>}
        {attempts.toReversed().map((attempt, at) => (
          <One key={attempt.number} attempt={attempt} isNewest={at === 0} />
        ))}
      </div>
    </section>
  )
}

function One({ attempt, isNewest }: { attempt: Attempt; isNewest: boolean }) {
  const [isOpen, setOpen] = useState(isNewest)
  const { number, attempted, status_code, error, timings } = attempt
  const Icon = error === null ? CircleCheck : OctagonX
  return (
    <Collapsible.Root open={isOpen} onOpenChange={setOpen}>
      <Collapsible.Trigger className="group flex w-full items-center gap-2.5 px-3 py-2 text-left text-sm hover:bg-sunken">
        <ChevronRight
          className="size-4 shrink-0 text-faint transition-transform duration-100 group-data-[panel-open]:rotate-90"
          aria-hidden="true"
        />
        <span className="w-6 text-faint tabular-nums">{number}</span>
        <Icon
          className={error === null ? 'size-4 shrink-0 text-good' : 'size-4 shrink-0 text-bad'}
          strokeWidth={2.25}
          role="img"
          aria-label={error === null ? 'delivered' : 'failed'}
        />
        <span className="min-w-0 flex-1 truncate tabular-nums">
          {status_code === null ? (error ?? 'no response') : `HTTP ${status_code}`}
        </span>
        {timings.totalMs !== undefined && (
          <span className="text-xs text-faint tabular-nums">{msText(timings.totalMs)}</span>
        )}
        <span className="text-xs text-faint">
          <Time at={attempted} />
        </span>
      </Collapsible.Trigger>
      <Collapsible.Panel className="border-t border-line px-3 py-3.5">
        <AttemptDetails attempt={attempt} hasVerdict={false} />
      </Collapsible.Panel>
    </Collapsible.Root>
  )
}
