import { expect, onTestFinished, test } from 'vitest'
import type { Engine } from '../database/engine.ts'
import { newId } from '../ids.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenJobs } from '../testing/jobs.ts'
import { startReceiver } from '../testing/receiver.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'
import { eventually } from '../testing/test-server.ts'
import { runDispatcher } from '../webhooks/dispatcher.ts'
import { insertRequests } from '../webhooks/new-requests.ts'

const RETRY = { action: 'retry_requests', requests: { status: 'FAILED' } }

/** Two webhooks whose endpoint is up again, with requests of both that failed before. */
async function givenFailed(engine: Engine, count: number) {
  const world = await givenApp(engine)
  const receiver = await startReceiver()
  onTestFinished(receiver.close)
  const hook = async (name: string) =>
    (await world.call('/webhooks', { method: 'POST', body: { url: `${receiver.url}/${name}`, groups: ['default'] } }))
      .body
  const webhooks = [await hook('one'), await hook('two')]
  await insertEvents(world, webhooks[0].groups[0], count)
  await setStatus(world, 'FAILED')
  return { world, receiver, webhooks, ...givenJobs(world) }
}

async function insertEvents({ deps: { db, clock }, organization }: TestApp, groupId: string, count: number) {
  const { id: organizationId } = await organization()
  const domain = {
    domain: 'example.com',
    subdomain: '',
    record_type: 'A' as const,
    expected_value: [],
    is_exact_match: true,
  }
  const made = Array.from({ length: count }, () => ({
    organizationId,
    groupId,
    event: {
      ...{
        id: newId('evt', clock.now()),
        monitor_id: newId('mon', clock.now()),
        occurred: new Date(clock.now()).toISOString(),
      },
      ...{ old_state: 'VALID' as const, new_state: 'MISMATCH' as const, incidence_count: 1, domain },
    },
  }))
  await insertRequests(db, made, clock.now())
}

/** As a request is left that was given up, delivered, or waits. */
async function setStatus({ deps: { db } }: TestApp, status: 'FAILED' | 'DELIVERED' | 'RETRYING', ids?: string[]) {
  const rows = db.updateTable('webhook_requests').set({ status, retries: 9, next_attempt_at: null })
  await (ids ? rows.where('id', 'in', ids) : rows).execute()
  if (status !== 'RETRYING') {
    const due = db.deleteFrom('due_requests')
    await (ids ? due.where('request_id', 'in', ids) : due).execute()
  }
}

const requestsOf = ({ deps: { db } }: TestApp) =>
  db.selectFrom('webhook_requests').select(['id', 'webhook_id', 'status', 'retries']).orderBy('id').execute()

function startDispatcher({ deps }: TestApp) {
  const stop = new AbortController()
  const signals = { stop: stop.signal, abandon: stop.signal }
  const loop = runDispatcher({ ...deps, process: 1 }, signals, { total: 20, perWebhook: 4 })
  onTestFinished(async () => {
    stop.abort()
    await loop
  })
}

onBothEngines('the job that sends requests again', (_fresh, engine) => {
  test('sends those that failed, of all webhooks, each once, with a new retry schedule', async () => {
    const { world, receiver, run, results } = await givenFailed(engine, 3)
    const ids = (await requestsOf(world)).map(({ id }) => id)
    const job = await run(RETRY)
    expect(job).toMatchObject({ state: 'finished', total: 6, done: 6, changed: 6, failed: 0, undo_until: null })
    expect(job).toMatchObject({ requests: { status: 'FAILED' }, filter: null, monitors: null })
    expect((await requestsOf(world)).map(({ status, retries }) => [status, retries])).toEqual(
      ids.map(() => ['PENDING', 0]),
    )
    expect((await results(job.id))[0]).toMatchObject({
      ...{ state: 'changed', name: `${receiver.url}/one`, error: null },
      before: { status: 'FAILED' },
      after: { status: 'PENDING' },
    })
    startDispatcher(world)
    await receiver.waitFor(6)
    await eventually(
      () => world.call('/webhook-requests'),
      ({ body }) => body.data.length === 0,
    )
    const sent = receiver.received.map(({ headers }) => String(headers['webhook-id'])).sort()
    expect(sent).toEqual(ids)
    expect((await world.call(`/jobs/${job.id}/undo`, { method: 'POST' })).status).toBe(409)
  })

  test('takes the filters of the list, and leaves what was delivered after the job had listed it', async () => {
    const { world, webhooks, create, pass, finish, run } = await givenFailed(engine, 3)
    const [one, two] = webhooks.map(({ id }: { id: string }) => id)
    const since = new Date(world.deps.clock.now() + 3_600_000).toISOString()
    expect(await run({ action: 'retry_requests', requests: { since } })).toMatchObject({ total: 0, state: 'finished' })
    const { id } = await create({ action: 'retry_requests', requests: { webhook_id: two } })
    await pass()
    const [delivered] = (await requestsOf(world)).filter(({ webhook_id }) => webhook_id === two)
    await setStatus(world, 'DELIVERED', [delivered!.id])
    expect(await finish(id)).toMatchObject({ total: 3, done: 3, changed: 2, failed: 0 })
    const after = await requestsOf(world)
    const statusesOf = (webhook: string | undefined) =>
      after.filter(({ webhook_id }) => webhook_id === webhook).map(({ status }) => status)
    expect(statusesOf(one)).toEqual(['FAILED', 'FAILED', 'FAILED'])
    expect(statusesOf(two).sort()).toEqual(['DELIVERED', 'PENDING', 'PENDING'])
  })

  test('a failed test is not sent again', async () => {
    const { world, webhooks, run } = await givenFailed(engine, 1)
    expect((await world.call(`/webhooks/${webhooks[0].id}/test`, { method: 'POST' })).status).toBe(202)
    await setStatus(world, 'FAILED')
    expect(await run(RETRY)).toMatchObject({ total: 2, changed: 2, failed: 0 })
    expect((await requestsOf(world)).filter(({ status }) => status === 'FAILED')).toHaveLength(1)
    const idsOf = async (path: string) => (await world.call(path)).body.data.map(({ id }: { id: string }) => id)
    const tests = [expect.stringContaining('_test_')]
    expect(await idsOf('/webhook-requests?is_test=true')).toEqual(tests)
    expect(await idsOf('/webhook-requests?is_test=false')).toHaveLength(2)
    const ofWebhook = `/webhooks/${webhooks[0].id}/requests`
    expect(await idsOf(ofWebhook)).toHaveLength(2)
    expect(await idsOf(`${ofWebhook}?is_test=true`)).toEqual(tests)
    expect(await idsOf(`${ofWebhook}?is_test=false`)).toEqual([expect.not.stringContaining('_test_')])
  })

  test('a dry run changes nothing, and another organization has none of them', async () => {
    const { world, run } = await givenFailed(engine, 2)
    expect(await run({ ...RETRY, dry_run: true })).toMatchObject({ total: 4, changed: 4 })
    expect((await requestsOf(world)).every(({ status }) => status === 'FAILED')).toBe(true)
    const { key } = await world.organization('Other')
    const foreign = (await world.call('/jobs', { method: 'POST', key, body: RETRY })).body
    const { pass } = givenJobs(world)
    while ((await pass()) > 0);
    expect((await world.call(`/jobs/${foreign.id}`, { key })).body).toMatchObject({ total: 0, state: 'finished' })
    expect((await requestsOf(world)).every(({ status }) => status === 'FAILED')).toBe(true)
  })

  test('what does not fit the action is refused, field by field', async () => {
    const { world } = await givenFailed(engine, 1)
    const refused = async (body: object) =>
      Object.keys((await world.call('/jobs', { method: 'POST', body })).body.errors).sort()
    expect(await refused({ action: 'retry_requests' })).toEqual(['requests'])
    expect(await refused({ ...RETRY, all: true, tags: ['x'] })).toEqual(['all', 'tags'])
    expect(await refused({ action: 'retry_requests', requests: { status: 'DELIVERED', since: 'soon' } })).toEqual([
      'requests.since',
      'requests.status',
    ])
    expect(await refused({ action: 'check', all: true, requests: {} })).toEqual(['requests'])
  })
})
