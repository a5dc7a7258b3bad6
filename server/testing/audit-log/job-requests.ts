import { insertCanceledJob } from '../jobs.ts'
import type { AuditedRequest } from './fixture.ts'

const UPDATE = { action: 'update', filter: { domain: 'example.com' }, change: { frequency: 60 } }

/** The worker adds the number of changed objects to the same entries. */
export const JOB_REQUESTS: AuditedRequest[] = [
  {
    route: 'POST /jobs',
    request: async ({ send, ids }) => {
      const created = await send('POST', '/jobs', UPDATE)
      ids.job = created.body?.id
      return created
    },
    entry: {
      action: 'job.created',
      label: 'update',
      object_count: 0,
      before: null,
      after: { ...UPDATE, dry_run: false },
    },
  },
  {
    route: 'POST /jobs/:job/cancel',
    request: ({ send, ids }) => send('POST', `/jobs/${ids.job}/cancel`),
    entry: { action: 'job.canceled', label: 'update' },
  },
  {
    route: 'POST /jobs/:job/undo',
    request: async ({ world, send }) => {
      const canceledJob = await insertCanceledJob(world, (await world.organization()).id, 'example.com')
      return await send('POST', `/jobs/${canceledJob}/undo`)
    },
    entry: { action: 'job.undone', object_count: 0 },
  },
]
