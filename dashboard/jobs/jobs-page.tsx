import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { ListChecks } from 'lucide-react'
import type { Job } from '#contract/jobs.ts'
import { ButtonLink } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Empty } from '../ui/empty.tsx'
import { Fact, Facts, Page, Section, Skeleton } from '../ui/page.tsx'
import { ProblemNote, ProblemPage } from '../ui/problem.tsx'
import { Cell, Head, Pager, Table } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { JobBadge, JobProgress, JobResults } from './job-view.tsx'
import { progressText, titleOf } from './job-words.ts'
import { isRunning, jobQuery, jobsQuery, useRefreshAfter } from './queries.ts'

const route = getRouteApi('/inside/jobs')

/** Changes of many monitors, the newest first. */
export function JobsPage() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const { data: page, error, refetch } = useQuery(jobsQuery(search))
  return (
    <Page
      title="Jobs"
      help="reference/jobs"
      lead="Changes of many monitors, which you can undo for 24 hours, and webhook requests that are sent again."
    >
      {error && !page ? (
        <ProblemPage problem={error} onRetry={() => void refetch()} />
      ) : (
        <Section isFlush>
          {!page ? (
            <Skeleton lines={5} className="p-4" />
          ) : page.data.length === 0 && search.after === undefined ? (
            <Empty
              icon={ListChecks}
              title="No jobs"
              action={
                <ButtonLink to="/monitors" look="primary">
                  Go to the monitors
                </ButtonLink>
              }
            >
              <p>
                Select monitors in the list and choose an action under More, or select all that match a filter. You see
                what would change before anything does, and can undo it for 24 hours.
              </p>
            </Empty>
          ) : (
            <Jobs jobs={page.data} />
          )}
          <Pager
            page={page}
            onAfter={(after) => void navigate({ search: { after } })}
            onBefore={(before) => void navigate({ search: { before } })}
          />
        </Section>
      )}
      {search.job !== undefined && <JobDetails id={search.job} onClose={() => void navigate({ search: {} })} />}
    </Page>
  )
}

function Jobs({ jobs }: { jobs: readonly Job[] }) {
  return (
    <Table
      label="Jobs"
      head={
        <>
          <Head>Job</Head>
          <Head>Status</Head>
          <Head className="hidden sm:table-cell">Monitors</Head>
          <Head className="hidden md:table-cell">Created by</Head>
          <Head className="hidden md:table-cell">Created</Head>
        </>
      }
    >
      {jobs.map((job) => (
        <tr key={job.id} className="relative hover:bg-sunken/60">
          <Cell className="w-full max-w-0 sm:w-auto sm:max-w-80">
            <Link
              to="/jobs"
              search={{ job: job.id }}
              className="block truncate rounded-sm font-medium after:absolute after:inset-0 hover:underline"
            >
              {titleOf(job)}
            </Link>
            {job.dry_run && <p className="text-xs text-faint">Preview</p>}
          </Cell>
          <Cell>
            <JobBadge job={job} />
          </Cell>
          <Cell className="hidden text-soft tabular-nums sm:table-cell">{progressText(job)}</Cell>
          <Cell className="hidden text-soft md:table-cell">{job.created_by}</Cell>
          <Cell className="hidden text-soft md:table-cell">
            <Time at={job.created} />
          </Cell>
        </tr>
      ))}
    </Table>
  )
}

function JobDetails({ id, onClose }: { id: string; onClose: () => void }) {
  const navigate = route.useNavigate()
  const { data: job, error } = useQuery(jobQuery(id))
  useRefreshAfter(job)
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
            <Other name="Undoes" id={job.undoes} />
            <Other name="Undone by" id={job.undone_by} />
          </Facts>
          {!isRunning(job) && <JobResults key={job.id} job={job} />}
        </div>
      )}
    </Dialog>
  )
}

function Other({ name, id }: { name: string; id: string | null }) {
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
  if (undoes !== null) return 'Monitors that the other job changed'
  if (monitors !== null) return `${monitors.toLocaleString()} selected`
  const fields = Object.entries(filter ?? requests ?? {})
  return fields.length === 0 ? 'All' : fields.map(([name, value]) => `${name}: ${String(value)}`).join(', ')
}
