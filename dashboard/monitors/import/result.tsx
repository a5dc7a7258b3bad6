import { CircleCheck, TriangleAlert } from 'lucide-react'
import { plural } from '#contract/wording.ts'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { Section } from '../../ui/page.tsx'
import { ProblemNote } from '../../ui/problem.tsx'
import type { Run } from './run.ts'

export function ImportProgress({ run }: { run: Run }) {
  const share = run.total === 0 ? 1 : run.done / run.total
  return (
    <div role="status" className="flex flex-col gap-2 px-1">
      <p className="text-sm text-soft tabular-nums">
        {run.waitSeconds > 0
          ? `Rate limit reached. The import continues in ${run.waitSeconds} s. Created so far: ${run.created.toLocaleString('en')}.`
          : `${run.done.toLocaleString('en')} of ${run.total.toLocaleString('en')} rows imported. Keep this page open.`}
      </p>
      <progress aria-label="Import" value={run.done} max={run.total} className="sr-only" />
      <div className="h-1.5 overflow-hidden rounded-full bg-sunken" aria-hidden="true">
        <div
          className="h-full origin-left rounded-full bg-accent transition-transform duration-200"
          style={{ transform: `scaleX(${share})` }}
        />
      </div>
    </div>
  )
}

/** The result of an import. `group`: the slug of the group of the monitors. */
export function ImportResult({ run, group, onRestart }: { run: Run; group: string; onRestart: () => void }) {
  const skipped = run.done - run.created - run.updated - run.rejected.size
  const remaining = run.total - run.done
  const Icon = run.problem === undefined && run.rejected.size === 0 ? CircleCheck : TriangleAlert
  const facts = [
    skipped > 0 &&
      plural(
        skipped,
        '1 row was skipped: an identical monitor exists.',
        (count) => `${count} rows were skipped: identical monitors exist.`,
      ),
    run.rejected.size > 0 &&
      plural(
        run.rejected.size,
        '1 row was rejected. See the reason below.',
        (count) => `${count} rows were rejected. See the reasons below.`,
      ),
    remaining > 0 && plural(remaining, '1 row was not imported.', (count) => `${count} rows were not imported.`),
  ].filter((fact) => fact !== false)
  return (
    <Section>
      <div role="status" className="flex flex-col items-center gap-3 px-2 py-6 text-center">
        <Icon
          className={Icon === CircleCheck ? 'size-8 text-good' : 'size-8 text-warn'}
          strokeWidth={1.75}
          aria-hidden="true"
        />
        <h2 className="text-lg font-semibold">{resultTitle(run)}</h2>
        <p className="max-w-md text-sm text-soft">
          {facts.join(' ')}{' '}
          {run.created + run.updated > 0 &&
            'Zonewatch is checking them now. The first results appear in a few seconds.'}
        </p>
        {run.problem !== undefined && <ProblemNote problem={run.problem} />}
        <div className="mt-1 flex flex-wrap justify-center gap-2">
          <ButtonLink variant="primary" to="/monitors" search={group ? { group } : {}}>
            Show monitors
          </ButtonLink>
          <Button onClick={onRestart}>Import more</Button>
        </div>
      </div>
    </Section>
  )
}

function resultTitle({ created, updated }: Run): string {
  const creates = plural(created, '1 monitor was created', (count) => `${count} monitors were created`)
  const updates = plural(updated, '1 monitor was updated', (count) => `${count} monitors were updated`)
  if (updated === 0) return creates
  return created === 0 ? updates : `${creates}, ${updates}`
}
