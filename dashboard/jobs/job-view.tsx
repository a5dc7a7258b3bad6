import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { CircleAlert, CircleCheck, CirclePause, Download, Hourglass, Undo2 } from 'lucide-react'
import { useState } from 'react'
import type { Job, JobResult } from '#contract/jobs.ts'
import { plural } from '#contract/wording.ts'
import { organizationUrl } from '../api.ts'
import { useSession } from '../session.tsx'
import { Button, ButtonAnchor } from '../ui/button.tsx'
import { Code, Skeleton } from '../ui/page.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { Badge } from '../ui/state.tsx'
import { Pager } from '../ui/table.tsx'
import { changedText, changeText, failedText, fieldLabel, progressText } from './job-text.ts'
import { cancelJob, isRunning, resultsQuery, undoJob } from './queries.ts'

export function JobBadge({ job: { state } }: { job: Job }) {
  switch (state) {
    case 'finished':
      return <Badge tone="good" icon={CircleCheck} label="Finished" />
    case 'canceled':
      return <Badge tone="idle" icon={CirclePause} label="Canceled" />
    case 'failed':
      return <Badge tone="bad" icon={CircleAlert} label="Failed" />
    case 'queued':
    case 'running':
      return <Badge tone="warn" icon={Hourglass} label={state === 'queued' ? 'Queued' : 'Running'} />
  }
}

/** Progress, result and actions. `onUndo` receives the job that undoes this one. */
export function JobProgress({ job, onUndo }: { job: Job; onUndo: (undo: Job) => void }) {
  const share = job.total === null || job.total === 0 ? 0 : (100 * job.done) / job.total
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="flex flex-wrap items-center gap-2 text-sm tabular-nums" aria-live="polite">
          <JobBadge job={job} /> {progressText(job)}
        </p>
        <JobButtons job={job} onUndo={onUndo} />
      </div>
      {isRunning(job) && (
        <div
          role="progressbar"
          aria-label="Progress"
          aria-valuenow={Math.round(share)}
          aria-valuemax={100}
          className="h-1.5 w-full overflow-hidden rounded-full bg-sunken"
        >
          <div className="h-full bg-accent" style={{ width: `${share}%` }} />
        </div>
      )}
      {job.undo_missing > 0 && (
        <p className="text-sm text-warn">
          {plural(job.undo_missing, '1 result is', (count) => `${count} results are`)} stored without the values before
          and after, so an undo does not revert them: the results of jobs have reached the storage limit of the
          organization.
        </p>
      )}
      {job.error !== null && <p className="text-sm text-bad">{job.error}</p>}
    </div>
  )
}

function JobButtons({ job, onUndo }: { job: Job; onUndo: (undo: Job) => void }) {
  const { can } = useSession()
  const queries = useQueryClient()
  const onSuccess = () => queries.invalidateQueries({ queryKey: ['jobs'] })
  const cancel = useMutation({ mutationFn: () => cancelJob(job.id), onSuccess })
  const undo = useMutation({
    mutationFn: () => undoJob(job.id),
    onSuccess: (created) => {
      void onSuccess()
      onUndo(created)
    },
  })
  if (!can('write')) return null
  const isUndoable = job.undo_until !== null && Date.parse(job.undo_until) > Date.now() && job.undone_by === null
  const problem = cancel.error ?? undo.error
  return (
    <>
      {isRunning(job) && (
        <Button size="sm" isBusy={cancel.isPending} onClick={() => cancel.mutate()}>
          Cancel
        </Button>
      )}
      {isUndoable && (
        <Button size="sm" isBusy={undo.isPending} onClick={() => undo.mutate()}>
          <Undo2 /> Undo
        </Button>
      )}
      {problem && <ProblemNote problem={problem} />}
    </>
  )
}

const PAGE_SIZE = 20

/** One line for each monitor or request that the job processed. */
export function JobResults({ job }: { job: Job }) {
  const [state, setState] = useState(job.failed > 0 && job.changed === 0 ? 'failed' : 'changed')
  const [cursor, setCursor] = useState<{ after?: string; before?: string }>({})
  const { data: page, error } = useQuery(resultsQuery(job, { state, limit: PAGE_SIZE, ...cursor }))
  const show = (next: string) => {
    setState(next)
    setCursor({})
  }
  if (error && !page) return <ProblemNote problem={error} />
  return (
    <div>
      {job.failed > 0 && job.changed > 0 && (
        <div className="mb-2 flex gap-1">
          {(['changed', 'failed'] as const).map((each) => (
            <Button
              key={each}
              size="sm"
              variant={state === each ? 'plain' : 'quiet'}
              aria-pressed={state === each}
              onClick={() => show(each)}
            >
              {each === 'failed'
                ? `${job.failed.toLocaleString()} ${failedText(job)}`
                : `${job.changed.toLocaleString()} ${changedText(job)}`}
            </Button>
          ))}
        </div>
      )}
      {!page ? (
        <Skeleton lines={4} />
      ) : (
        <ul className="divide-y divide-line rounded-md border border-line" aria-label="Results">
          {page.data.map((result) => (
            <Result key={result.id} result={result} />
          ))}
          {page.data.length === 0 && <li className="px-3 py-2 text-sm text-faint">No results.</li>}
        </ul>
      )}
      {page !== undefined && page.data.length > 0 && (
        <ButtonAnchor
          size="sm"
          variant="quiet"
          href={organizationUrl(`/dashboard/api/jobs/${job.id}/results.csv`, { state })}
          download
          className="mt-2"
        >
          <Download /> Export CSV
        </ButtonAnchor>
      )}
      <Pager page={page} onAfter={(after) => setCursor({ after })} onBefore={(before) => setCursor({ before })} />
    </div>
  )
}

function Result({ result: { id, name, before, after, error, errors } }: { result: JobResult }) {
  return (
    <li className="px-3 py-2">
      <Code className="text-sm">{name ?? id}</Code>
      {error !== null && <p className="text-sm text-bad">{error}</p>}
      {Object.entries(errors ?? {}).map(([field, message]) => (
        <p key={field} className="text-sm text-bad">
          <span className="font-mono text-xs">{field}</span> {message}
        </p>
      ))}
      {before && after && (
        <dl className="text-xs text-soft">
          {changedFields(before, after).map(([field, value]) => (
            <div key={field} className="flex flex-wrap gap-x-1.5">
              <dt className="text-faint">{fieldLabel(field)}</dt>
              <dd className="min-w-0 break-all">{changeText(before[field], value)}</dd>
            </div>
          ))}
        </dl>
      )}
    </li>
  )
}

const changedFields = (before: Record<string, unknown>, after: Record<string, unknown>) =>
  Object.entries(after).filter(([field, value]) => JSON.stringify(before[field]) !== JSON.stringify(value))
