import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../clock.ts'
import { insertEvents } from '../events/store.ts'
import { newId } from '../ids.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'
import { eventually } from '../testing/test-server.ts'
import { MAX_STREAMS_PER_CALLER } from './streams.ts'

const PATH = '/dashboard/api/live'

type Message = { event: string; data: { lists?: string[]; monitors: string[] } }

/** Listens as a browser does. `received` grows; `over` resolves when the server ends the stream. */
async function listen(world: TestApp, key?: string) {
  const [listening] = world.app.addresses()
  const known = listening as AddressInfo | undefined
  const port = known?.port ?? Number(new URL(await world.app.listen({ host: '127.0.0.1', port: 0 })).port)
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const headers = { 'x-api-key': key ?? (await world.organization()).key }
  const answer = await fetch(`http://127.0.0.1:${port}${PATH}`, { headers, signal: stop.signal })
  const received: Message[] = []
  const read = async () => {
    let text = ''
    for await (const part of answer.body!.pipeThrough(new TextDecoderStream())) {
      text += part
      const messages = text.split('\n\n')
      text = messages.pop()!
      for (const message of messages) {
        const [, event, data] = message.match(/^event: (\w+)\ndata: (.*)$/) ?? []
        if (event && event !== 'beat') received.push({ event, data: JSON.parse(data!) })
      }
    }
  }
  return { answer, received, over: read().catch(() => 'cut off'), leave: () => stop.abort() }
}

async function givenMonitor(world: TestApp) {
  const body = { full_domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1' }
  return (await world.call('/monitors', { method: 'POST', body })).body.id as string
}

async function happen(world: TestApp, monitorId: string, at: number): Promise<void> {
  const { db } = world.deps
  const row = await db.selectFrom('monitors').selectAll().where('id', '=', monitorId).executeTakeFirstOrThrow()
  const { organization_id, group_id, domain, subdomain, record_type, expected_values, is_exact_match } = row
  await insertEvents(db, [
    {
      ...{ organization_id, group_id, domain, subdomain, record_type, expected_values, is_exact_match },
      id: newId('evt', at),
      monitor_id: monitorId,
      occurred_at: at,
      old_state: 'VALID',
      new_state: 'MISMATCH',
      previous_values: null,
      current_values: null,
      incidence_count: 1,
      diagnosis: null,
    },
  ])
}

/** The change that names this list, once it was received. */
const messageOf = (received: Message[], list: string) =>
  eventually(
    async () => received.filter(({ event, data }) => event === 'change' && data.lists?.includes(list)),
    (found) => found.length > 0,
  )

onBothEngines('GET /dashboard/api/live', (_fresh, engine) => {
  test('a change that another process commits reaches the page', async () => {
    const world = await givenApp(engine)
    const id = await givenMonitor(world)
    const elsewhere = await givenApp(engine, {}, world.url)
    await happen(world, id, world.deps.clock.now())
    const { answer, received } = await listen(world)
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    await messageOf(received, 'events')
    const before = received.length
    await happen(elsewhere, id, world.deps.clock.now())
    await eventually(
      async () => received.length,
      (count) => count > before,
    )
    expect(received.at(-1)).toMatchObject({
      event: 'change',
      data: { lists: ['events', 'monitors', 'requests'], monitors: [id] },
    })
  })

  test('changes by users reach the pages of every process', async () => {
    const world = await givenApp(engine)
    const { key } = await world.organization()
    const id = await givenMonitor(world)
    const elsewhere = await givenApp(engine, {}, world.url)
    await happen(world, id, world.deps.clock.now())
    const [here, there] = [await listen(world), await listen(elsewhere, key)]
    for (const { received } of [here, there]) await messageOf(received, 'events')
    await world.call(`/monitors/${id}`, { method: 'PATCH', body: { frequency: 30 } })
    for (const { received } of [here, there]) expect(await messageOf(received, 'groups')).toBeTruthy()
    await world.call('/webhooks', { method: 'POST', body: { url: 'http://127.0.0.1:8/' } })
    for (const { received } of [here, there]) expect(await messageOf(received, 'webhooks')).toBeTruthy()
  })

  test('sends changes that happened while the page was loading, and none of other organizations', async () => {
    const world = await givenApp(engine)
    const id = await givenMonitor(world)
    const { key } = await world.organization('Other')
    await happen(world, id, world.deps.clock.now() - 5_000)
    const [own, others] = [await listen(world), await listen(world, key)]
    await messageOf(own.received, 'events')
    await happen(world, id, world.deps.clock.now())
    await eventually(
      async () => own.received,
      (received) => received.some(({ data }) => data.monitors.includes(id)),
    )
    await systemClock.sleep(600)
    expect(others.received).toEqual([])
  })
})

test('all keys of an organization together have so many streams and no more, and a stream that ends frees a place', async () => {
  const world = await givenApp('sqlite')
  const streams = []
  for (let count = 0; count < MAX_STREAMS_PER_CALLER; count++) streams.push(await listen(world))
  expect(streams.map(({ answer }) => answer.status)).toEqual(Array(MAX_STREAMS_PER_CALLER).fill(200))
  expect((await world.call(PATH)).status).toBe(429)
  const other = await world.key('read')
  expect((await world.call(PATH, { key: other.key })).status).toBe(429)
  const elsewhere = await world.organization('Second')
  expect((await listen(world, elsewhere.key)).answer.status).toBe(200)
  streams[0]!.leave()
  const again = await eventually(
    () => listen(world),
    ({ answer }) => answer.status === 200,
  )
  expect(again.answer.status).toBe(200)
  expect((await world.call(PATH, { key: null })).status).toBe(401)
  expect((await world.call(`${PATH}?colour=red`)).status).toBe(400)
  expect((await world.call(PATH, { method: 'HEAD' })).status).toBe(405)
})

test('ends when the server stops', async () => {
  const world = await givenApp('sqlite')
  const { over } = await listen(world)
  await world.close()
  await over
})
