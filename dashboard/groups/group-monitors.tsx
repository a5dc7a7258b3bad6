import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ArrowRight, Plus, Radar } from 'lucide-react'
import type { Group } from '#contract/groups.ts'
import { monitorsText } from '#contract/wording.ts'
import { Name } from '../monitors/list/parts.tsx'
import { ButtonLink } from '../ui/button.tsx'
import { EmptyState } from '../ui/empty-state.tsx'
import { Section, Skeleton } from '../ui/page.tsx'
import { ProblemPage } from '../ui/problem.tsx'
import { State } from '../ui/state.tsx'
import { groupMonitorsQuery, MONITORS_SHOWN } from './queries.ts'

/** The first monitors of the group, with a link to all. */
export function GroupMonitors({ group, canChange }: { group: Group; canChange: boolean }) {
  const { data, error, refetch } = useQuery(groupMonitorsQuery(group.slug))
  return (
    <Section
      title="Monitors"
      isFlush
      actions={
        canChange && (
          <ButtonLink to="/monitors/new" search={{ group: group.slug }} size="sm">
            <Plus /> New monitor
          </ButtonLink>
        )
      }
    >
      {data ? (
        data.data.length === 0 ? (
          <EmptyState icon={Radar} title="No monitors in this group">
            Create a monitor here, or select monitors in the list and move them to this group.
          </EmptyState>
        ) : (
          <ul className="divide-y divide-line">
            {data.data.map((monitor) => (
              <li key={monitor.id}>
                <Link
                  to="/monitors/$monitor"
                  params={{ monitor: monitor.id }}
                  className="flex min-h-12 flex-wrap items-center gap-x-4 px-4 py-2 -outline-offset-2 hover:bg-sunken/60"
                >
                  <span className="min-w-0 flex-1 basis-full truncate sm:basis-0">
                    <Name monitor={monitor} />
                  </span>
                  <span className="order-last shrink-0 text-xs sm:order-none sm:w-14 font-medium text-soft">
                    {monitor.record_type}
                  </span>
                  <span className="flex shrink-0 sm:w-28">
                    <State state={monitor.state} isActive={monitor.is_active} />
                  </span>
                </Link>
              </li>
            ))}
          </ul>
        )
      ) : error ? (
        <ProblemPage problem={error} onRetry={() => void refetch()} />
      ) : (
        <Skeleton lines={MONITORS_SHOWN} className="p-4" />
      )}
      {group.monitors > 0 && (
        <div className="border-t border-line px-4 py-2.5">
          <Link
            to="/monitors"
            search={{ group: group.slug }}
            className="inline-flex items-center gap-1.5 rounded-sm text-sm font-medium text-accent-ink hover:underline"
          >
            {group.monitors > MONITORS_SHOWN ? `All ${monitorsText(group.monitors)}` : 'Show in list'}
            <ArrowRight className="size-4" aria-hidden="true" />
          </Link>
        </div>
      )}
    </Section>
  )
}
