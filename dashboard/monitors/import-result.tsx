import { CircleCheck, TriangleAlert } from 'lucide-react'
import { Button, ButtonLink } from '../ui/button.tsx'
import { Section } from '../ui/page.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import type { Run } from './import-run.ts'

/** While it goes on: how far it is. */
export function ImportProgress({ run }: { run: Run }) {
  const share = run.total === 0 ? 1 : run.done / run.total
  return (
    <div role="status" className="flex flex-col gap-2 px-1">
      <p className="text-sm text-soft tabular-nums">
        {run.waits > 0
          ? `Rate limit reached. The import continues in ${run.waits} seconds. ${run.made.toLocaleString()} created so far.`
          : `${run.done.toLocaleString()} of ${run.total.toLocaleString()} done. Keep this page open.`}
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

/** What came of it. `group`: a slug, of where the monitors are. */
export function ImportResult({ run, group, onMore }: { run: Run; group: string; onMore: () => void }) {
  const known = run.done - run.made - run.updated - run.refused.size
  const rest = run.total - run.done
  const Icon = run.problem === undefined && run.refused.size === 0 ? CircleCheck : TriangleAlert
  const facts = [
    known > 0 && `${counted(known, 'was', 'were')} skipped: an identical monitor exists.`,
    run.refused.size > 0 && `${counted(run.refused.size, 'was', 'were')} rejected; see the reasons below.`,
    rest > 0 && `${counted(rest, 'is', 'are')} not created.`,
  ].filter((fact) => fact !== false)
  return (
    <Section>
      <div role="status" className="flex flex-col items-center gap-3 px-2 py-6 text-center">
        <Icon
          className={Icon === CircleCheck ? 'size-8 text-good' : 'size-8 text-warn'}
          strokeWidth={1.75}
          aria-hidden="true"
        />
        <h2 className="text-lg font-semibold">{resultWords(run)}</h2>
        <p className="max-w-md text-sm text-soft">
          {facts.join(' ')}{' '}
          {run.made + run.updated > 0 && 'Zonewatch is checking them now. The first results appear in a few seconds.'}
        </p>
        {run.problem !== undefined && <ProblemNote problem={run.problem} />}
        <div className="mt-1 flex flex-wrap justify-center gap-2">
          <ButtonLink look="primary" to="/monitors" search={group ? { group } : {}}>
            Show monitors
          </ButtonLink>
          <Button onClick={onMore}>Import more</Button>
        </div>
      </div>
    </Section>
  )
}

function resultWords({ made, updated }: Run): string {
  const monitors = (count: number) => (count === 1 ? 'One monitor was' : `${count.toLocaleString()} monitors were`)
  if (updated === 0) return `${monitors(made)} created`
  if (made === 0) return `${monitors(updated)} updated`
  return `${monitors(made)} created, ${updated === 1 ? 'one' : updated.toLocaleString()} updated`
}

const counted = (count: number, one: string, many: string) => `${count.toLocaleString()} ${count === 1 ? one : many}`
