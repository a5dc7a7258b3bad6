import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react'
import type { Job } from '#contract/jobs.ts'
import { ApiProblem } from '../api.ts'
import { tagsOf } from '../labels/labels-draft.ts'
import { useGroups, useShortestFrequency } from '../monitors/settings.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Checkbox, Field, Input, TextArea } from '../ui/field.tsx'
import { Skeleton } from '../ui/page.tsx'
import { FromToFields, fromLocalInput, nextHours } from '../ui/period.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { Select } from '../ui/select.tsx'
import { BULK_ACTIONS, type BulkAction, type JobParameters, type JobTarget } from './bulk-actions.ts'
import { findingText, objectsText, progressText, verbOf } from './job-text.ts'
import { JobProgress, JobResults } from './job-view.tsx'
import { cancelJob, createJob, isRunning, jobQuery, useRefreshAfterJob } from './queries.ts'

/** Importing the constant of contract/ would load its schemas too. */
const MAX_PLAN_DAYS = 90

type BulkActionProps = { act: BulkAction; target: JobTarget; onClose: (isStarted: boolean) => void }

/** Asks for the parameters of an action before its job. */
export function BulkActionDialog({ act, target, onClose }: BulkActionProps) {
  const { label, ...action }: { label: string; parameters?: JobParameters } = BULK_ACTIONS[act]
  const [parameters, setParameters] = useState(action.parameters)
  const close = () => onClose(false)
  if (!parameters)
    return (
      <Dialog isOpen isWide isPersistent onClose={close} title={label}>
        <ParametersForm act={act} onSubmit={setParameters} onClose={close} />
      </Dialog>
    )
  const back = action.parameters ? undefined : () => setParameters(undefined)
  return <JobDialog title={label} parameters={parameters} target={target} onBack={back} onClose={onClose} />
}

type JobProps = {
  title: string
  parameters: JobParameters
  target: JobTarget
  /** To the form of the parameters. */
  onBack?: (() => void) | undefined
  onClose: (isStarted: boolean) => void
}

/** Previews the changes of a job by a dry run, and starts it. Closing the dialog does not stop the job. */
export function JobDialog({ title, onClose, ...preview }: JobProps) {
  const [started, setStarted] = useState<Job>()
  const close = () => onClose(started !== undefined)
  return (
    <Dialog isOpen isWide isPersistent onClose={close} title={started?.action === 'undo' ? 'Undo' : title}>
      {started ? (
        <StartedJob key={started.id} started={started} onUndo={setStarted} onClose={close} />
      ) : (
        <Preview {...preview} onCancel={close} onStart={setStarted} />
      )}
    </Dialog>
  )
}

const Buttons = ({ children }: { children: ReactNode }) => (
  <div className="mt-5 flex flex-wrap justify-end gap-2">{children}</div>
)

function ParametersForm({
  act,
  onSubmit,
  onClose,
}: {
  act: BulkAction
  onSubmit: (parameters: JobParameters) => void
  onClose: () => void
}) {
  const form = useId()
  const groups = useGroups() ?? []
  const shortest = useShortestFrequency()
  const [text, setText] = useState(act === 'frequency' ? '10' : '')
  const [replacement, setReplacement] = useState('')
  const [mode, setMode] = useState<'keep' | 'exact' | 'flexible'>('keep')
  const [period, setPeriod] = useState(() => nextHours(24))
  const [error, setError] = useState<string>()
  const group = groups.find(({ slug }) => slug === text) ?? groups[0]
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (act === 'move') return group && onSubmit({ action: 'move', group: group.slug })
    if (act === 'frequency') {
      const frequency = Number(text)
      const isValid = Number.isInteger(frequency) && frequency >= shortest && frequency <= 120
      if (!isValid) return setError(`Enter a whole number from ${shortest} to 120.`)
      return onSubmit({ action: 'update', change: { frequency } })
    }
    if (act === 'tag' || act === 'untag') {
      const tags = tagsOf(text)
      return tags.length === 0 ? setError('Enter at least one tag.') : onSubmit({ action: act, tags })
    }
    if (act === 'replace' || act === 'plan') {
      const [value, next] = [text.trim(), replacement.trim()]
      if (value === '' || next === '') return setError('Enter both values.')
      if (act === 'replace') return onSubmit({ action: 'replace', value, replacement: next })
      const [from, to] = [fromLocalInput(period.from), fromLocalInput(period.to)]
      if (from === undefined || to === undefined) return setError('Enter when the period begins and ends.')
      return onSubmit({ action: 'plan', value, replacement: next, from, to })
    }
    const expected_value = text.split('\n').flatMap((line) => line.trim() || [])
    if (expected_value.length === 0) return setError('Enter at least one value.')
    const is_exact_match = mode === 'keep' ? {} : { is_exact_match: mode === 'exact' }
    onSubmit({ action: 'update', change: { expected_value, ...is_exact_match } })
  }
  return (
    <form id={form} onSubmit={submit} noValidate className="flex flex-col gap-4">
      {act === 'move' && (
        <Field label="Group" hint="The webhooks of the new group receive their changes from now on.">
          <Select
            value={group?.slug ?? ''}
            onChange={setText}
            options={groups.map(({ slug, name }) => ({ value: slug, label: name }))}
          />
        </Field>
      )}
      {act === 'frequency' && (
        <Field label="Check interval in minutes" hint={`${shortest} to 120.`} error={error}>
          <Input inputMode="numeric" value={text} onChange={(event) => setText(event.currentTarget.value)} />
        </Field>
      )}
      {act === 'expect' && (
        <>
          <Field
            label="Expected values"
            hint="One per line, at most 10. They replace the expected values of every selected monitor."
            error={error}
          >
            <TextArea isCode value={text} onChange={(event) => setText(event.currentTarget.value)} />
          </Field>
          <Field label="Matching">
            <Select
              value={mode}
              onChange={setMode}
              options={[
                { value: 'keep', label: 'Do not change' },
                { value: 'exact', label: 'Exact: these records and no others' },
                { value: 'flexible', label: 'Flexible: other records are allowed' },
              ]}
            />
          </Field>
        </>
      )}
      {act === 'plan' && (
        <p className="text-sm text-soft">
          During the period, the old value, the new one and a mix of both are valid. A monitor whose new value has not
          arrived when it ends fails.
        </p>
      )}
      {(act === 'replace' || act === 'plan') && (
        <>
          <Field
            label="Expected value"
            hint="The whole value, such as 192.0.2.1 or 10 mail.example.com. Monitors without it are not changed."
            error={error}
          >
            <Input isCode value={text} onChange={(event) => setText(event.currentTarget.value)} />
          </Field>
          <Field label="New value" hint="Other expected values of a monitor are kept.">
            <Input isCode value={replacement} onChange={(event) => setReplacement(event.currentTarget.value)} />
          </Field>
        </>
      )}
      {act === 'plan' && (
        <div className="grid gap-3 sm:grid-cols-2">
          <FromToFields
            form={period}
            set={(part) => setPeriod({ ...period, ...part })}
            problem={undefined}
            toHint={`At most ${MAX_PLAN_DAYS} days later.`}
          />
        </div>
      )}
      {(act === 'tag' || act === 'untag') && (
        <Field label="Tags" hint="Separated by spaces. Case-sensitive. Other tags are kept." error={error}>
          <Input isCode value={text} onChange={(event) => setText(event.currentTarget.value)} placeholder="prod eu" />
        </Field>
      )}
      <Buttons>
        <Button onClick={onClose}>Cancel</Button>
        <Button variant="primary" type="submit">
          Preview
        </Button>
      </Buttons>
    </form>
  )
}

type PreviewProps = Pick<JobProps, 'parameters' | 'target' | 'onBack'> & {
  onCancel: () => void
  onStart: (job: Job) => void
}

function Preview({ parameters, target, onBack, onCancel, onStart }: PreviewProps) {
  const dryRun = useMutation({ mutationFn: () => createJob({ ...parameters, ...target, dry_run: true }) })
  const [deletesGroups, setDeletesGroups] = useState(false)
  const groups = deletesGroups ? { delete_empty_groups: true } : {}
  const start = useMutation({
    mutationFn: () => createJob({ ...parameters, ...groups, ...target }),
    onSuccess: onStart,
  })
  const { mutate } = dryRun
  useEffect(() => mutate(), [mutate])
  const { data: job, error } = useQuery({ ...jobQuery(dryRun.data?.id ?? ''), enabled: dryRun.data !== undefined })
  // Cancels an unused preview, because the next job would wait for it.
  const running = useRef<string>(undefined)
  running.current = job === undefined || isRunning(job) ? dryRun.data?.id : undefined
  useEffect(() => () => void (running.current && cancelJob(running.current).catch(() => {})), [])
  const problem = dryRun.error ?? error ?? start.error
  const isReady = job !== undefined && !isRunning(job)
  const isDangerous = parameters.action === 'delete'
  return (
    <div>
      {problem && <ProblemNote problem={problem} />}
      {dryRun.error && isTemporary(dryRun.error) && (
        <Button size="sm" className="mt-3" onClick={() => mutate()}>
          Try again
        </Button>
      )}
      {!isReady && !problem && (
        <div role="status" className="flex flex-col gap-3">
          <p className="text-sm text-soft tabular-nums">
            Preview: {job ? progressText(job) : findingText(parameters.action)}
          </p>
          <Skeleton lines={4} />
        </div>
      )}
      {isReady && (
        <div className="flex flex-col gap-3">
          <p className="text-sm tabular-nums">{progressText(job)}.</p>
          {isDangerous && (
            <>
              <p className="text-sm text-soft">
                Zonewatch stops checking them. You can undo this for 24 hours, but their event history is not restored.
              </p>
              <Checkbox
                label="Delete their groups too, if no monitor is left in them"
                hint="The default group stays. An undo puts the monitors of deleted groups into the default group."
                isChecked={deletesGroups}
                onChange={setDeletesGroups}
              />
            </>
          )}
          <JobResults job={job} />
        </div>
      )}
      <Buttons>
        {onBack ? <Button onClick={onBack}>Back</Button> : <Button onClick={onCancel}>Cancel</Button>}
        <Button
          variant={isDangerous ? 'danger' : 'primary'}
          disabled={!isReady || job.changed === 0}
          isBusy={start.isPending}
          onClick={() => start.mutate()}
        >
          {isReady && job.changed > 0
            ? `${verbOf(parameters.action)} ${objectsText(parameters.action, job.changed)}`
            : verbOf(parameters.action)}
        </Button>
      </Buttons>
    </div>
  )
}

/** The server cannot be reached, is busy or failed. Another attempt of a refused request would be refused too. */
const isTemporary = (error: unknown): boolean =>
  !(error instanceof ApiProblem && error.status >= 400 && error.status < 500 && error.status !== 429)

function StartedJob({ started, onUndo, onClose }: { started: Job; onUndo: (job: Job) => void; onClose: () => void }) {
  const { data: job = started } = useQuery(jobQuery(started.id))
  useRefreshAfterJob(job)
  return (
    <div className="flex flex-col gap-4">
      <JobProgress job={job} onUndo={onUndo} />
      {!isRunning(job) && job.failed > 0 && <JobResults job={job} />}
      {isRunning(job) && (
        <p className="text-sm text-soft">
          You can close this dialog. The job continues in the background, under{' '}
          <Link to="/jobs" className="underline">
            Jobs
          </Link>
          .
        </p>
      )}
      <Buttons>
        <Button variant="primary" onClick={onClose}>
          Close
        </Button>
      </Buttons>
    </div>
  )
}
