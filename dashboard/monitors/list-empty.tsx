import { FileUp, Plus, Radar, SearchX } from 'lucide-react'
import { ApiProblem } from '../api.ts'
import { Button, ButtonLink } from '../ui/button.tsx'
import { Empty } from '../ui/empty.tsx'
import { Section } from '../ui/page.tsx'
import { ProblemNote, ProblemPage } from '../ui/problem.tsx'
import type { ListSearch } from './list-query.ts'
import type { MonitorList } from './list-rows.ts'

export function NoMonitors({ canChange }: { canChange: boolean }) {
  return (
    <Section isFlush>
      <Empty
        icon={Radar}
        title="Watch your first record"
        action={
          canChange && (
            <>
              <ButtonLink to="/monitors/new" look="primary">
                <Plus /> New monitor
              </ButtonLink>
              <ButtonLink to="/monitors/import">
                <FileUp /> Import
              </ButtonLink>
            </>
          )
        }
      >
        <p>
          A monitor is one DNS record and what it should say. Zonewatch asks for it every few minutes and tells your
          webhooks when the answer changes.
        </p>
        <p className="mt-2">
          {canChange
            ? 'Begin with one name, or import a zone file, a CSV, or all usual records of a domain.'
            : 'Your role may look but not change: ask a member of your organization to make one.'}
        </p>
      </Empty>
    </Section>
  )
}

export function NothingFound({ search, onClear }: { search: ListSearch; onClear: () => void }) {
  return (
    <Empty icon={SearchX} title="No monitor matches" action={<Button onClick={onClear}>Clear the filters</Button>}>
      {search.search ? (
        <>
          No name or domain begins with <span className="font-mono break-all">{search.search}</span>
          {search.state || search.type || search.group || search.active
            ? ' among those that the other filters leave.'
            : '.'}
        </>
      ) : (
        'No monitor has all of these properties at once.'
      )}
    </Empty>
  )
}

/** `onClear` where there are filters: one that was typed into the address may be what is wrong. */
export function NotLoaded({ list, onClear }: { list: MonitorList; onClear: (() => void) | undefined }) {
  const isOfFilters = onClear && list.problem instanceof ApiProblem && list.problem.status === 400
  if (!isOfFilters) return <ProblemPage problem={list.problem} onRetry={list.retry} />
  return (
    <Empty
      icon={SearchX}
      title="These filters cannot be used"
      action={<Button onClick={onClear}>Clear the filters</Button>}
    >
      <div className="text-left">
        <ProblemNote problem={list.problem} />
      </div>
    </Empty>
  )
}
