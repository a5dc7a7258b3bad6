import type { Job } from '#contract/jobs.ts'
import type { PlannedChangeCounts } from '#contract/planned-changes.ts'
import { monitorsText, plural } from '#contract/wording.ts'
import { diffOf } from '../events/value-diff.ts'
import { fullTime } from '../ui/time.tsx'

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
  resolution: 'Answers that count',
  group: 'Group',
  record_type: 'Record type',
  domain: 'Domain',
  subdomain: 'Subdomain',
  full_domain: 'Name',
  external_id: 'External id',
  tags: 'Tags',
  metadata: 'Metadata',
  until: 'Until',
  setup_page: 'Setup page',
  from: 'From',
  to: 'To',
  status: 'Status',
}
export const fieldLabel = (name: string): string => FIELDS[name] ?? name

const INSTANT = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/

/** A value of a field in a sentence. Times are in the user's time zone. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined || value === '') return 'none'
  if (typeof value === 'boolean') return value ? 'Yes' : 'No'
  if (typeof value === 'string') return INSTANT.test(value) ? fullTime(value) : value
  if (typeof value !== 'object') return String(value)
  const items = Array.isArray(value) ? value : Object.entries(value).map(([key, item]) => `${key}: ${valueText(item)}`)
  return items.join(', ') || 'none'
}

/** What a job did to a field. Of lists, only the differing items. A field without a value before is new, as the period of a plan. */
export function changeText(before: unknown, after: unknown): string {
  if (before === undefined) return valueText(after)
  if (!Array.isArray(before) || !Array.isArray(after)) return `${valueText(before)} → ${valueText(after)}`
  const lines = (diffOf(before, after) ?? []).filter(({ mark }) => mark !== 'kept')
  const of = (mark: string) => lines.flatMap((line) => (line.mark === mark ? [line.value] : [])).join(', ')
  return `${of('removed') || 'none'} → ${of('added') || 'none'}`
}

/** How far the changes are that a job planned. */
export function migrationText({ total, done, ...others }: PlannedChangeCounts): string {
  const parts = [
    `${done.toLocaleString('en')} of ${plural(total, '1 change', (number) => `${number} changes`)} done`,
    ...Object.entries(others)
      .filter(([, count]) => count > 0)
      .map(([state, count]) => `${count.toLocaleString('en')} ${state.replace('_', ' ')}`),
  ]
  return parts.join(', ')
}

type Change = Record<string, unknown>
type ActionText = {
  title: (change: Change) => string
  /** The button that starts it. */
  verb: string
  /** What happens to its monitors or requests, in the preview and in the result. */
  would: string
  did: string
  cannot: string
}

const CHANGE = { verb: 'Change', would: 'would change', did: 'changed', cannot: 'cannot change' }

const ACTIONS: Record<Job['action'], ActionText> = {
  update: { ...CHANGE, title: updateTitle },
  move: {
    title: ({ group }) => `Move to group ${group ?? ''}`,
    ...{ verb: 'Move', would: 'would move', did: 'moved', cannot: 'cannot move' },
  },
  replace: {
    ...CHANGE,
    title: ({ value, replacement }) => `Replace ${valueText(value)} with ${valueText(replacement)}`,
  },
  tag: { ...CHANGE, verb: 'Tag', title: ({ tags }) => `Add tags: ${valueText(tags ?? [])}` },
  untag: { ...CHANGE, verb: 'Untag', title: ({ tags }) => `Remove tags: ${valueText(tags ?? [])}` },
  accept: { ...CHANGE, title: () => 'Accept current values' },
  plan: {
    title: ({ value, replacement }) => `Plan a change from ${valueText(value)} to ${valueText(replacement)}`,
    verb: 'Plan',
    would: 'would get a planned change',
    did: 'with a planned change',
    cannot: 'cannot get one',
  },
  unplan: {
    title: () => 'Cancel planned changes',
    verb: 'Cancel',
    would: 'would lose the planned change',
    did: 'without the planned change',
    cannot: 'would keep the planned change',
  },
  check: {
    title: () => 'Check now',
    ...{ verb: 'Check', would: 'would be checked', did: 'due for a check', cannot: 'cannot be checked' },
  },
  delete: {
    title: ({ delete_empty_groups }) => (delete_empty_groups ? 'Delete, and the groups left empty' : 'Delete'),
    ...{ verb: 'Delete', would: 'would be deleted', did: 'deleted', cannot: 'cannot be deleted' },
  },
  retry_requests: {
    title: () => 'Send webhook requests again',
    ...{ verb: 'Send again', would: 'would be sent again', did: 'queued again', cannot: 'cannot be sent again' },
  },
  undo: { ...CHANGE, title: () => 'Undo' },
}

/** The title of a job. */
export const titleOf = ({ action, change }: Pick<Job, 'action' | 'change'>): string =>
  ACTIONS[action].title(change ?? {})

export const verbOf = (action: Job['action']): string => ACTIONS[action].verb

function updateTitle(change: Change): string {
  const [only, ...others] = Object.entries(change)
  if (!only || others.length > 0) return `Change ${Object.keys(change).map(fieldLabel).join(', ').toLowerCase()}`
  const [name, value] = only
  if (name === 'is_active') return value ? 'Enable' : 'Disable'
  if (name === 'frequency') return `Set the check interval to ${value} minutes`
  return `Set ${fieldLabel(name).toLowerCase()} to ${valueText(value)}`
}

type JobKind = Pick<Job, 'action' | 'dry_run'>
export const changedText = ({ action, dry_run }: JobKind): string => ACTIONS[action][dry_run ? 'would' : 'did']
export const failedText = ({ action, dry_run }: JobKind): string => (dry_run ? ACTIONS[action].cannot : 'failed')

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
