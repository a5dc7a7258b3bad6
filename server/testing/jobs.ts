import type { Job, JobResult } from '#contract/jobs.ts'
import { newId } from '../ids.ts'
import { runDueJobs } from '../jobs/worker.ts'
import type { TestApp } from './test-app.ts'

/** The loop of jobs, one pass at a time, and jobs by the API. */
export function givenJobs(world: TestApp) {
  const { deps } = world
  const sizes = new Map()
  const pass = (process = 1) => runDueJobs({ ...deps, process, sizes })
  const read = async (id: string): Promise<Job> => (await world.call(`/jobs/${id}`)).body

  async function create(body: unknown): Promise<Job> {
    const answer = await world.call('/jobs', { method: 'POST', body })
    if (answer.status !== 202) throw new Error(`POST /jobs answered ${answer.status} ${answer.text}`)
    return answer.body
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
      const answer = await world.call(`/jobs/${id}/undo`, { method: 'POST' })
      if (answer.status !== 202) throw new Error(`undo answered ${answer.status} ${answer.text}`)
      return await finish(answer.body.id)
    },
    results: async (id: string, query = ''): Promise<JobResult[]> =>
      (await world.call(`/jobs/${id}/results?limit=100${query}`)).body.data,
  }
}

/** Monitors of names `n0.example.com` and so on; ids in this order. */
export async function givenMonitors(world: TestApp, count: number, more: object = {}): Promise<string[]> {
  const monitors = Array.from({ length: count }, (_, index) => ({
    ...{ full_domain: `n${index}.example.com`, record_type: 'A', expected_value: '192.0.2.1' },
    ...more,
  }))
  const answer = await world.call('/monitors/bulk', { method: 'POST', body: { monitors } })
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.body.map(({ id }: { id: string }) => id)
}

/** A canceled job of an organization that changed one monitor, as the worker leaves it. `mark` stands in its texts. */
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
