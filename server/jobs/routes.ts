import { organizationField, PageOf, StrictObject } from '#contract/common.ts'
import { Job, JobQuery, JobResult, JobResultQuery, MAX_UNFINISHED_JOBS, NewJob } from '#contract/jobs.ts'
import type { Deps } from '../deps.ts'
import { unknownGroupErrors } from '../groups/resolve.ts'
import { runIdempotent } from '../http/idempotency.ts'
import { Params, Responses, type Routes, tagRoutes } from '../http/routes.ts'
import { schemaErrors } from '../http/validation.ts'
import { filterErrors } from '../monitors/list/filter.ts'
import { frequencyLimiter } from '../organization/quota.ts'
import { throwIfInvalid } from '../problem.ts'
import { newJobErrors } from './job.ts'
import { resultsCsv } from './results-csv.ts'
import { cancelJob, getJob, insertJob, listJobs, listResults, undoJob } from './store.ts'

const params = Params('job')
const ResultsExport = StrictObject({ ...organizationField, state: JobResultQuery.properties.state })

/** Changes of many monitors, which the worker processes carry out. */
export function jobRoutes(deps: Deps): Routes {
  const { db, keyring } = deps
  return async (app) => {
    tagRoutes(app, 'Jobs')
    const list = {
      operationId: 'listJobs',
      summary: 'List jobs',
      description: 'Jobs are kept for 7 days after their end, the newest 200 of an organization.',
      querystring: JobQuery,
      response: Responses(200, PageOf(Job)),
    }
    app.get('/jobs', { schema: list }, ({ query, context }) => listJobs(db, keyring, context, query))

    const create = {
      operationId: 'createJob',
      summary: 'Change many monitors',
      description: `Applies one action to the monitors in \`monitors\`, to those that match \`filter\`, or to all; \`retry_requests\` to the webhook requests that match \`requests\`. The job runs in the background: read it until \`finished\` is set. The jobs of an organization run one after the other, and at most ${MAX_UNFINISHED_JOBS} can be unfinished (409). With \`dry_run\` nothing changes, and the results show what would.`,
      body: NewJob,
      response: Responses(202, Job),
    }
    app.post('/jobs', { attachValidation: true, schema: create }, (request, reply) => {
      const { body, context } = request
      return runIdempotent(request, reply, db, {
        prepare: async () => {
          // Reports the errors of the schema and ours together.
          const refused = schemaErrors(request)
          const named = { group: body.group, 'change.group': body.change?.group }
          throwIfInvalid({
            ...newJobErrors(body, context.now),
            ...(await unknownGroupErrors(db, context, named)),
            ...refused,
          })
          throwIfInvalid(await filterErrors(db, context, body.filter))
          ;(await frequencyLimiter(deps, context))(body.change?.frequency)
        },
        execute: (db) => insertJob(db, context, body),
        respond: (db, id) => {
          reply.code(202).header('location', `/jobs/${id}`)
          return getJob(db, context, id)
        },
      })
    })

    const read = { operationId: 'getJob', summary: 'Get a job', params, response: Responses(200, Job) }
    app.get('/jobs/:job', { schema: read }, ({ params, context }) => getJob(db, context, params.job))

    const results = {
      operationId: 'listJobResults',
      summary: 'List the results of a job',
      description: 'One result for each monitor or request that the job has processed, in the order of the ids.',
      params,
      querystring: JobResultQuery,
      response: Responses(200, PageOf(JobResult)),
    }
    app.get('/jobs/:job/results', { schema: results }, ({ params, query, context }) =>
      listResults(db, keyring, context, { job: params.job, query }),
    )

    const csv = { exposeHeadRoute: false, schema: { hide: true, params, querystring: ResultsExport } }
    app.get('/dashboard/api/jobs/:job/results.csv', csv, async ({ params, query: { state }, context }, reply) => {
      const content = await resultsCsv(deps, context, { ...params, ...(state ? { state } : {}) })
      reply.type('text/csv; charset=utf-8').header('content-disposition', 'attachment; filename="results.csv"')
      return reply.send(content)
    })

    const cancel = {
      operationId: 'cancelJob',
      summary: 'Cancel a job',
      description:
        'Stops the job. Changes that it has already made are kept; POST /jobs/{job}/undo undoes them. Returns 409 if the job has finished or failed.',
      params,
      response: Responses(200, Job),
    }
    app.post('/jobs/:job/cancel', { schema: cancel }, (request, reply) => {
      const { params, context } = request
      return runIdempotent(request, reply, db, {
        execute: async (db) => {
          await cancelJob(db, context, params.job)
          return null
        },
        respond: (db) => getJob(db, context, params.job),
      })
    })

    const undo = {
      operationId: 'undoJob',
      summary: 'Undo a job',
      description:
        'Creates a job that undoes the changes of this one, up to 24 hours after its end. A monitor that was changed again since stays as it is, and its result is `failed`. Deleted monitors return with their ids and states, without their events. Returns 409 if there is nothing to undo.',
      params,
      response: Responses(202, Job),
    }
    app.post('/jobs/:job/undo', { schema: undo }, (request, reply) => {
      const { params, context } = request
      return runIdempotent(request, reply, db, {
        execute: (db) => undoJob(db, context, params.job),
        respond: (db, id) => {
          reply.code(202).header('location', `/jobs/${id}`)
          return getJob(db, context, id)
        },
      })
    })
  }
}
