import { expect, test } from 'vitest'
import { claimDue } from '../queue/lease-queue.ts'
import { createMonitor, givenAlertReceiver, type Json } from '../testing/alerts.ts'
import { onBothEngines } from '../testing/database.ts'
import { startReceiver } from '../testing/receiver.ts'
import { absentFacts, healthyFacts, secondServer } from '../testing/zone-facts.ts'
import { MINUTE_MS } from '../times.ts'
import type { ZoneFacts } from './facts.ts'
import { recordLook } from './record-look.ts'

const ENGINES = ['sqlite', 'postgres'] as const

const LAME = (): ZoneFacts =>
  healthyFacts({ servers: [healthyFacts().servers[0]!, secondServer({ response: { kind: 'lame' } })] })
const HIJACKED = (): ZoneFacts => {
  const attacker = secondServer({ name: 'ns.attacker.example', isInZone: false })
  return healthyFacts({
    delegation: { nameServers: ['ns.attacker.example', 'ns1.example.com', 'ns2.example.net'] },
    servers: [...healthyFacts().servers, attacker],
  })
}

/** A receiver of alerts, and zones whose looks see what the test says. */
async function givenGuardedZones(engine: (typeof ENGINES)[number], rule: object = {}) {
  const alerting = await givenAlertReceiver(engine, { delay: 0, ...rule })
  const { world, evaluate, passing } = alerting
  const { db, clock } = world.deps
  async function look(facts: (name: string) => ZoneFacts, names?: readonly string[]) {
    await db.updateTable('due_zones').set({ due_at: clock.now(), claimed_by: null }).execute()
    for (;;) {
      const claims = await claimDue(db, 'due_zones', { now: clock.now(), process: 1, limit: 100 })
      if (claims.length === 0) return
      for (const claim of claims)
        if (!names || names.includes(claim.name)) {
          const seen = { ...facts(claim.name), zone: claim.name, at: clock.now() }
          await recordLook(db, claim, { kind: 'facts', facts: seen }, clock.now())
        }
      await evaluate()
    }
  }
  return {
    ...alerting,
    zone: async (name: string) => (await world.call('/zones', { method: 'POST', body: { name } })).body as Json,
    look,
    /** Two looks that confirm each other, and the alerts after them. */
    async see(facts: (name: string) => ZoneFacts) {
      await look(facts)
      world.pass(5 * MINUTE_MS)
      await look(facts)
      await passing(MINUTE_MS)
    },
    open: async (): Promise<Json[]> => (await world.call('/incidents?is_open=true')).body.data,
  }
}

onBothEngines('alerts of zones', (_fresh, engine) => {
  test('a zone with several findings is one message with what to do, and another one when it is healthy again', async () => {
    const { zone, see, receiver, open, world } = await givenGuardedZones(engine)
    const { id } = await zone('example.com')
    await see(() => healthyFacts())
    const broken = () => {
      const servers = LAME().servers.map((server) =>
        server.response.kind === 'answers' ? { ...server, response: { ...server.response, tcp: false } } : server,
      )
      return { ...LAME(), servers }
    }
    await see(broken)
    expect(receiver.titles()).toEqual(['Zone example.com: error'])
    const message = receiver.last()
    expect(message.text).toContain('ns2.example.net')
    expect(message.remedy).toContain('ns2.example.net')
    expect(message.facts.find(({ name }: Json) => name === 'Findings').value.split('\n')).toHaveLength(2)
    expect(JSON.stringify(message)).toContain('/dashboard/zones/example.com')
    const [incident] = await open()
    expect(incident).toMatchObject({ zone: 'example.com', state: 'ERROR', monitors: 1, failing: 1, zones: 1 })
    expect((await world.call(`/incidents?zone_id=${id}`)).body.data).toEqual([incident])
    expect((await world.call('/incidents?zone_id=zon_1')).body.data).toEqual([])
    await see(broken)
    await see(() => healthyFacts())
    expect(receiver.titles()).toEqual(['Zone example.com: error', 'Zone example.com: recovered'])
    expect(await open()).toEqual([])
  })

  test('records that fail below a hijacked zone fold into its incident, before and after it', async () => {
    const { zone, see, receiver, open, world, change, passing } = await givenGuardedZones(engine, { delay: 30 })
    await zone('example.com')
    await see(() => healthyFacts())
    const [www, mail, other] = await Promise.all(
      ['www.example.com', 'mail.example.com', 'www.example.org'].map((name) => createMonitor(world, name)),
    )
    await change({ monitor: www!, to: 'MISMATCH', currentValues: ['203.0.113.66'] })
    await see(HIJACKED)
    await change({ monitor: mail!, to: 'TIMEOUT', paths: [] }, { monitor: other!, to: 'NOT_FOUND' })
    await passing(40 * MINUTE_MS)
    const incidents = await open()
    expect(incidents.map(({ zone, monitors, zones }) => [zone, monitors, zones])).toEqual([
      ['example.com', 3, 1],
      ['example.org', 1, 0],
    ])
    expect(receiver.titles().sort()).toEqual(['Zone example.com: critical', 'www.example.org A: Not found'])
    const message = receiver.received
      .map(({ body }) => JSON.parse(body.toString()))
      .find(({ title }) => title.startsWith('Zone'))
    expect(message.text).toContain('ns.attacker.example')
    expect(message.facts.find(({ name }: Json) => name === 'Monitors').value).toContain('www.example.com A')
    // The zone is healthy again, and its records still fail.
    await see(() => healthyFacts())
    expect((await open())[0]).toMatchObject({ monitors: 3, failing: 2 })
    await change({ monitor: www!, from: 'MISMATCH', to: 'VALID' }, { monitor: mail!, from: 'TIMEOUT', to: 'VALID' })
    await passing(MINUTE_MS)
    expect(receiver.titles()).toContain('Zone example.com: recovered')
  })

  test('records do not fold into a zone whose finding does not explain them', async () => {
    const { zone, see, open, world, change } = await givenGuardedZones(engine)
    await zone('example.com')
    await see(() => healthyFacts())
    await see(LAME)
    const www = await createMonitor(world, 'www.example.com')
    await change({ monitor: www, to: 'MISMATCH', currentValues: ['203.0.113.66'] })
    expect((await open()).map(({ state }) => state)).toEqual(['ERROR', 'MISMATCH'])
  })

  test('a zone that becomes critical sends another message, also if somebody acknowledged what it had before', async () => {
    const { zone, see, receiver, open, world } = await givenGuardedZones(engine)
    await zone('example.com')
    await see(() => healthyFacts())
    await see(LAME)
    const [{ id }] = (await open()) as [Json]
    const acknowledge = () => world.call(`/incidents/${id}`, { method: 'PATCH', body: { acknowledged: true } })
    await acknowledge()
    await see(LAME)
    await see(() => absentFacts())
    expect(receiver.titles()).toEqual(['Zone example.com: error', 'Zone example.com: critical'])
    expect((await open())[0]).toMatchObject({ id, acknowledged: null })
    await acknowledge()
    await see(() => absentFacts())
    expect(receiver.titles()).toHaveLength(2)
    const { data } = (await world.call(`/incidents/${id}/timeline`)).body
    expect(data.map(({ kind }: Json) => kind)).toEqual([
      ...['opened', 'sent', 'acknowledged', 'unacknowledged', 'sent', 'acknowledged'],
    ])
  })

  test('many zones that one parent zone no longer delegates are one message', async () => {
    const { see, receiver, open, world, passing, look } = await givenGuardedZones(engine)
    const names = Array.from({ length: 200 }, (_, index) => `z${index}.customers.example`)
    await world.call('/zones/bulk', { method: 'POST', body: { names } })
    await look(() => healthyFacts())
    await see(() => absentFacts({ parentZone: 'example' }))
    expect(receiver.titles()).toEqual(['200 zones that example does not delegate: critical'])
    expect(await open()).toMatchObject([{ cause: 'parent', cause_value: 'example', monitors: 200, zones: 200 }])
    await see(() => healthyFacts())
    await passing(MINUTE_MS)
    expect(receiver.titles()).toHaveLength(2)
    expect(await open()).toEqual([])
  })

  test('rules say which levels, names and groups they send, and maintenance, snooze and ignored findings hold', async () => {
    const { zone, see, receiver, open, world, rule, passing, evaluate } = await givenGuardedZones(engine, {
      zone_levels: ['critical'],
    })
    const { id } = await zone('example.com')
    await see(() => healthyFacts())
    await see(LAME)
    expect([receiver.titles(), (await open()).length]).toEqual([[], 1])
    const patch = (path: string, body: object) => world.call(path, { method: 'PATCH', body })
    // A rule with groups has no zones, and neither has one for other names.
    for (const filters of [
      { groups: ['default'] },
      { groups: null, tags: ['a'] },
      { tags: null, name_pattern: '*.org' },
    ]) {
      await patch(`/alert-rules/${rule}`, { zone_levels: ['error', 'critical'], ...filters })
      await see(() => absentFacts())
      await see(LAME)
      expect(receiver.titles()).toEqual([])
    }
    const ignored = [{ code: 'name_server_lame', reason: 'Known.' }]
    expect((await patch(`/zones/${id}`, { ignored })).body.health).toBe('ok')
    await see(LAME)
    expect(await open()).toEqual([])

    await patch(`/alert-rules/${rule}`, { name_pattern: '*.com' })
    const from = new Date(world.deps.clock.now()).toISOString()
    const to = new Date(world.deps.clock.now() + 60 * MINUTE_MS).toISOString()
    await world.call('/maintenance-windows', {
      method: 'POST',
      body: { name: 'Move', name_pattern: 'example.com', from, to },
    })
    await patch(`/zones/${id}`, { ignored: [] })
    await see(LAME)
    expect([receiver.titles(), (await open()).length]).toEqual([[], 1])
    await passing(60 * MINUTE_MS)
    expect(receiver.titles()).toEqual(['Zone example.com: error'])
    // A zone that is deleted leaves its incident.
    await world.call(`/zones/${id}`, { method: 'DELETE' })
    await evaluate()
    await passing(MINUTE_MS)
    expect(await open()).toEqual([])
    expect(receiver.titles()).toEqual(['Zone example.com: error', 'Zone example.com: closed'])
  })
})

onBothEngines('webhook requests about zones', (_fresh, engine) => {
  test('only webhooks that ask for them receive the findings of a look, in one signed request', async () => {
    const { zone, see, world } = await givenGuardedZones(engine)
    const receiver = await startReceiver()
    const post = async (path: string, body: object) => (await world.call(path, { method: 'POST', body })).body
    const other = await post('/webhooks', { url: `${receiver.url}/records`, all_groups: true })
    expect(other).not.toHaveProperty('zone_events')
    const webhook = await post('/webhooks', {
      url: `${receiver.url}/zones`,
      zone_events: true,
      batch: { max_events: 5 },
    })
    expect(webhook).toMatchObject({ zone_events: true, groups: [] })
    const { id } = await zone('example.com')
    await see(() => healthyFacts())
    await see(LAME)
    const requests = async (of = webhook) => (await world.call(`/webhooks/${of.id}/requests`)).body.data as Json[]
    expect(await requests(other)).toEqual([])
    const [request, ...more] = await requests()
    expect(more).toEqual([])
    const { payload } = (await world.call(`/webhooks/${webhook.id}/requests/${request.id}`)).body
    const { data } = (await world.call(`/zones/${id}/events`)).body
    expect(payload).toMatchObject({
      ...{ id: request.id, webhook_id: webhook.id },
      zone: { id, name: 'example.com', health: 'error', previous_health: 'ok' },
      zone_events: [{ ...data[0], ignored: false, advice: expect.stringContaining('ns2.example.net') }],
    })
    expect(request.event_id).toBe(data[0].id)
    await world.call(`/webhooks/${webhook.id}`, { method: 'PATCH', body: { zone_events: false } })
    await see(() => healthyFacts())
    expect(await requests()).toHaveLength(1)
  })
})
