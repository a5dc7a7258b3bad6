import { type Static, Type } from 'typebox'
import { Instant, Nullable, pageQuery, type SchemaOptions, StrictObject, Time } from './common.ts'
import { FIELD_ERRORS, type FieldCode } from './field-errors.ts'
import { JOB_CODES, type JobCode } from './job-codes.ts'
import { MAX_TAGS, Tags, withMetadataFilters } from './labels.ts'
import { monitorFilters } from './monitor-list.ts'
import { MonitorChange } from './monitors.ts'
import { MAX_PLAN_DAYS } from './planned-changes.ts'
import { UndeliveredQuery } from './webhooks.ts'

type ActionParameter =
  | 'change'
  | 'group'
  | 'tags'
  | 'value'
  | 'replacement'
  | 'from'
  | 'to'
  | 'requests'
  | 'delete_empty_groups'
type Action = {
  /** The parameters that it needs beside its monitors, and those that it may have. */
  needs: readonly ActionParameter[]
  allows?: readonly ActionParameter[]
  isUndoable: boolean
  description: string
}

export const JOB_ACTIONS = {
  update: { needs: ['change'], isUndoable: true, description: 'sets the fields in `change`' },
  move: { needs: ['group'], isUndoable: true, description: 'moves to `group`' },
  replace: {
    needs: ['value', 'replacement'],
    isUndoable: true,
    description: 'puts `replacement` in the place of the expected value `value` and keeps the other values',
  },
  tag: { needs: ['tags'], isUndoable: true, description: 'adds `tags` and keeps the other tags' },
  untag: { needs: ['tags'], isUndoable: true, description: 'removes `tags` and keeps the other tags' },
  accept: { needs: [], isUndoable: true, description: 'makes the current value the expected value' },
  plan: {
    needs: ['value', 'replacement', 'to'],
    allows: ['from'],
    isUndoable: false,
    description: 'plans a change of the expected value `value` to `replacement` within the period `from` to `to`',
  },
  unplan: { needs: [], isUndoable: false, description: 'cancels open planned changes' },
  check: { needs: [], isUndoable: false, description: 'starts a check' },
  delete: {
    needs: [],
    allows: ['delete_empty_groups'],
    isUndoable: true,
    description: 'deletes the monitors and their events; their groups stay, unless `delete_empty_groups` is true',
  },
  retry_requests: {
    needs: ['requests'],
    isUndoable: false,
    description: 'sends webhook requests that were not delivered again, each with a new retry schedule',
  },
} as const satisfies Record<string, Action>

type NewJobAction = keyof typeof JOB_ACTIONS
/** `undo` is the action of a job that POST /jobs/{job}/undo creates. */
export type JobAction = NewJobAction | 'undo'
const NEW_JOB_ACTIONS = Object.keys(JOB_ACTIONS) as NewJobAction[]
export const JOB_STATES = ['queued', 'running', 'finished', 'canceled', 'failed'] as const
export type JobState = (typeof JOB_STATES)[number]
export const RESULT_STATES = ['changed', 'unchanged', 'failed'] as const
export type ResultState = (typeof RESULT_STATES)[number]

/** The most ids in a job. Filters can select more monitors. */
export const MAX_JOB_MONITORS = 10_000
/** The most queued and running jobs of an organization. */
export const MAX_UNFINISHED_JOBS = 20

const ACTION_DESCRIPTION = Object.entries(JOB_ACTIONS)
  .map(([action, { description }]) => `\`${action}\`: ${description}.`)
  .join(' ')

const filter = StrictObject(monitorFilters, {
  ...withMetadataFilters,
  description: 'The filters of GET /monitors. They are applied once, when the job starts.',
})
const { external_id: _id, until: _until, setup_page: _page, ...changed } = MonitorChange.properties
const SET_PER_MONITOR = 'belongs to one monitor. Use PATCH /monitors/{monitor}.'
const change = StrictObject(changed, {
  description: 'For `update`: what PATCH /monitors/{monitor} takes, without `external_id`, `until` and `setup_page`.',
  'x-elsewhere': {
    ...(MonitorChange as SchemaOptions)['x-elsewhere'],
    external_id: SET_PER_MONITOR,
    until: SET_PER_MONITOR,
    setup_page: SET_PER_MONITOR,
  },
})
const group = Type.String({
  minLength: 1,
  maxLength: 100,
  description: 'For `move`: the id or slug of a group. An unknown slug creates the group.',
})

const tags = Type.Array(Tags.items, {
  minItems: 1,
  maxItems: MAX_TAGS,
  description: `For \`tag\` and \`untag\`: at most ${MAX_TAGS} tags. Letter case matters.`,
})

const value = (description: string) => Type.String({ minLength: 1, maxLength: 1_000, description })

const { status, webhook_id, since } = UndeliveredQuery.properties
const requests = StrictObject(
  { status, webhook_id, since },
  {
    description:
      'For `retry_requests`, instead of `monitors`, `filter` and `all`: the filters of GET /webhook-requests. Empty: every request that was not delivered. They are applied once, when the job starts.',
  },
)

export const NewJob = StrictObject(
  {
    action: Type.Enum(NEW_JOB_ACTIONS, { type: 'string', description: ACTION_DESCRIPTION }),
    monitors: Type.Optional(
      Type.Array(Type.String({ maxLength: 40 }), {
        minItems: 1,
        maxItems: MAX_JOB_MONITORS,
        description: `Ids of monitors (\`mon_…\`), at most ${MAX_JOB_MONITORS}. Send exactly one of \`monitors\`, \`filter\` and \`all\`.`,
      }),
    ),
    filter: Type.Optional(filter),
    all: Type.Optional(Type.Literal(true, { type: 'boolean', description: 'Every monitor of the organization.' })),
    requests: Type.Optional(requests),
    change: Type.Optional(change),
    group: Type.Optional(group),
    tags: Type.Optional(tags),
    value: Type.Optional(
      value(
        'For `replace` and `plan`: the expected value to replace, as a whole. Monitors without it stay as they are.',
      ),
    ),
    replacement: Type.Optional(value('For `replace` and `plan`: the new expected value.')),
    from: Type.Optional(Time('For `plan`: when the period begins. Default: now.')),
    to: Type.Optional(Time(`For \`plan\`: when the period ends: at most ${MAX_PLAN_DAYS} days after \`from\`.`)),
    delete_empty_groups: Type.Optional(
      Type.Boolean({
        description:
          'For `delete`: whether groups in which no monitor is left are deleted too. The default group stays, and so do groups that were empty before. An undo restores their monitors in the default group. Default: false.',
      }),
    ),
    dry_run: Type.Optional(
      Type.Boolean({ description: 'Whether to report what the job would do without doing it. Default: false.' }),
    ),
  },
  {
    title: 'NewJob',
    examples: [
      {
        action: 'update',
        filter: { domain: 'example.com', record_type: 'A' },
        change: { expected_value: ['192.0.2.2'] },
      },
    ],
  },
)
export type NewJob = Static<typeof NewJob>

const Json = (description: string) =>
  Nullable(Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, description }))

export const Job = StrictObject(
  {
    id: Type.String({ description: 'Begins with `job_`.' }),
    created: Instant('When the job was created.'),
    created_by: Type.String({ description: 'The name of the person or key that created it.' }),
    action: Type.Enum([...NEW_JOB_ACTIONS, 'undo'] as JobAction[], {
      type: 'string',
      description: `${ACTION_DESCRIPTION} \`undo\`: undoes another job.`,
    }),
    dry_run: Type.Boolean({ description: 'Whether the job only reports what it would do.' }),
    state: Type.Enum(JOB_STATES, {
      type: 'string',
      description:
        '`queued`: waits for earlier jobs of the organization. `failed`: stopped by an error, which is in `error`; changes made until then are kept.',
    }),
    total: Nullable(
      Type.Integer({ description: 'How many monitors or requests it applies to; null until they are listed.' }),
    ),
    done: Type.Integer({ description: 'How many of them it has processed.' }),
    changed: Type.Integer({ description: 'How many of them it changed, or with `dry_run` would change.' }),
    failed: Type.Integer({ description: 'How many of them it could not change. The results say why.' }),
    started: Nullable(Instant('When it began.')),
    finished: Nullable(Instant('When it finished, was canceled or failed.')),
    monitors: Nullable(Type.Integer({ description: 'How many ids the request named; null otherwise.' })),
    filter: Json('The filters of the request; empty with `all`, null with `monitors` and `requests` and for an undo.'),
    requests: Json('For `retry_requests`: the filters of the request.'),
    change: Json(
      'The fields to set; the group of `move` is in `group`, the tags of `tag` and `untag` in `tags`; `replace` and `plan` have `value` and `replacement`, `plan` also `from` and `to`; `delete` has `delete_empty_groups` if it is true.',
    ),
    undo_missing: Type.Integer({
      description:
        'Results without the values before and after, which an undo does not revert: the results of jobs had reached the storage limit of the organization.',
    }),
    undo_until: Nullable(Instant('Until when the job can be undone; null if there is nothing to undo.')),
    undoes: Nullable(Type.String({ description: 'The id of the job that this one undoes.' })),
    undone_by: Nullable(Type.String({ description: 'The id of the job that undoes this one.' })),
    error: Nullable(Type.String({ description: 'Why it failed.' })),
  },
  {
    title: 'Job',
    description: 'One action on many monitors or webhook requests. It runs in the background.',
    examples: [
      {
        id: 'job_01kaj3x7v8q2n5m4r6t9w0y1zb',
        created: '2026-11-21T09:30:00.000Z',
        created_by: 'Ada Example',
        action: 'update',
        dry_run: false,
        state: 'running',
        total: 300,
        done: 120,
        changed: 119,
        failed: 1,
        started: '2026-11-21T09:30:00.100Z',
        finished: null,
        monitors: null,
        filter: { domain: 'example.com', record_type: 'A' },
        requests: null,
        change: { expected_value: ['192.0.2.2'] },
        undo_missing: 0,
        undo_until: null,
        undoes: null,
        undone_by: null,
        error: null,
      },
    ],
  },
)
export type Job = Static<typeof Job>

export const JobResult = StrictObject(
  {
    id: Type.String({ description: 'The id of the monitor or webhook request.' }),
    name: Nullable(
      Type.String({
        description: 'Its name and record type at that time, or the URL of the webhook; null if there was none.',
      }),
    ),
    state: Type.Enum(RESULT_STATES, {
      type: 'string',
      description:
        '`changed`: changed, deleted, restored, checked or sent again. `unchanged`: it already was as requested; a webhook request was delivered meanwhile, or is being sent.',
    }),
    before: Json('The changed fields before the job; null if none changed.'),
    after: Json('The changed fields after the job; null if none changed, and for a deleted monitor.'),
    error: Nullable(Type.String({ description: 'Why it failed.' })),
    errors: Nullable(
      Type.Unsafe<Record<string, string>>({
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'The path of each wrong field of `change` and a message.',
      }),
    ),
    code: Nullable(
      Type.Enum(Object.keys(JOB_CODES) as JobCode[], {
        type: 'string',
        description: 'A stable code for `error`; null if it did not fail, and for results of an earlier version.',
      }),
    ),
    field_codes: Nullable(
      Type.Unsafe<Record<string, FieldCode>>({
        type: 'object',
        additionalProperties: { type: 'string', enum: Object.keys(FIELD_ERRORS) },
        description: 'A stable code for each field in `errors`.',
      }),
    ),
  },
  {
    title: 'JobResult',
    description: 'What a job did to one monitor or webhook request.',
    examples: [
      {
        id: 'mon_01kaj3x7v8q2n5m4r6t9w0y1zb',
        name: 'www.example.com A',
        state: 'changed',
        before: { expected_value: ['192.0.2.1'] },
        after: { expected_value: ['192.0.2.2'] },
        error: null,
        errors: null,
        code: null,
        field_codes: null,
      },
    ],
  },
)
export type JobResult = Static<typeof JobResult>

export const JobQuery = StrictObject({
  ...pageQuery('JobOrder', ['created']),
  is_finished: Type.Optional(
    Type.Boolean({ description: 'Only jobs that have ended (true), or only queued and running ones (false).' }),
  ),
})
export type JobQuery = Static<typeof JobQuery>

export const JobResultQuery = StrictObject({
  ...pageQuery('JobResultOrder', ['id']),
  state: Type.Optional(Type.Enum(RESULT_STATES, { type: 'string', description: 'Only results with this state.' })),
})
export type JobResultQuery = Static<typeof JobResultQuery>
