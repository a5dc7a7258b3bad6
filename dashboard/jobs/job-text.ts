import type { Job } from '#contract/jobs.ts'
import { monitorsText, plural } from '#contract/wording.ts'

const requestsText = (count: number): string => plural(count, '1 request', (number) => `${number} requests`)
export const objectsText = (action: Job['action'], count: number): string =>
  action === 'retry_requests' ? requestsText(count) : monitorsText(count)

export const findingText = (action: Job['action']): string =>
  action === 'retry_requests' ? 'Finding the requests' : 'Finding the monitors'

const FIELDS: Record<string, string> = {
  expected_value: 'Expected values',
  is_exact_match: 'Exact match',
  is_active: 'Enabled',
  notify: 'Webhook notifications',
  frequency: 'Interval',
  group: 'Group',
  record_type: 'Record type',
  domain: 'Domain',
  subdomain: 'Subdomain',
  tags: 'Tags',
  status: 'Status',
}
export const fieldLabel = (name: string): string => FIELDS[name] ?? name

export function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ')
  if (typeof value === 'boolean') return value ? 'Yes' : 'No'
  return String(value)
}

/** The title of a job. */
export function titleOf({ action, change }: Pick<Job, 'action' | 'change'>): string {
  switch (action) {
    case 'update':
      return updateTitle(change ?? {})
    case 'move':
      return `Move to group ${change?.group ?? ''}`
    case 'replace':
      return `Replace ${valueText(change?.value)} with ${valueText(change?.replacement)}`
    case 'tag':
      return `Add tags: ${valueText(change?.tags ?? [])}`
    case 'untag':
      return `Remove tags: ${valueText(change?.tags ?? [])}`
    case 'accept':
      return 'Accept current values'
    case 'plan':
      return `Plan a change from ${valueText(change?.value)} to ${valueText(change?.replacement)}`
    case 'unplan':
      return 'Cancel planned changes'
    case 'check':
      return 'Check now'
    case 'delete':
      return 'Delete'
    case 'retry_requests':
      return 'Send webhook requests again'
    case 'undo':
      return 'Undo'
  }
}

function updateTitle(change: Record<string, unknown>): string {
  const [only, ...others] = Object.entries(change)
  if (!only || others.length > 0) return `Change ${Object.keys(change).map(fieldLabel).join(', ').toLowerCase()}`
  const [name, value] = only
  if (name === 'is_active') return value ? 'Enable' : 'Disable'
  if (name === 'frequency') return `Set the check interval to ${value} minutes`
  return `Set ${fieldLabel(name).toLowerCase()} to ${valueText(value)}`
}

type Words = { would: string; did: string; cannot: string }

const CHANGE: Words = { would: 'would change', did: 'changed', cannot: 'cannot change' }

/** What an action does to its monitors or requests, in the preview and in the result. */
const WORDS: Record<Job['action'], Words> = {
  update: CHANGE,
  move: { would: 'would move', did: 'moved', cannot: 'cannot move' },
  replace: CHANGE,
  tag: CHANGE,
  untag: CHANGE,
  accept: CHANGE,
  plan: { would: 'would get a planned change', did: 'with a planned change', cannot: 'cannot get one' },
  unplan: {
    would: 'would lose the planned change',
    did: 'without the planned change',
    cannot: 'would keep the planned change',
  },
  check: { would: 'would be checked', did: 'due for a check', cannot: 'cannot be checked' },
  delete: { would: 'would be deleted', did: 'deleted', cannot: 'cannot be deleted' },
  retry_requests: { would: 'would be sent again', did: 'queued again', cannot: 'cannot be sent again' },
  undo: CHANGE,
}

type JobKind = Pick<Job, 'action' | 'dry_run'>
export const changedText = ({ action, dry_run }: JobKind): string => WORDS[action][dry_run ? 'would' : 'did']
export const failedText = ({ action, dry_run }: JobKind): string => (dry_run ? WORDS[action].cannot : 'failed')

type JobCounts = JobKind & Pick<Job, 'state' | 'total' | 'done' | 'changed' | 'failed'>

/** The progress or the result of a job. */
export function progressText(job: JobCounts): string {
  const { action, state, total, done, changed, failed } = job
  if (state === 'queued') return 'Waiting for earlier jobs'
  if (total === null) return state === 'running' ? findingText(action) : 'Nothing was changed.'
  if (state === 'running') return `${done.toLocaleString()} of ${objectsText(action, total)}`
  const parts = [
    `${objectsText(action, changed)} ${changedText(job)}`,
    failed > 0 && `${failed.toLocaleString()} ${failedText(job)}`,
    done - changed - failed > 0 && `${(done - changed - failed).toLocaleString()} unchanged`,
    total > done && `${(total - done).toLocaleString()} not processed`,
  ]
  return parts.filter((part) => part !== false).join(', ')
}
