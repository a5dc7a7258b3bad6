import type { AuditedRequest } from './audited-world.ts'
import { insertEndedJob } from './jobs.ts'

const UPDATE = { action: 'update', filter: { domain: 'example.com' }, change: { frequency: 60 } }

/** What is done with jobs. The worker counts what they change in the same entries. */
export const WITH_JOBS: AuditedRequest[] = [
  {
    route: 'POST /jobs',
    request: async ({ send, ids }) => {
      const made = await send('POST', '/jobs', UPDATE)
      ids.job = made.body?.id
      return made
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
      const ended = await insertEndedJob(world, (await world.organization()).id, 'example.com')
      return await send('POST', `/jobs/${ended}/undo`)
    },
    entry: { action: 'job.undone', object_count: 0 },
  },
]
