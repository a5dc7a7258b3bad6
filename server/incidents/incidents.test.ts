import { expect, test } from 'vitest'
import { createMonitor, givenAlerting, givenAlertReceiver, type Json } from '../testing/alerts.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenJobs } from '../testing/jobs.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

onBothEngines('incidents', (_fresh, engine) => {
  test('anyone with the link of a message can acknowledge by POST, and opening the link changes nothing', async () => {
    const { world, receiver, incidentOf, fail } = await givenAlertReceiver(engine, { delay: 0 })
    await fail('shop.example.com')
    const { acknowledge } = receiver.last()
    const path = new URL(acknowledge).pathname.replace('/dashboard/alert-acknowledgement/', '/alert-acknowledgements/')
    const open = async (method: string, at = path) => await world.call(at, { method, key: null })

    expect((await open('GET')).body).toMatchObject({ state: 'open', title: 'shop.example.com A: Mismatch' })
    expect((await incidentOf()).acknowledged).toBeNull()
    expect((await open('POST', path.replace('alr_', 'alr_0'))).status).toBe(404)
    expect((await open('POST')).body).toMatchObject({ state: 'acknowledged', acknowledged_by: 'Link in Receiver' })
    expect((await open('POST')).status).toBe(200)
    expect(await incidentOf()).toMatchObject({ acknowledged: expect.any(String), acknowledged_by: 'Link in Receiver' })
    const { data } = (await world.call('/audit-log')).body
    expect(data.filter(({ action }: Json) => action === 'incident.updated')).toHaveLength(1)
  })

  test('the timeline lists what happened and who was notified', async () => {
    const { world, incidentOf, fail, change } = await givenAlertReceiver(engine, { delay: 0 })
    const monitor = await fail('shop.example.com')
    const { id } = await incidentOf()
    const patch = async (body: object) => (await world.call(`/incidents/${id}`, { method: 'PATCH', body })).body
    const [agent] = (await world.call('/agents')).body.data
    expect(await patch({ acknowledged: true, assignee: agent.id, note: 'On it.' })).toMatchObject({
      assignee: agent.id,
    })
    expect((await patch({ assignee: 'agt_1' })).errors.assignee).toContain('Unknown agent')
    expect((await patch({ snoozed_until: '2020-01-01' })).errors.snoozed_until).toContain('future')
    expect((await patch({ snoozed_until: '2060-01-01' })).errors.snoozed_until).toContain('30 days')
    await change({ monitor, from: 'MISMATCH', to: 'VALID' })

    const { data } = (await world.call(`/incidents/${id}/timeline`)).body
    expect(data.map(({ kind, actor, detail }: Json) => [kind, actor, detail])).toEqual([
      ['opened', null, 'shop.example.com A'],
      ['sent', 'Receiver', 'shop.example.com A: Mismatch'],
      ['acknowledged', 'First key', null],
      ['assigned', 'First key', agent.name || agent.email],
      ['noted', 'First key', 'On it.'],
      ['resolved', null, null],
    ])
    const events = (await world.call(`/monitors/${monitor}/events?include=incident`)).body.data
    expect(events.map((event: Json) => event.incident_id)).toEqual([id, id])
  })

  test('monitors of several domains share an incident if they share the wrong records, a name server or a resolver', async () => {
    const { world, incidents, change } = await givenAlertReceiver(engine, { delay: 0 })
    const names = ['a.example.com', 'b.example.org', 'c.example.net', 'd.example.edu', 'e.example.com', 'f.example.org']
    const [one, two, three, four, five, six] = await Promise.all(names.map((name) => createMonitor(world, name)))
    const silent = (path: string, name: string) => ({ path, name, server: name, outcome: { kind: 'timeout' } })
    await change(
      { monitor: one!, to: 'MISMATCH', currentValues: ['192.0.2.66'] },
      { monitor: two!, to: 'MISMATCH', currentValues: ['192.0.2.66'] },
      { monitor: three!, to: 'TIMEOUT', paths: [silent('authoritative', 'ns1.host.example')] },
      {
        monitor: four!,
        to: 'INVALID',
        paths: [silent('authoritative', 'NS1.host.example'), silent('recursive', '192.0.2.1:53')],
      },
      { monitor: five!, to: 'TIMEOUT', paths: [silent('recursive', '192.0.2.53:53')] },
      { monitor: six!, to: 'TIMEOUT', paths: [silent('recursive', '192.0.2.53:53')] },
    )
    const shown = (await incidents()).map(({ cause, cause_value, monitors }: Json) => [cause, cause_value, monitors])
    expect(shown).toEqual([
      ['value', '192.0.2.66', 2],
      ['name_server', 'ns1.host.example', 2],
      ['upstream', '192.0.2.53:53', 2],
    ])
    // Once resolved, the cause opens another incident.
    await change(...[one!, two!].map((monitor) => ({ monitor, from: 'MISMATCH', to: 'VALID' })))
    await change({ monitor: two!, to: 'MISMATCH', currentValues: ['192.0.2.66'] })
    expect((await incidents()).at(-1)).toMatchObject({ zone: 'example.org', cause: 'zone', monitors: 1 })
  })

  test('an incident says what is wrong and what to do, and its timeline who joined, recovered and left, and what is planned', async () => {
    const { world, incidents, incidentOf, change } = await givenAlertReceiver(engine, { delay: 0 })
    const names = ['a.example.com', 'b.example.com', 'c.example.com', 'd.example.org']
    // One after the other, because they are listed by id.
    const ids: string[] = []
    for (const name of names) ids.push(await createMonitor(world, name))
    const [one, two, three, other] = ids
    const wrong = { to: 'MISMATCH', currentValues: ['192.0.2.66'] }
    await change({ monitor: one!, ...wrong }, { monitor: two!, ...wrong })
    const of = async (monitor: string) => (await world.call(`/incidents?monitor_id=${monitor}`)).body.data
    expect(await of(two!)).toMatchObject([
      {
        headline: '2 records of example.com answer 192.0.2.66 instead of 192.0.2.1.',
        advice: null,
        first_monitors: [
          { id: one, name: 'a.example.com', record_type: 'A', state: 'MISMATCH' },
          { id: two, name: 'b.example.com' },
        ],
      },
    ])
    expect(await of(three!)).toEqual([])
    await change({ monitor: three!, ...wrong })
    const to = new Date(world.deps.clock.now() + HOUR_MS).toISOString()
    const body = { monitor_id: three, new_value: '192.0.2.2', to }
    expect((await world.call('/planned-changes', { method: 'POST', body })).status).toBe(201)
    await change({ monitor: two!, from: 'MISMATCH', to: 'VALID' })
    expect(await of(two!)).toEqual([])
    await change({ monitor: other!, ...wrong })
    expect((await incidentOf()).headline).toBe('4 monitors that answer 192.0.2.66: Mismatch')
    await world.call(`/monitors/${three}`, { method: 'PATCH', body: { is_active: false } })
    await change({ monitor: other!, from: 'MISMATCH', to: 'VALID' })
    const [{ id }] = await incidents()
    const { data } = (await world.call(`/incidents/${id}/timeline`)).body
    expect(
      data.filter(({ kind }: Json) => kind !== 'sent').map(({ kind, actor, detail }: Json) => [kind, actor, detail]),
    ).toEqual([
      ['opened', null, 'a.example.com A'],
      ['joined', null, '1 monitor'],
      ['planned', 'First key', to],
      ['recovered', null, '1 monitor'],
      ['joined', null, '1 monitor'],
      ['left', null, '1 monitor'],
      ['recovered', null, '1 monitor'],
    ])
    await change({ monitor: one!, from: 'MISMATCH', to: 'VALID' })
    const resolved = { advice: null, headline: '4 monitors that answer 192.0.2.66: Mismatch' }
    expect((await world.call(`/incidents/${id}`)).body).toMatchObject(resolved)
  })

  test('all monitors of an incident can be listed and filtered, those that recovered too, and no others', async () => {
    const { world, incidents, change } = await givenAlertReceiver(engine, { delay: 0 })
    const names = ['a.example.com', 'b.example.org', 'c.example.net', 'd.example.com']
    const [one, two, three] = await Promise.all(names.map((name) => createMonitor(world, name)))
    const wrong = { to: 'MISMATCH', currentValues: ['192.0.2.66'] }
    await change({ monitor: one!, ...wrong }, { monitor: two!, ...wrong }, { monitor: three!, to: 'NOT_FOUND' })
    await change({ monitor: two!, from: 'MISMATCH', to: 'VALID' })
    const [{ id }] = await incidents()
    const listed = async (path: string) => {
      const { data = [], after } = (await world.call(path)).body
      return { ids: data.map(({ id }: Json) => id), after }
    }
    const path = `/incidents/${id}/monitors`
    expect((await listed(path)).ids.sort()).toEqual([one, two].sort())
    const first = await listed(`${path}?limit=1&order_by=name`)
    expect(first.ids).toEqual([one])
    expect((await listed(`${path}?limit=1&order_by=name&after=${first.after}`)).ids).toEqual([two])
    expect((await listed(`${path}?state=MISMATCH`)).ids).toEqual([one])
    expect((await listed(`/monitors?incident=${id}&state=VALID`)).ids).toEqual([two])
    expect((await listed('/monitors?incident=inc_1')).ids).toEqual([])
    const counts = (await world.call(`/monitors/counts?incident=${id}`)).body
    expect(counts).toMatchObject({ states: { MISMATCH: 1, VALID: 1 }, active: 2, is_partial: false })
    expect((await world.call('/incidents/inc_1/monitors')).status).toBe(404)
    const twice = await world.call(`${path}?incident=inc_1`)
    expect([twice.status, Object.keys(twice.body.errors)]).toEqual([400, ['incident']])
  })

  test('many are acknowledged at once, with an entry in the timeline and the audit log of each that was open', async () => {
    const { world, receiver, incidents, change, passing } = await givenAlertReceiver(engine, { delay: 5 })
    const names = ['a.example.com', 'b.example.org', 'c.example.net']
    const monitors = await Promise.all(names.map((name) => createMonitor(world, name)))
    await change(...monitors.map((monitor) => ({ monitor, to: 'NOT_FOUND' })))
    await change({ monitor: monitors[2]!, from: 'NOT_FOUND', to: 'VALID' })
    const ids = (await incidents()).map(({ id }: Json) => id)
    const acknowledge = async (incidents: string[]) =>
      (await world.call('/incidents/acknowledge', { method: 'POST', body: { incidents } })).body
    const refused = await acknowledge([ids[0], 'inc_1'])
    expect(refused.errors).toEqual({ 'incidents.1': expect.stringContaining('Unknown incident') })
    expect(await acknowledge(ids)).toEqual({ count: 2 })
    expect(await acknowledge(ids)).toEqual({ count: 0 })
    expect((await incidents()).map(({ acknowledged_by }: Json) => acknowledged_by)).toEqual([
      ...['First key', 'First key', null],
    ])
    const { data } = (await world.call('/audit-log')).body
    expect(data.filter(({ action }: Json) => action === 'incident.updated')).toHaveLength(2)
    const timeline = (await world.call(`/incidents/${ids[1]}/timeline`)).body.data
    expect(timeline.map(({ kind }: Json) => kind)).toEqual(['opened', 'acknowledged'])
    await passing(HOUR_MS)
    expect(receiver.received).toEqual([])
  })

  test('the list filters by state, cause and time, and combines them', async () => {
    const { world, change } = await givenAlertReceiver(engine, { delay: 0 })
    const names = ['a.example.com', 'b.example.org', 'c.example.net']
    const [one, two, three] = await Promise.all(names.map((name) => createMonitor(world, name)))
    const wrong = { to: 'MISMATCH', currentValues: ['192.0.2.66'] }
    await change({ monitor: one!, ...wrong }, { monitor: two!, ...wrong })
    world.pass(HOUR_MS)
    const since = new Date(world.deps.clock.now()).toISOString()
    await change({ monitor: three!, to: 'NOT_FOUND' })
    const zones = async (query: string) =>
      (await world.call(`/incidents?${query}`)).body.data.map(({ zone }: Json) => zone)
    expect(await zones('state=MISMATCH')).toEqual(['example.com'])
    expect(await zones('cause=value')).toEqual(['example.com'])
    expect(await zones('cause=zone')).toEqual(['example.net'])
    expect(await zones(`since=${since}`)).toEqual(['example.net'])
    expect(await zones(`since=${since}&state=MISMATCH`)).toEqual([])
    const group = (await world.call('/groups', { method: 'POST', body: { name: 'Late' } })).body
    const four = await createMonitor(world, 'd.example.org', { group: 'late' })
    await change({ monitor: four, to: 'TIMEOUT' })
    expect(await zones('group=late')).toEqual(['example.org'])
    expect(await zones('group=default')).toEqual(['example.com', 'example.net'])
    expect(await zones('group=default&state=NOT_FOUND')).toEqual(['example.net'])
    const first = (await world.call('/incidents?group=default&limit=1')).body
    expect(await zones(`group=default&limit=1&after=${first.after}`)).toEqual(['example.net'])
    expect((await world.call(`/incidents?group=late&after=${first.after}`)).status).toBe(400)
    await world.call('/groups/late', { method: 'DELETE' })
    expect([await zones(`group=${group.id}`), await zones('group=late')]).toEqual([['example.org'], []])
    expect((await world.call('/incidents?state=x&since=y&cause=z')).status).toBe(400)
  })

  test('a failure after an hour, or after an acknowledgement or snooze, opens a new incident and alerts', async () => {
    const { world, receiver, incidents, change, passing } = await givenAlertReceiver(engine, { delay: 0 })
    const names = ['a.example.com', 'b.example.org', 'c.example.net', 'd.example.edu', 'e.example.info']
    const [one, two, three, four, five] = await Promise.all(names.map((name) => createMonitor(world, name)))
    const wrong = (monitor: string) => change({ monitor, to: 'MISMATCH', currentValues: ['192.0.2.66'] })
    await wrong(one!)
    await passing(61 * MINUTE_MS)
    await wrong(two!)
    await passing(MINUTE_MS)
    const second = (await incidents()).at(-1)
    await world.call(`/incidents/${second.id}`, { method: 'PATCH', body: { acknowledged: true } })
    await wrong(three!)
    await passing(MINUTE_MS)
    const snoozed_until = new Date(world.deps.clock.now() + HOUR_MS).toISOString()
    const third = (await incidents()).at(-1)
    await world.call(`/incidents/${third.id}`, { method: 'PATCH', body: { snoozed_until } })
    await wrong(four!)
    await passing(MINUTE_MS)
    expect(receiver.titles()).toEqual(names.slice(0, 4).map((name) => `${name} A: Mismatch`))
    await wrong(five!)
    expect((await incidents()).map(({ monitors }: Json) => monitors)).toEqual([1, 1, 1, 2])
  })

  test('a name server that refuses one zone is not a shared cause', async () => {
    const { world, incidents, change } = await givenAlertReceiver(engine, { delay: 0 })
    const path = (kind: string) => ({ path: 'authoritative', name: 'ns1.host.example', outcome: { kind } })
    const failures = ['failure', 'lame'].flatMap((kind) => [kind, kind])
    const monitors = await Promise.all(failures.map((_, index) => createMonitor(world, `www.example${index}.com`)))
    await change(
      ...failures.map((kind, index) => ({ monitor: monitors[index]!, to: 'BAD_SETUP', paths: [path(kind)] })),
    )
    expect(await incidents()).toHaveLength(4)
  })

  test.each<[string, (world: TestApp, id: string, group: string) => Promise<unknown>]>([
    ['disabled', (world, id) => world.call(`/monitors/${id}/disable`, { method: 'POST' })],
    [
      'disabled by a job',
      (world, id) => givenJobs(world).run({ action: 'update', monitors: [id], change: { is_active: false } }),
    ],
    [
      'disabled with its group',
      (world, _, group) => world.call(`/groups/${group}/monitors`, { method: 'PATCH', body: { is_active: false } }),
    ],
    ['deleted', (world, id) => world.call(`/monitors/${id}`, { method: 'DELETE' })],
    ['deleted by a job', (world, id) => givenJobs(world).run({ action: 'delete', monitors: [id] })],
    [
      'deleted with its group',
      (world, _, group) => world.call(`/groups/${group}?monitors=delete`, { method: 'DELETE' }),
    ],
    [
      'expected to be something else',
      (world, id) => world.call(`/monitors/${id}`, { method: 'PATCH', body: { expected_value: '192.0.2.7' } }),
    ],
  ])('a monitor that is %s leaves its incident, which goes on for the others', async (_, leave) => {
    const { world, evaluate, incidentOf, change } = await givenAlertReceiver(engine, { delay: 0 })
    const group = (await world.call('/groups', { method: 'POST', body: { name: 'Shop' } })).body.id
    const [shop, blog] = [
      await createMonitor(world, 'shop.example.com'),
      await createMonitor(world, 'blog.example.com'),
    ]
    await world.call(`/monitors/${shop}`, { method: 'PATCH', body: { group } })
    await change({ monitor: shop, to: 'MISMATCH' }, { monitor: blog, to: 'MISMATCH' })
    expect(await incidentOf()).toMatchObject({ monitors: 2, failing: 2 })
    await leave(world, shop, group)
    await evaluate()
    expect(await incidentOf()).toMatchObject({ monitors: 2, failing: 1, resolved: null })
  })

  test('a cause that an older version left at a resolved incident does not block a new incident', async () => {
    const { world, incidents, change } = await givenAlertReceiver(engine, { delay: 0 })
    const [one, two] = [await createMonitor(world, 'a.example.com'), await createMonitor(world, 'b.example.org')]
    await change({ monitor: one, to: 'MISMATCH', currentValues: ['192.0.2.66'] })
    const causes = await world.deps.db.selectFrom('incident_causes').selectAll().execute()
    await change({ monitor: one, from: 'MISMATCH', to: 'VALID' })
    await world.deps.db.insertInto('incident_causes').values(causes).execute()
    await change({ monitor: two, to: 'MISMATCH', currentValues: ['192.0.2.66'] })
    expect(await incidents()).toMatchObject([
      { zone: 'example.com', failing: 0 },
      { zone: 'example.org', failing: 1 },
    ])
  })

  test('the log of a channel does not contain the acknowledge link', async () => {
    const { world, receiver, fail, channel } = await givenAlertReceiver(engine, { delay: 0 })
    receiver.answers({ status: 200, body: 'accepted' })
    await fail('shop.example.com')
    const token = receiver.last().acknowledge.split('/').at(-1)
    const [alert] = (await world.call(`/alerts?channel_id=${channel}`)).body.data
    const { log } = (await world.call(`/alerts/${alert.id}`)).body
    expect(log[0].request).toContain('shop.example.com A: Mismatch')
    expect(log[0].request).not.toContain(token)
  })

  test('a rule with contradicting fields is refused with the names of the fields', async () => {
    const { world, channel } = await givenAlertReceiver(engine, { delay: 0 })
    const refused = async (body: object) =>
      (await world.call('/alert-rules', { method: 'POST', body: { name: 'A', channels: [channel], ...body } })).body
        .errors
    expect(Object.keys(await refused({ escalate_after: 5 }))).toEqual(['escalate_after'])
    expect(await refused({ escalate_after: 5, escalation_channel: channel })).toMatchObject({
      escalation_channel: expect.stringContaining('already'),
    })
    expect(Object.keys(await refused({ escalation_channel: 'chn_1', escalate_after: 1 }))).toEqual([
      'escalation_channel',
    ])
    expect(Object.keys(await refused({ digest: 'daily', repeat_every: 1 }))).toEqual(['repeat_every'])
    expect(Object.keys(await refused({ timezone: 'Mars/Olympus' }))).toEqual(['timezone'])
    const equal = { from: '22:00', until: '22:00' }
    expect(Object.keys(await refused({ quiet_hours: equal }))).toEqual(['quiet_hours.until'])
    expect(Object.keys(await refused({ quiet_hours: { from: '25:00', until: '07:00' } }))).toEqual(['quiet_hours.from'])
  })

  test('a monitor that was never valid sends no alert unless the rule has first_results, and the API explains which rules apply', async () => {
    const { world, receiver, rule, fail } = await givenAlertReceiver(engine, {
      delay: 0,
      name_pattern: '*.example.com',
    })
    const shop = await fail('shop.example.com', 'UNSET')
    const rulesOf = async (monitor: string) =>
      (await world.call(`/monitors/${monitor}/alert-rules`)).body.data.map((each: Json) => [each.name, each.reason])
    expect(receiver.received).toHaveLength(0)
    expect(await rulesOf(shop)).toEqual([
      ['All monitors', 'never_valid'],
      ['Receiver', 'never_valid'],
    ])
    expect(
      (await world.call(`/alert-rules/${rule}`, { method: 'PATCH', body: { first_results: true } })).body,
    ).toMatchObject({ first_results: true })
    const blog = await fail('blog.example.com', 'UNSET')
    expect(receiver.titles()).toEqual(['blog.example.com A: Mismatch'])
    expect((await rulesOf(blog))[1]).toEqual(['Receiver', 'matches'])
    expect((await rulesOf(await createMonitor(world, 'shop.example.org')))[1]).toEqual(['Receiver', 'name'])
  })

  test('without a mail server, email alerts are canceled, and the alert and the channel say what to set', async () => {
    const world = await givenApp(engine)
    const { change, send } = givenAlerting(world)
    await change({ monitor: await createMonitor(world, 'shop.example.com'), to: 'MISMATCH' })
    world.pass(11 * MINUTE_MS)
    await send()
    const { data } = (await world.call('/alerts')).body
    expect(data).toMatchObject([{ status: 'CANCELED', error: expect.stringContaining('SMTP_URL') }])
    const [channel] = (await world.call('/channels')).body.data
    expect(channel.last_error).toContain('SMTP_URL')
  })
})
