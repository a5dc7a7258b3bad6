import { FileUp, Plus, Radar, SearchX } from 'lucide-react'
import { ApiProblem } from '../api.ts'
import { Button, ButtonLink } from '../ui/button.tsx'
import { EmptyState } from '../ui/empty-state.tsx'
import { Section } from '../ui/page.tsx'
import { ProblemNote, ProblemPage } from '../ui/problem.tsx'
import { isFiltered, type ListSearch } from './list-query.ts'
import type { MonitorList } from './list-rows.ts'

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
          A monitor is a DNS record with its expected values. Zonewatch queries it every few minutes and alerts your
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

export function NothingFound({ search, onClear }: { search: ListSearch; onClear: () => void }) {
  const { search: typed, ...others } = search
  return (
    <EmptyState icon={SearchX} title="No matching monitors" action={<Button onClick={onClear}>Clear filters</Button>}>
      {typed ? (
        <>
          {isFiltered(others) ? 'No monitor that matches the other filters contains ' : 'No monitor contains '}
          <span className="font-mono break-all">{typed}</span> in its name, expected values, external id, tags or
          metadata.
        </>
      ) : (
        'No monitor matches all filters.'
      )}
    </EmptyState>
  )
}

/** `onClear` where there are filters: one that was typed into the address may be what is wrong. */
export function NotLoaded({ list, onClear }: { list: MonitorList; onClear: (() => void) | undefined }) {
  const isOfFilters = onClear && list.problem instanceof ApiProblem && list.problem.status === 400
  if (!isOfFilters) return <ProblemPage problem={list.problem} onRetry={list.retry} />
  return (
    <EmptyState icon={SearchX} title="Invalid filters" action={<Button onClick={onClear}>Clear filters</Button>}>
      <div className="text-left">
        <ProblemNote problem={list.problem} />
      </div>
    </EmptyState>
  )
}

/** In place of a page of which a viewer may use nothing. */
export function NotAllowed({ what }: { what: string }) {
  return (
    <EmptyState
      icon={Radar}
      title={`You cannot ${what}`}
      action={<ButtonLink to="/monitors">Go to monitors</ButtonLink>}
    >
      Your role in this organization is viewer, which is read-only. Ask an admin to change your role to member on the
      Team page.
    </EmptyState>
  )
}
