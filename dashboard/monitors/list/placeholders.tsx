import { FileUp, Plus, Radar, SearchX } from 'lucide-react'
import { ApiProblem } from '../../api.ts'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Section } from '../../ui/page.tsx'
import { ProblemNote, ProblemPage } from '../../ui/problem.tsx'
import { isFiltered, type ListSearch } from './query.ts'
import type { MonitorList } from './rows.ts'

export function NoMonitors({ canChange }: { canChange: boolean }) {
  return (
    <Section isFlush>
      <EmptyState
        icon={Radar}
        title="Create your first monitor"
        action={
          canChange && (
            <>
              <ButtonLink to="/monitors/new" variant="primary">
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
          A monitor is a DNS record with its expected values. Zonewatch queries it every few minutes and notifies your
          webhooks when it changes.
        </p>
        <p className="mt-2">
          {canChange
            ? 'Start with one name, or import a zone file, a CSV or the common records of a domain.'
            : 'Your role is read-only. Ask a member of your organization to create a monitor.'}
        </p>
      </EmptyState>
    </Section>
  )
}

export function NoMatches({ search, onClear }: { search: ListSearch; onClear: () => void }) {
  const { search: text, ...others } = search
  return (
    <EmptyState icon={SearchX} title="No matching monitors" action={<Button onClick={onClear}>Clear filters</Button>}>
      {text ? (
        <>
          {isFiltered(others) ? 'No monitor that matches the other filters contains ' : 'No monitor contains '}
          <span className="font-mono break-all">{text}</span> in its name, expected values, external id, tags or
          metadata.
        </>
      ) : (
        'No monitor matches all filters.'
      )}
    </EmptyState>
  )
}

/** `onClear` is set if there are filters, because a filter in the URL may be invalid. */
export function ListProblem({ list, onClear }: { list: MonitorList; onClear: (() => void) | undefined }) {
  const isInvalidFilter = onClear && list.problem instanceof ApiProblem && list.problem.status === 400
  if (!isInvalidFilter) return <ProblemPage problem={list.problem} onRetry={list.retry} />
  return (
    <EmptyState icon={SearchX} title="Invalid filters" action={<Button onClick={onClear}>Clear filters</Button>}>
      <div className="text-left">
        <ProblemNote problem={list.problem} />
      </div>
    </EmptyState>
  )
}

/** Shown instead of a page that viewers cannot use. */
export function ReadOnlyNotice({ action }: { action: string }) {
  return (
    <EmptyState
      icon={Radar}
      title={`You cannot ${action}`}
      action={<ButtonLink to="/monitors">Go to monitors</ButtonLink>}
    >
      Your role in this organization is viewer, which is read-only. Ask an admin to change your role to member on the
      Team page.
    </EmptyState>
  )
}

export function ListSkeleton() {
  return (
    <div role="status" aria-label="Loading monitors">
      <div className="hidden h-9 border-b border-line md:block" />
      {Array.from({ length: 12 }, (_, line) => (
        <div key={line} className="flex h-16 items-center gap-6 border-line px-4 not-last:border-b md:h-12">
          <div className="skeleton h-4 w-20" />
          <div className="skeleton h-4 flex-1" />
          <div className="skeleton hidden h-4 w-40 md:block" />
          <div className="skeleton hidden h-4 w-24 md:block" />
        </div>
      ))}
    </div>
  )
}
