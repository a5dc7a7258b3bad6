import { useQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import type { Overview } from '#contract/dashboard.ts'
import { MailNote } from '../alerts/mail-note.tsx'
import { api } from '../api.ts'
import { useConnection } from '../connection.ts'
import { useSession } from '../session.tsx'
import { ButtonLink } from '../ui/button.tsx'
import { Page, Section } from '../ui/page.tsx'
import { ProblemPage } from '../ui/problem.tsx'
import { Attention } from './attention.tsx'
import { Changes } from './changes.tsx'
import { Figures } from './figures.tsx'
import { FirstSteps } from './first-steps.tsx'
import { issueCount } from './overview-text.ts'

/** Checks without a change are not in the stream of changes, so the time of the last check is polled. */
const POLL_MS = 5_000

export function OverviewPage() {
  const { can } = useSession()
  const { isLost } = useConnection()
  const { data, dataUpdatedAt, error, isPending, refetch } = useQuery({
    queryKey: ['overview'],
    queryFn: ({ signal }) => api.get<Overview>('/dashboard/api/overview', {}, signal),
    refetchInterval: POLL_MS,
  })
  const isNew = data && !(data.has.monitors && data.has.arrived)
  return (
    <Page
      title={
        data && data.failing.monitors > 0 ? `(${data.failing.monitors.toLocaleString('en')}) Overview` : 'Overview'
      }
      heading="Overview"
      help="guides/troubleshoot"
      lead={isNew && 'The state of your DNS records, checks and webhooks.'}
      actions={
        can('write') &&
        data?.has.monitors && (
          <ButtonLink to="/monitors/new">
            <Plus /> New monitor
          </ButtonLink>
        )
      }
    >
      {isPending && <OverviewSkeleton />}
      {!isPending && !data && <ProblemPage problem={error} onRetry={() => void refetch()} />}
      {data && (
        <div className="flex flex-col gap-4">
          {data.has.monitors && <MailNote />}
          {isNew && <FirstSteps has={data.has} />}
          {!data.has.monitors && (issueCount(data, dataUpdatedAt) > 0 || error) && (
            <Attention overview={data} asOf={dataUpdatedAt} problem={error} />
          )}
          {data.has.monitors && (
            <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_19rem] lg:grid-rows-[auto_1fr]">
              <Attention overview={data} asOf={dataUpdatedAt} problem={error} />
              <div className="flex flex-col gap-4 lg:col-start-2 lg:row-span-2 lg:row-start-1">
                <Figures overview={data} isCurrent={!isLost && !error} />
              </div>
              <Changes events={data.changes} firstResults={data.first_results} />
            </div>
          )}
        </div>
      )}
    </Page>
  )
}

/** Has the layout of the page, so that nothing moves. */
function OverviewSkeleton() {
  return (
    <div role="status" aria-label="Loading" className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_19rem]">
      <Section>
        <div className="flex flex-col gap-5">
          {[64, 80, 56, 72, 60].map((width) => (
            <div key={width} className="flex flex-col gap-2">
              <div className="skeleton h-4" style={{ width: `${width}%` }} />
              <div className="skeleton h-3 w-1/3" />
            </div>
          ))}
        </div>
      </Section>
      <Section>
        <div className="flex flex-col gap-3">
          <div className="skeleton h-2" />
          {[0, 1, 2, 3].map((line) => (
            <div key={line} className="skeleton h-4" />
          ))}
        </div>
      </Section>
    </div>
  )
}
