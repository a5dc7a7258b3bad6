import { expect, test } from 'vitest'
import { MAX_UNFINISHED_JOBS } from '#contract/jobs.ts'
import type { Engine } from '../database/engine.ts'
import { newId } from '../ids.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenJobs, givenMonitors } from '../testing/jobs.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'

const HOUR_MS = 60 * 60_000
const NEW = { expected_value: ['192.0.2.2'] }

async function givenWorld(engine: Engine, count = 3, settings = {}) {
  const world = await givenApp(engine, settings)
  const ids = await givenMonitors(world, count)
  return { world, ids, ...givenJobs(world) }
}

/** All that a job may change, in one text. */
async function stateOf({ deps: { db } }: TestApp): Promise<string> {
  const monitors = await db
    .selectFrom('monitors')
    .innerJoin('due_checks', 'due_checks.slot', 'monitors.slot')
    .select(['monitors.id', 'group_id', 'monitors.owner', 'expected_values', 'monitors.is_exact_match', 'is_active'])
    .select(['notify', 'monitors.frequency', 'state', 'current_values', 'incidence_count', 'created_at'])
    .select(['due_checks.owner as owner_of_check', 'due_checks.frequency as frequency_of_check'])
    .orderBy('monitors.id')
    .execute()
  const groups = await db.selectFrom('groups').select(['slug', 'monitors']).orderBy('slug').execute()
  return JSON.stringify([monitors, groups])
}

onBothEngines('jobs', (_fresh, engine) => {
  test('an update of a filter changes the monitors that match, and its undo restores them', async () => {
    const { world, ids, run, undo, results } = await givenWorld(engine)
    await world.call(`/monitors/${ids[0]}`, { method: 'PATCH', body: { group: 'shop' } })
    const before = await stateOf(world)

    const change = { ...NEW, frequency: 30, is_exact_match: false, group: 'moved' }
    const job = await run({ action: 'update', filter: { group: 'default' }, change })
    expect(job).toMatchObject({ state: 'finished', total: 2, done: 2, changed: 2, failed: 0, action: 'update' })
    const { data } = (await world.call('/monitors?include=group,frequency')).body
    expect(data.map((each: Record<string, unknown>) => [each.expected_value, each.group, each.frequency])).toEqual([
      [['192.0.2.1'], 'shop', 5],
      [['192.0.2.2'], 'moved', 30],
      [['192.0.2.2'], 'moved', 30],
    ])
    expect((await results(job.id))[0]).toEqual({
      ...{ id: ids[1], name: 'n1.example.com A', state: 'changed' },
      ...{ error: null, errors: null, code: null, field_codes: null },
      before: { expected_value: ['192.0.2.1'], is_exact_match: true, frequency: 5, group: 'default' },
      after: { expected_value: ['192.0.2.2'], is_exact_match: false, frequency: 30, group: 'moved' },
    })
    expect((await world.call('/groups/moved')).body.monitors).toBe(2)

    expect(await undo(job.id)).toMatchObject({ state: 'finished', action: 'undo', undoes: job.id, changed: 2 })
    await world.call('/groups/moved', { method: 'DELETE' })
    expect(await stateOf(world)).toBe(before)
  })

  test('a deletion is undone with ids, groups and states; events are gone', async () => {
    const { world, ids, run, undo, results } = await givenWorld(engine)
    const seen = { state: 'VALID', current_values: '["192.0.2.1"]', incidence_count: 4 }
    await world.deps.db.updateTable('monitors').set(seen).where('id', '=', ids[1]!).execute()
    await world.call(`/monitors/${ids[2]}`, { method: 'PATCH', body: { group: 'shop', is_active: false } })
    const before = await stateOf(world)

    const job = await run({ action: 'delete', all: true })
    expect(job).toMatchObject({ total: 3, changed: 3, failed: 0 })
    expect((await world.call('/monitors')).body.data).toEqual([])
    expect((await world.call('/groups/shop')).body.monitors).toBe(0)
    expect(await world.deps.db.selectFrom('due_checks').select('slot').execute()).toEqual([])
    expect((await results(job.id))[0]).toMatchObject({ before: { expected_value: ['192.0.2.1'] }, after: null })

    expect(await undo(job.id)).toMatchObject({ changed: 3, failed: 0 })
    expect(await stateOf(world)).toBe(before)
  })

  test('what cannot be changed is a result with the reason, and the others are changed', async () => {
    const { world, ids, run, results } = await givenWorld(engine)
    await world.call(`/monitors/${ids[1]}`, {
      method: 'PATCH',
      body: { record_type: 'MX', expected_value: '10 mail.example.com' },
    })
    const gone = newId('mon', world.deps.clock.now() - HOUR_MS)
    const job = await run({ action: 'update', monitors: [gone, ...ids, ids[2]], change: NEW })
    expect(job).toMatchObject({ monitors: 4, total: 4, done: 4, changed: 2, failed: 2 })
    const failed = await results(job.id, '&state=failed')
    expect(failed.map(({ id, code, error }) => [id, code, error]).sort()).toEqual(
      [
        [gone, 'monitor_not_found', 'The monitor does not exist.'],
        [ids[1], 'invalid_change', 'The change does not suit this monitor.'],
      ].sort(),
    )
    const refused = failed.find(({ id }) => id === ids[1])!
    expect(refused.errors).toHaveProperty(['expected_value.0'])
    expect(refused.field_codes).toEqual({ 'expected_value.0': 'address_as_host' })
    const again = await run({ action: 'update', monitors: [ids[0]], change: NEW })
    expect(again).toMatchObject({ done: 1, changed: 0, failed: 0 })
    expect((await results(again.id))[0]).toMatchObject({ state: 'unchanged', before: null })
  })

  test('replace changes one expected value however it is written, keeps the others, and is undone', async () => {
    const { world, ids, run, undo, results } = await givenWorld(engine, 1)
    const patch = (body: object) => world.call(`/monitors/${ids[0]}`, { method: 'PATCH', body })
    await patch({ expected_value: ['192.0.2.1', '192.0.2.2'] })
    const monitors = [
      { full_domain: 'six.example', record_type: 'AAAA', expected_value: ['2001:db8::1', '2001:db8::2'] },
      { full_domain: 'mail.example', record_type: 'MX', expected_value: ['10 Mail.old.example.', '20 b.example'] },
      { full_domain: 'text.example', record_type: 'TXT', expected_value: ['192.0.2.1'] },
    ]
    await world.call('/monitors/bulk', { method: 'POST', body: { monitors } })
    const before = await stateOf(world)
    const expected = async () =>
      (await world.call('/monitors')).body.data.map((each: { expected_value: string[] }) => each.expected_value)
    const replace = (value: string, replacement: string) => run({ action: 'replace', all: true, value, replacement })

    const first = await replace('192.0.2.1', '192.0.2.9')
    expect(first).toMatchObject({ changed: 2, failed: 0, change: { value: '192.0.2.1', replacement: '192.0.2.9' } })
    expect(await expected()).toEqual([
      ['192.0.2.9', '192.0.2.2'],
      ['2001:db8::1', '2001:db8::2'],
      ['10 mail.old.example', '20 b.example'],
      ['192.0.2.9'],
    ])
    expect(await replace('2001:DB8:0::1', '2001:db8::2')).toMatchObject({ changed: 1 })
    expect(await replace('10 mail.OLD.example', '10 new.example')).toMatchObject({ changed: 1 })
    expect((await expected()).slice(1, 3)).toEqual([['2001:db8::2'], ['10 new.example', '20 b.example']])
    const wrong = await replace('192.0.2.9', 'nowhere')
    expect(wrong).toMatchObject({ changed: 1, failed: 1 })
    expect(Object.keys((await results(wrong.id, '&state=failed'))[0]!.errors!)).toEqual(['expected_value.0'])
    expect(await replace('192.0.2.77', '192.0.2.1')).toMatchObject({ changed: 0, failed: 0 })
    for (const { id } of (await world.call('/jobs?order_way=desc')).body.data.slice(1, -1)) await undo(id)
    expect(await undo(first.id)).toMatchObject({ changed: 2 })
    expect(await stateOf(world)).toBe(before)

    const refused = async (body: object) => (await world.call('/jobs', { method: 'POST', body })).body.errors
    expect(Object.keys(await refused({ action: 'replace', all: true, value: 'a' }))).toEqual(['replacement'])
    expect(Object.keys(await refused({ action: 'check', all: true, value: 'a' }))).toEqual(['value'])
  })

  test('tag and untag keep the other tags, and are undone except where the tags were changed since', async () => {
    const { world, ids, run, undo, results } = await givenWorld(engine)
    const patch = (id: string, tags: string[]) => world.call(`/monitors/${id}`, { method: 'PATCH', body: { tags } })
    const tags = async () =>
      (await world.call('/monitors?include=tags')).body.data.map((each: { tags: string[] }) => each.tags)
    const many = Array.from({ length: 20 }, (_, at) => `t${at}`)
    await patch(ids[1]!, ['old', 'prod'])
    await patch(ids[2]!, many)
    const tagged = await run({ action: 'tag', all: true, tags: ['prod', 'eu'] })
    expect(tagged).toMatchObject({ changed: 2, failed: 1, change: { tags: ['prod', 'eu'] } })
    expect(await tags()).toEqual([['prod', 'eu'], ['old', 'prod', 'eu'], many])
    const reason = 'The monitor would have 22 tags. A monitor can have at most 20.'
    expect((await results(tagged.id, '&state=failed'))[0]).toMatchObject({ code: 'too_many_tags', error: reason })
    expect((await world.call('/monitors?tag=eu')).body.data).toHaveLength(2)

    const untagged = await run({ action: 'untag', filter: { tag: 'eu' }, tags: ['prod', 'none'] })
    expect(untagged).toMatchObject({ changed: 2 })
    expect(await tags()).toEqual([['eu'], ['old', 'eu'], many])
    expect(await undo(untagged.id)).toMatchObject({ changed: 2 })
    await patch(ids[0]!, ['mine'])
    expect(await undo(tagged.id)).toMatchObject({ changed: 1, failed: 1 })
    expect(await tags()).toEqual([['mine'], ['old', 'prod'], many])
    expect((await world.call('/monitors?tag=eu')).body.data).toEqual([])
    expect(await run({ action: 'tag', all: true, tags: ['old'], dry_run: true })).toMatchObject({ changed: 1 })

    for (const [body, field] of [
      [{ action: 'tag', all: true }, 'tags'],
      [{ action: 'untag', all: true, tags: [] }, 'tags'],
      [{ action: 'tag', all: true, tags: ['a b'] }, 'tags.0'],
      [{ action: 'tag', all: true, tags: ['a'], group: 'shop' }, 'group'],
      [{ action: 'check', all: true, tags: ['a'] }, 'tags'],
    ] as const) {
      const refused = await world.call('/jobs', { method: 'POST', body })
      expect([refused.status, Object.keys(refused.body.errors)]).toEqual([400, [field]])
    }
  })

  test('a dry run shows what would change, and changes nothing', async () => {
    const { world, run, results } = await givenWorld(engine)
    const before = await stateOf(world)
    const job = await run({ action: 'move', all: true, group: 'new-group', dry_run: true })
    expect(job).toMatchObject({ dry_run: true, changed: 3, undo_until: null })
    expect((await results(job.id))[0]).toMatchObject({ before: { group: 'default' }, after: { group: 'new-group' } })
    const deletion = await run({ action: 'delete', all: true, dry_run: true })
    expect(deletion).toMatchObject({ changed: 3 })
    expect(await stateOf(world)).toBe(before)
    expect((await world.call(`/jobs/${job.id}/undo`, { method: 'POST' })).status).toBe(409)
  })

  test('accept expects what each monitor shows; without a result it fails', async () => {
    const { world, ids, run, undo, results } = await givenWorld(engine)
    const { db } = world.deps
    await db.updateTable('monitors').set({ current_values: '["192.0.2.7"]' }).where('id', '<', ids[2]!).execute()
    const job = await run({ action: 'accept', all: true })
    expect(job).toMatchObject({ changed: 2, failed: 1 })
    expect((await results(job.id, '&state=failed'))[0]).toMatchObject({
      ...{ code: 'no_result_yet', error: 'This record has no result yet. Wait for its first check.' },
    })
    expect((await world.call(`/monitors/${ids[0]}`)).body.expected_value).toEqual(['192.0.2.7'])
    await undo(job.id)
    expect((await world.call(`/monitors/${ids[0]}`)).body.expected_value).toEqual(['192.0.2.1'])
  })

  test('checks that a job starts are spread, and never later than they were due', async () => {
    const { world, ids, run, results } = await givenWorld(engine, 600)
    const { db, clock } = world.deps
    const far = clock.now() + 3 * HOUR_MS
    await db.updateTable('due_checks').set({ due_at: far }).execute()
    await world.call(`/monitors/${ids[0]}/disable`, { method: 'POST' })
    const job = await run({ action: 'check', all: true })
    expect(job).toMatchObject({ changed: 599, failed: 1, undo_until: null })
    expect((await results(job.id, '&state=failed'))[0]).toMatchObject({ id: ids[0], code: 'monitor_disabled' })
    const due = await db.selectFrom('due_checks').select(['monitor_id', 'due_at']).orderBy('due_at').execute()
    const active = due.filter(({ monitor_id }) => monitor_id !== ids[0])
    const started = Date.parse(job.started!)
    expect(active.at(-1)!.due_at).toBeGreaterThanOrEqual(started + 598)
    expect(active.at(-1)!.due_at).toBeLessThan(far)
    expect(due.find(({ monitor_id }) => monitor_id === ids[0])!.due_at).toBeNull()
    expect((await world.call(`/jobs/${job.id}/undo`, { method: 'POST' })).body.error).toBe(
      'The action check cannot be undone.',
    )
  })

  test('a check job does not postpone a check that is in progress', async () => {
    const { world, ids, create, pass } = await givenWorld(engine, 2)
    const { db, clock } = world.deps
    const lease = { due_at: clock.now() + 60_000, claimed_by: 7 }
    await db.updateTable('due_checks').set(lease).where('monitor_id', '=', ids[0]!).execute()
    const far = clock.now() + 24 * HOUR_MS
    await db.updateTable('due_checks').set({ due_at: far }).where('monitor_id', '=', ids[1]!).execute()
    await create({ action: 'check', all: true })
    while ((await pass()) > 0);
    const [held, free] = await db
      .selectFrom('due_checks')
      .select(['due_at', 'claimed_by'])
      .orderBy('monitor_id')
      .execute()
    expect(held).toEqual(lease)
    expect([free!.due_at! <= clock.now(), free!.claimed_by]).toEqual([true, null])
  })

  test('a canceled job leaves the rest, and what it did can be undone; so can the rest of a canceled undo', async () => {
    const { world, create, pass, read, undo, finish } = await givenWorld(engine, 600)
    const before = await stateOf(world)
    const { id } = await create({ action: 'update', all: true, change: NEW })
    await pass() // lists
    await pass() // the first 200
    const canceled = await world.call(`/jobs/${id}/cancel`, { method: 'POST' })
    expect(canceled.body).toMatchObject({ state: 'canceled', total: 600, done: 200, changed: 200 })
    expect((await world.call(`/jobs/${id}/cancel`, { method: 'POST' })).status).toBe(200)
    while ((await pass()) > 0);
    expect(await read(id)).toMatchObject({ done: 200 })

    const { body: first } = await world.call(`/jobs/${id}/undo`, { method: 'POST' })
    await world.call(`/jobs/${first.id}/cancel`, { method: 'POST' })
    expect(await undo(id)).toMatchObject({ changed: 200 })
    expect(await stateOf(world)).toBe(before)
    const again = await world.call(`/jobs/${id}/undo`, { method: 'POST' })
    expect(again).toMatchObject({ status: 409 })
    expect((await world.call(`/jobs/${(await finish(id)).undone_by}/cancel`, { method: 'POST' })).status).toBe(409)
  })

  test('an undo leaves what was changed after the job, and ends 24 hours after it', async () => {
    const { world, ids, run, undo, results } = await givenWorld(engine)
    const job = await run({ action: 'update', all: true, change: NEW })
    await world.call(`/monitors/${ids[0]}`, { method: 'PATCH', body: { expected_value: '192.0.2.3' } })
    await world.call(`/monitors/${ids[1]}`, { method: 'DELETE' })
    const undone = await undo(job.id)
    expect(undone).toMatchObject({ changed: 1, failed: 2 })
    expect((await results(undone.id, '&state=failed')).map(({ code, error }) => [code, error])).toEqual([
      ['changed_after_job', 'The monitor was changed after the job.'],
      ['deleted_after_job', 'The monitor was deleted after the job.'],
    ])
    const late = await run({ action: 'update', monitors: [ids[2]], change: NEW })
    world.pass(25 * HOUR_MS)
    expect((await world.call(`/jobs/${late.id}/undo`, { method: 'POST' })).body.error).toBe(
      'A job can be undone for 24 hours after its end.',
    )
  })

  test('jobs of an organization run in their order, and organizations take turns', async () => {
    const { world, create, pass, read } = await givenWorld(engine, 600)
    const first = await create({ action: 'update', all: true, change: NEW })
    const second = await create({ action: 'update', all: true, change: { frequency: 60 } })
    const { key } = await world.organization('Second')
    const body = { action: 'check', all: true }
    const { body: other } = await world.call('/jobs', { method: 'POST', key, body })
    await pass()
    await pass()
    expect((await world.call(`/jobs/${other.id}`, { key })).body.state).toBe('finished')
    expect(await read(first.id)).toMatchObject({ state: 'running' })
    expect(await read(second.id)).toMatchObject({ state: 'queued' })
    while ((await pass()) > 0);
    expect(await read(second.id)).toMatchObject({ state: 'finished', changed: 600 })
    expect(await world.deps.db.selectFrom('due_jobs').selectAll().execute()).toEqual([])
  })

  test('a deletion deletes the groups that it leaves empty, if it is asked to', async () => {
    const { world, ids, run, undo } = await givenWorld(engine, 4)
    const groups = async () => (await world.call('/groups')).body.data.map(({ slug }: { slug: string }) => slug)
    for (const [index, group] of ['left', 'kept', 'kept'].entries())
      await world.call(`/monitors/${ids[index]}`, { method: 'PATCH', body: { group } })
    await world.call('/groups', { method: 'POST', body: { name: 'Empty before' } })

    await run({ action: 'delete', monitors: [ids[0]], delete_empty_groups: true, dry_run: true })
    expect(await groups()).toEqual(['default', 'left', 'kept', 'empty-before'])
    const deletion = { action: 'delete', monitors: [ids[0], ids[1], ids[3]], delete_empty_groups: true }
    const job = await run(deletion)
    expect(job).toMatchObject({ changed: 3, change: { delete_empty_groups: true } })
    expect(await groups()).toEqual(['default', 'kept', 'empty-before'])
    const { body } = await world.call('/audit-log?order_way=desc&limit=5')
    const entry = body.data.find(({ action }: { action: string }) => action === 'group.deleted')
    expect(entry).toMatchObject({ actor: { id: job.id }, object: { label: 'left' } })

    expect(await undo(job.id)).toMatchObject({ changed: 3, failed: 0 })
    const restored = await world.call(`/monitors/${ids[0]}?include=group`)
    expect(restored.body).toMatchObject({ id: ids[0], group: 'default' })

    await run({ action: 'delete', monitors: [ids[2]] })
    expect(await groups()).toContain('kept')
    const refused = await world.call('/jobs', { method: 'POST', body: { ...deletion, action: 'check' } })
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([400, ['delete_empty_groups']])
  })

  test('the plan limits what an undo restores, and how often monitors are checked', async () => {
    const limits = { monitors: 3, min_frequency: 15, event_retention_days: 30, webhooks: 1, agents: 2, api_keys: 3 }
    const plans = JSON.stringify([{ id: 'small', name: 'Small', limits }])
    const { world, ids, run, undo, results } = await givenWorld(engine, 3, { PLANS: plans })
    const often = { action: 'update', all: true, change: { frequency: 10 } }
    expect((await world.call('/jobs', { method: 'POST', body: often })).status).toBe(402)

    const job = await run({ action: 'delete', all: true })
    await givenMonitors(world, 2)
    const undone = await undo(job.id)
    expect(undone).toMatchObject({ changed: 1, failed: 2 })
    expect((await results(undone.id))[1]).toMatchObject({
      ...{ id: ids[1], name: 'n1.example.com A', state: 'failed', code: 'plan_limit' },
      error: 'Plan limit reached: all monitors of the plan are in use. Delete some or change the plan.',
    })
  })

  test('a request is refused with each field at fault', async () => {
    const { world, ids } = await givenWorld(engine, 1)
    const errorsOf = async (body: unknown) => (await world.call('/jobs', { method: 'POST', body })).body.errors
    expect(await errorsOf({ action: 'delete' })).toEqual({ body: 'must have exactly one of monitors, filter, all.' })
    expect(await errorsOf({ action: 'delete', all: true, monitors: ids })).toHaveProperty('body')
    expect(await errorsOf({ action: 'delete', filter: {} })).toEqual({
      filter: 'must have at least one field. To select every monitor, send all: true instead.',
    })
    expect(await errorsOf({ action: 'update', all: true })).toEqual({ change: 'is required.' })
    expect(await errorsOf({ action: 'update', all: true, change: { state: 'VALID' } })).toHaveProperty(['change.state'])
    expect(await errorsOf({ action: 'update', all: true, change: {} })).toHaveProperty('change')
    expect(await errorsOf({ action: 'update', all: true, change: { until: 'valid' } })).toEqual({
      'change.until': 'belongs to one monitor. Use PATCH /monitors/{monitor}.',
    })
    expect(await errorsOf({ action: 'check', all: true, change: NEW, group: 'a b' })).toEqual({
      change: 'cannot be combined with the action check. Leave it out.',
      group: expect.any(String),
    })
    expect(await errorsOf({ action: 'check', filter: { group: 'none', full_domain: '..' } })).toHaveProperty([
      'filter.full_domain',
    ])
    for (const tag of ['', ',', ' , ']) {
      expect(await errorsOf({ action: 'delete', filter: { tag } })).toEqual({ 'filter.tag': 'must not be empty.' })
    }
    expect(await errorsOf({ action: 'check', filter: { group: 'none' } })).toEqual({
      'filter.group': 'Unknown group. Use the id or slug of an existing group.',
    })
    expect(await errorsOf({ action: 'move', all: true, group: 'grp_01kaj3x7v8q2n5m4r6t9w0y1zb' })).toHaveProperty(
      'group',
    )
  })

  test('an organization has at most 20 unfinished jobs', async () => {
    const { world, create } = await givenWorld(engine, 1)
    for (let count = 0; count < MAX_UNFINISHED_JOBS; count++) await create({ action: 'check', all: true })
    const refused = await world.call('/jobs', { method: 'POST', body: { action: 'check', all: true } })
    expect(refused).toMatchObject({ status: 409 })
    expect((await world.call('/jobs?is_finished=false&limit=100')).body.data).toHaveLength(MAX_UNFINISHED_JOBS)
  })

  test('the audit log has one entry for a job, which counts what it changed', async () => {
    const { world, run, undo } = await givenWorld(engine, 300)
    const job = await run({ action: 'update', all: true, change: NEW })
    await undo(job.id)
    const { data } = (await world.call('/audit-log?object=job&order_way=asc')).body
    expect(data).toMatchObject([
      {
        ...{ action: 'job.created', object_count: 300, object: { id: job.id, label: 'update' } },
        after: { action: 'update', dry_run: false, filter: {}, change: NEW },
      },
      { action: 'job.undone', object_count: 300, object: { id: job.id } },
    ])
    expect(data[0].object_ids).toHaveLength(100)
  })
})
