import type { Job, JobResult } from '#contract/jobs.ts'
import { newId } from '../ids.ts'
import { runDueJobs } from '../jobs/worker.ts'
import type { TestApp } from './test-app.ts'

/** Runs the job loop one pass at a time, and creates jobs by the API. */
export function givenJobs(world: TestApp) {
  const { deps } = world
  const sizes = new Map()
  const pass = (process = 1) => runDueJobs({ ...deps, process, sizes })
  const read = async (id: string): Promise<Job> => (await world.call(`/jobs/${id}`)).body

  async function create(body: unknown): Promise<Job> {
    const response = await world.call('/jobs', { method: 'POST', body })
    if (response.status !== 202) throw new Error(`POST /jobs answered ${response.status} ${response.text}`)
    return response.body
  }

  async function finish(id: string): Promise<Job> {
    while ((await pass()) > 0);
    return await read(id)
  }

  return {
    pass,
    read,
    create,
    finish,
    run: async (body: unknown): Promise<Job> => await finish((await create(body)).id),
    async undo(id: string): Promise<Job> {
      const response = await world.call(`/jobs/${id}/undo`, { method: 'POST' })
      if (response.status !== 202) throw new Error(`undo answered ${response.status} ${response.text}`)
      return await finish(response.body.id)
    },
    results: async (id: string, query = ''): Promise<JobResult[]> =>
      (await world.call(`/jobs/${id}/results?limit=100${query}`)).body.data,
  }
}

/** Creates monitors of `n0.example.com`, `n1.example.com` and so on. Returns their ids in this order. */
export async function givenMonitors(world: TestApp, count: number, overrides: object = {}): Promise<string[]> {
  const monitors = Array.from({ length: count }, (_, index) => ({
    ...{ full_domain: `n${index}.example.com`, record_type: 'A', expected_value: '192.0.2.1' },
    ...overrides,
  }))
  const response = await world.call('/monitors/bulk', { method: 'POST', body: { monitors } })
  if (response.status !== 201) throw new Error(response.text)
  return response.body.map(({ id }: { id: string }) => id)
}

/** Inserts a canceled job that changed one monitor, as the worker leaves it. All its texts contain `mark`. */
export async function insertCanceledJob({ deps: { db, clock } }: TestApp, organization_id: string, mark: string) {
  const now = clock.now()
  const id = newId('job', now)
  const monitor = newId('mon', now)
  await db
    .insertInto('jobs')
    .values({
      ...{ organization_id, id, created_at: now, created_by: mark, audit_id: newId('aud', now), action: 'update' },
      ...{
        is_dry_run: 0,
        state: 'canceled',
        selection: JSON.stringify({ filter: { domain: mark, record_type: 'A' } }),
      },
      ...{ change: JSON.stringify({ change: { expected_value: [mark] } }), total: 2, done: 1, changed: 1 },
      ...{ started_at: now, finished_at: now },
    })
    .execute()
  await db
    .insertInto('job_results')
    .values({
      ...{ organization_id, job_id: id, object_id: monitor, name: `${mark} A`, state: 'changed' },
      ...{ changed_from: '{"expected_value":["192.0.2.1"]}', changed_to: JSON.stringify({ expected_value: [mark] }) },
    })
    .execute()
  return id
}
