import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { ListChecks } from 'lucide-react'
import type { Job } from '#contract/jobs.ts'
import { ButtonLink } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { EmptyState } from '../ui/empty-state.tsx'
import { Fact, Facts, Page, Section, Skeleton } from '../ui/page.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { type Column, PagedTable, rowCell } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { migrationText, progressText, titleOf } from './job-text.ts'
import { JobBadge, JobProgress, JobResults } from './job-view.tsx'
import { isRunning, jobQuery, jobsQuery, plannedCountsQuery, useRefreshAfterJob } from './queries.ts'

const route = getRouteApi('/signed-in/jobs')

export function JobsPage() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  return (
    <Page
      title="Jobs"
      help="reference/jobs"
      lead="Changes of many monitors, which you can undo for 24 hours, and webhook requests that are sent again."
    >
      <Section isFlush>
        <PagedTable
          label="Jobs"
          columns={COLUMNS}
          list={useQuery(jobsQuery(search))}
          skeletonLines={5}
          isClickable
          onPage={(cursor) => void navigate({ search: cursor })}
          empty={
            search.after === undefined && (
              <EmptyState
                icon={ListChecks}
                title="No jobs"
                action={
                  <ButtonLink to="/monitors" variant="primary">
                    Go to monitors
                  </ButtonLink>
                }
              >
                <p>
                  Select monitors in the list and choose an action under More, or select all that match a filter. You
                  see a preview of the changes, and can undo them for 24 hours.
                </p>
              </EmptyState>
            )
          }
        />
      </Section>
      {search.job !== undefined && <JobDetails id={search.job} onClose={() => void navigate({ search: {} })} />}
    </Page>
  )
}

const COLUMNS: Column<Job>[] = [
  {
    id: 'job',
    header: 'Job',
    meta: { cellClassName: 'w-full max-w-0 sm:w-auto sm:max-w-80' },
    cell: rowCell((job) => (
      <>
        <Link
          to="/jobs"
          search={{ job: job.id }}
          className="block truncate rounded-sm font-medium after:absolute after:inset-0 hover:underline"
        >
          {titleOf(job)}
        </Link>
        {job.dry_run && <p className="text-xs text-faint">Preview</p>}
      </>
    )),
  },
  { id: 'status', header: 'Status', cell: ({ row }) => <JobBadge job={row.original} /> },
  {
    id: 'monitors',
    header: 'Monitors',
    meta: { className: 'hidden sm:table-cell', cellClassName: 'text-soft tabular-nums' },
    cell: ({ row }) => progressText(row.original),
  },
  {
    id: 'created_by',
    header: 'Created by',
    meta: { className: 'hidden md:table-cell', cellClassName: 'text-soft' },
    cell: ({ row }) => row.original.created_by,
  },
  {
    id: 'created',
    header: 'Created',
    meta: { className: 'hidden md:table-cell', cellClassName: 'text-soft' },
    cell: ({ row }) => <Time at={row.original.created} />,
  },
]

function JobDetails({ id, onClose }: { id: string; onClose: () => void }) {
  const navigate = route.useNavigate()
  const { data: job, error } = useQuery(jobQuery(id))
  useRefreshAfterJob(job)
  return (
    <Dialog isOpen isWide onClose={onClose} title={job ? titleOf(job) : 'Job'}>
      {error && !job ? (
        <ProblemNote problem={error} />
      ) : !job ? (
        <Skeleton lines={4} />
      ) : (
        <div className="flex flex-col gap-5">
          <JobProgress job={job} onUndo={(undo) => void navigate({ search: { job: undo.id } })} />
          <Facts>
            <Fact name={job.action === 'retry_requests' ? 'Requests' : 'Monitors'}>{selectionText(job)}</Fact>
            <Fact name="Created">
              <Time at={job.created} isExact /> by {job.created_by}
            </Fact>
            {job.finished && (
              <Fact name="Ended">
                <Time at={job.finished} isExact />
              </Fact>
            )}
            {job.undo_until && job.undone_by === null && (
              <Fact name="Undo until">
                <Time at={job.undo_until} isExact />
              </Fact>
            )}
            {job.action === 'plan' && !job.dry_run && job.finished && <PlannedChangesOf job={job.id} />}
            <RelatedJob name="Undoes" id={job.undoes} />
            <RelatedJob name="Undone by" id={job.undone_by} />
          </Facts>
          {!isRunning(job) && <JobResults key={job.id} job={job} />}
        </div>
      )}
    </Dialog>
  )
}

function PlannedChangesOf({ job }: { job: string }) {
  const { data: counts } = useQuery(plannedCountsQuery(job))
  if (!counts) return null
  return (
    <Fact name="Progress">
      {migrationText(counts)}.{' '}
      <Link to="/alerts" search={{ tab: 'changes', job }} className="underline underline-offset-2">
        Show the open ones
      </Link>
    </Fact>
  )
}

function RelatedJob({ name, id }: { name: string; id: string | null }) {
  if (id === null) return null
  return (
    <Fact name={name}>
      <Link to="/jobs" search={{ job: id }} className="underline">
        Job
      </Link>
    </Fact>
  )
}

function selectionText({ monitors, filter, requests, undoes }: Job): string {
  if (undoes !== null) return 'Monitors changed by the other job'
  if (monitors !== null) return `${monitors.toLocaleString()} selected`
  const fields = Object.entries(filter ?? requests ?? {})
  return fields.length === 0 ? 'All' : fields.map(([name, value]) => `${name}: ${String(value)}`).join(', ')
}
