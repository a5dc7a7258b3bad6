import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react'
import type { Job, NewJob } from '#contract/jobs.ts'
import { tagsOf } from '../labels/labels-draft.ts'
import { useGroups, useShortestFrequency } from '../monitors/new-settings.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Input, TextArea } from '../ui/field.tsx'
import { Skeleton } from '../ui/page.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { Select } from '../ui/select.tsx'
import { JobProgress, JobResults } from './job-view.tsx'
import { findingText, objectsText, progressText } from './job-words.ts'
import { cancelJob, createJob, isRunning, jobQuery, useRefreshAfter } from './queries.ts'

/** What a job can do to the monitors of a list, and to undelivered requests. */
const TITLES = {
  check: 'Check now',
  enable: 'Enable',
  disable: 'Disable',
  move: 'Move to group',
  frequency: 'Set check interval',
  expect: 'Set expected values',
  replace: 'Replace an expected value',
  accept: 'Accept current values',
  tag: 'Add tags',
  untag: 'Remove tags',
  delete: 'Delete',
  retry: 'Send requests again',
}
export type JobAct = keyof typeof TITLES
export type JobTarget = Pick<NewJob, 'monitors' | 'filter' | 'all' | 'requests'>

type Wanted = Omit<NewJob, keyof JobTarget>

/** Acts that need nothing else to be known. */
const PLAIN: Partial<Record<JobAct, Wanted>> = {
  check: { action: 'check' },
  enable: { action: 'update', change: { is_active: true } },
  disable: { action: 'update', change: { is_active: false } },
  accept: { action: 'accept' },
  delete: { action: 'delete' },
  retry: { action: 'retry_requests' },
}

type Props = { act: JobAct; target: JobTarget; onClose: () => void }

/** Asks what to set, shows by a dry run what would change, and then carries it out. Closing it leaves the job running. */
export function JobDialog({ act, target, onClose }: Props) {
  const [wanted, setWanted] = useState<Wanted | undefined>(PLAIN[act])
  const [started, setStarted] = useState<Job>()
  return (
    <Dialog isOpen isWide isPersistent onClose={onClose} title={started?.action === 'undo' ? 'Undo' : TITLES[act]}>
      {started ? (
        <Running key={started.id} started={started} onUndo={setStarted} onClose={onClose} />
      ) : wanted ? (
        <Preview
          wanted={wanted}
          target={target}
          isAsked={PLAIN[act] === undefined}
          onBack={PLAIN[act] ? onClose : () => setWanted(undefined)}
          onStart={setStarted}
        />
      ) : (
        <WantedForm act={act} onWanted={setWanted} onClose={onClose} />
      )}
    </Dialog>
  )
}

/** The buttons of a step, main one last. */
const Buttons = ({ children }: { children: ReactNode }) => (
  <div className="mt-5 flex flex-wrap justify-end gap-2">{children}</div>
)

function WantedForm({
  act,
  onWanted,
  onClose,
}: {
  act: JobAct
  onWanted: (wanted: Wanted) => void
  onClose: () => void
}) {
  const form = useId()
  const groups = useGroups() ?? []
  const least = useShortestFrequency()
  const [text, setText] = useState(act === 'frequency' ? '10' : '')
  const [replacement, setReplacement] = useState('')
  const [mode, setMode] = useState<'keep' | 'exact' | 'flexible'>('keep')
  const [error, setError] = useState<string>()
  const group = groups.find(({ slug }) => slug === text) ?? groups[0]
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (act === 'move') return group && onWanted({ action: 'move', group: group.slug })
    if (act === 'frequency') {
      const frequency = Number(text)
      const isRight = Number.isInteger(frequency) && frequency >= least && frequency <= 120
      if (!isRight) return setError(`Enter a whole number from ${least} to 120.`)
      return onWanted({ action: 'update', change: { frequency } })
    }
    if (act === 'tag' || act === 'untag') {
      const tags = tagsOf(text)
      return tags.length === 0 ? setError('Enter at least one tag.') : onWanted({ action: act, tags })
    }
    if (act === 'replace') {
      const [value, next] = [text.trim(), replacement.trim()]
      if (value === '' || next === '') return setError('Enter both values.')
      return onWanted({ action: 'replace', value, replacement: next })
    }
    const expected_value = text.split('\n').flatMap((line) => line.trim() || [])
    if (expected_value.length === 0) return setError('Enter at least one value.')
    const is_exact_match = mode === 'keep' ? {} : { is_exact_match: mode === 'exact' }
    onWanted({ action: 'update', change: { expected_value, ...is_exact_match } })
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
        <Field label="Check interval in minutes" hint={`${least} to 120.`} error={error}>
          <Input inputMode="numeric" value={text} onChange={(event) => setText(event.currentTarget.value)} />
        </Field>
      )}
      {act === 'expect' && (
        <>
          <Field
            label="Expected values"
            hint="One on each line, at most 10. They replace the expected values of every selected monitor."
            error={error}
          >
            <TextArea isCode value={text} onChange={(event) => setText(event.currentTarget.value)} />
          </Field>
          <Field label="Matching">
            <Select
              value={mode}
              onChange={setMode}
              options={[
                { value: 'keep', label: 'Keep as it is' },
                { value: 'exact', label: 'Exact: these records and no others' },
                { value: 'flexible', label: 'Flexible: other records are allowed' },
              ]}
            />
          </Field>
        </>
      )}
      {act === 'replace' && (
        <>
          <Field
            label="Expected value"
            hint="The whole value, such as 192.0.2.1 or 10 mail.example.com. Monitors without it stay as they are."
            error={error}
          >
            <Input isCode value={text} onChange={(event) => setText(event.currentTarget.value)} />
          </Field>
          <Field label="New value" hint="Other expected values of a monitor stay.">
            <Input isCode value={replacement} onChange={(event) => setReplacement(event.currentTarget.value)} />
          </Field>
        </>
      )}
      {(act === 'tag' || act === 'untag') && (
        <Field label="Tags" hint="Separated by spaces. Letter case matters. Other tags stay." error={error}>
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

type PreviewProps = {
  wanted: Wanted
  isAsked: boolean
  target: JobTarget
  onBack: () => void
  onStart: (job: Job) => void
}

function Preview({ wanted, isAsked, target, onBack, onStart }: PreviewProps) {
  const dryRun = useMutation({ mutationFn: () => createJob({ ...wanted, ...target, dry_run: true }) })
  const start = useMutation({ mutationFn: () => createJob({ ...wanted, ...target }), onSuccess: onStart })
  const { mutate } = dryRun
  useEffect(() => mutate(), [mutate])
  const { data: job, error } = useQuery({ ...jobQuery(dryRun.data?.id ?? ''), enabled: dryRun.data !== undefined })
  // A preview that nobody waits for would keep the next job waiting.
  const running = useRef<string>(undefined)
  running.current = job === undefined || isRunning(job) ? dryRun.data?.id : undefined
  useEffect(() => () => void (running.current && cancelJob(running.current).catch(() => {})), [])
  const problem = dryRun.error ?? error ?? start.error
  const isReady = job !== undefined && !isRunning(job)
  const isDangerous = wanted.action === 'delete'
  return (
    <div>
      {problem && <ProblemNote problem={problem} />}
      {!isReady && !problem && (
        <div role="status" className="flex flex-col gap-3">
          <p className="text-sm text-soft tabular-nums">
            Preview: {job ? progressText(job) : findingText(wanted.action)}
          </p>
          <Skeleton lines={4} />
        </div>
      )}
      {isReady && (
        <div className="flex flex-col gap-3">
          <p className="text-sm tabular-nums">{progressText(job)}.</p>
          {isDangerous && (
            <p className="text-sm text-soft">
              Zonewatch stops checking them. You can undo this for 24 hours, but their event history does not return.
            </p>
          )}
          <JobResults job={job} />
        </div>
      )}
      <Buttons>
        <Button onClick={onBack}>{isAsked ? 'Back' : 'Cancel'}</Button>
        <Button
          variant={isDangerous ? 'danger' : 'primary'}
          disabled={!isReady || job.changed === 0}
          isBusy={start.isPending}
          onClick={() => start.mutate()}
        >
          {isReady && job.changed > 0
            ? `${VERBS[wanted.action]} ${objectsText(wanted.action, job.changed)}`
            : VERBS[wanted.action]}
        </Button>
      </Buttons>
    </div>
  )
}

const VERBS: Record<NewJob['action'], string> = {
  update: 'Change',
  move: 'Move',
  replace: 'Change',
  tag: 'Tag',
  untag: 'Untag',
  accept: 'Change',
  check: 'Check',
  delete: 'Delete',
  retry_requests: 'Send again',
}

function Running({ started, onUndo, onClose }: { started: Job; onUndo: (job: Job) => void; onClose: () => void }) {
  const { data: job = started } = useQuery(jobQuery(started.id))
  useRefreshAfter(job)
  return (
    <div className="flex flex-col gap-4">
      <JobProgress job={job} onUndo={onUndo} />
      {!isRunning(job) && job.failed > 0 && <JobResults job={job} />}
      {isRunning(job) && (
        <p className="text-sm text-soft">
          You can close this. The job continues in the background, under{' '}
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
