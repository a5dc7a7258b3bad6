import { expect, test } from 'vitest'
import { type Change, createMonitor, givenAlertReceiver, type Json } from '../testing/alerts.ts'
import { onBothEngines } from '../testing/database.ts'
import type { TestApp } from '../testing/test-app.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Monitors in as many zones, which alternate between two top-level domains. */
async function createMonitors(world: TestApp, count: number, prefix = 'customer'): Promise<string[]> {
  const monitors = Array.from({ length: count }, (_, index) => ({
    full_domain: `www.${prefix}${index}.${index % 2 === 0 ? 'com' : 'net'}`,
    ...{ record_type: 'A', expected_value: '192.0.2.1' },
  }))
  await world.call('/monitors/bulk', { method: 'POST', body: { monitors } })
  const rows = await world.deps.db.selectFrom('monitors').select('id').where('domain', 'like', `${prefix}%`).execute()
  return rows.map(({ id }) => id)
}

const agree = (...name_servers: string[]) => [{ code: 'name_servers_agree', params: { name_servers } }]

/** The zone's name servers, two of a provider with many, answer that the name does not exist. */
const missing = (monitor: string, provider = 'dns.example', number = 1): Change => ({
  ...{ monitor, to: 'NOT_FOUND', verdict: { code: 'no_such_name' } },
  confirmation: agree(`a${number}.ns.${provider}`, `b${number}.ns.${provider}`),
})

const shown = ({ cause, cause_value, monitors }: Json) => [cause, cause_value, monitors]

onBothEngines('a cause that zones share', (_fresh, engine) => {
  test('300 zones of a provider that lost them are one incident and one message, and one message when they recover', async () => {
    const { world, receiver, incidents, change, passing } = await givenAlertReceiver(engine, { delay: 0 })
    const monitors = await createMonitors(world, 300)
    await change(...monitors.map((monitor, index) => missing(monitor, 'dns.example', index)))
    expect((await incidents()).map(shown)).toEqual([['provider', 'dns.example', 300]])
    await passing(MINUTE_MS)
    expect(receiver.titles()).toEqual(['300 monitors on the name servers of dns.example: Not found'])

    await change(...monitors.map((monitor) => ({ monitor, from: 'NOT_FOUND', to: 'VALID' })))
    await passing(MINUTE_MS)
    expect(receiver.titles().slice(1)).toEqual(['300 monitors on the name servers of dns.example: recovered'])
    expect(await incidents()).toMatchObject([{ monitors: 300, failing: 0, resolved: expect.any(String) }])
  })

  test('zones that fail one after the other become one incident before anybody is alerted', async () => {
    const { world, receiver, incidents, change, passing } = await givenAlertReceiver(engine, { delay: 10 })
    const monitors = await createMonitors(world, 8)
    const groups = ['first', 'second', 'default']
    for (const [index, group] of groups.entries())
      await world.call(`/monitors/${monitors[index]}`, { method: 'PATCH', body: { group } })
    for (const monitor of monitors) {
      await change(missing(monitor))
      await passing(MINUTE_MS)
    }
    expect((await incidents()).map(shown)).toEqual([['provider', 'dns.example', 8]])
    for (const group of groups)
      expect((await world.call(`/incidents?group=${group}`)).body.data.map(shown)).toEqual([
        ['provider', 'dns.example', 8],
      ])
    // The zone of a merged incident belongs to the other one, whatever the next monitor of it has in common.
    const blog = await createMonitor(world, 'blog.customer2.com')
    await change({ monitor: blog, to: 'NOT_FOUND' })
    await passing(10 * MINUTE_MS)
    expect(receiver.titles()).toEqual(['9 monitors on the name servers of dns.example: Not found'])
    const links = (await world.call(`/monitors/${monitors[4]}/events?include=incident`)).body.data
    expect(links.map(({ incident_id }: Json) => incident_id)).toEqual([(await incidents())[0].id])
    const { data } = (await world.call('/alerts?limit=100')).body
    expect(data.filter(({ kind, status }: Json) => kind === 'failing' && status === 'SENT')).toHaveLength(1)

    await change(...monitors.slice(0, 7).map((monitor) => ({ monitor, from: 'NOT_FOUND', to: 'VALID' })))
    expect(await incidents()).toMatchObject([{ monitors: 9, failing: 2, resolved: null }])
  })

  test('an incident that was announced or acknowledged stays apart, and those after it are announced', async () => {
    const { world, receiver, incidents, change, passing } = await givenAlertReceiver(engine, { delay: 0 })
    const monitors = await createMonitors(world, 8)
    for (const monitor of monitors.slice(0, 4)) {
      await change(missing(monitor))
      await passing(MINUTE_MS)
    }
    for (const { id } of (await incidents()).slice(0, 2))
      await world.call(`/incidents/${id}`, { method: 'PATCH', body: { acknowledged: true } })
    await change(...monitors.slice(4).map((monitor) => missing(monitor)))
    await passing(MINUTE_MS)
    expect(
      receiver
        .titles()
        .map((title) => title.slice(0, 14))
        .slice(0, 4),
    ).toEqual([...['www.customer0.', 'www.customer1.', 'www.customer2.', 'www.customer3.']])
    // Two of those four count as evidence, because nobody acknowledged them.
    expect(receiver.titles().slice(4)).toEqual(['4 monitors on the name servers of dns.example: Not found'])
  })

  test('a provider is no common cause of zones that break for different reasons, at different times or in small numbers', async () => {
    const { world, incidents, change, passing } = await givenAlertReceiver(engine, { delay: 0 })
    const few = await createMonitors(world, 4, 'few')
    const other = await createMonitors(world, 4, 'other')
    const slow = await createMonitors(world, 8, 'slow')
    const elsewhere = await createMonitors(world, 4, 'elsewhere')
    await change(
      ...few.map((monitor) => missing(monitor)),
      ...other.map((monitor) => ({
        ...{ monitor, to: 'NO_DATA', verdict: { code: 'no_records' } },
        confirmation: agree('a1.ns.dns.example'),
      })),
      ...elsewhere.map((monitor) => missing(monitor, 'dns.test')),
    )
    await passing(11 * MINUTE_MS)
    for (const monitor of slow) {
      await change(missing(monitor))
      await passing(5 * MINUTE_MS)
    }
    expect((await incidents()).map(({ monitors }: Json) => monitors)).toEqual(Array(20).fill(1))
  })

  test('the more monitors, the more zones it takes', async () => {
    const { world, incidents, change } = await givenAlertReceiver(engine, { delay: 10 })
    const monitors = await createMonitors(world, 1000)
    await change(...monitors.slice(0, 5).map((monitor) => missing(monitor)))
    expect(await incidents()).toHaveLength(5)
    await change(missing(monitors[5]!))
    expect((await incidents()).map(shown)).toEqual([['provider', 'dns.example', 6]])
  })

  test('zones that a parent does not delegate, and names with missing CNAME targets, share that', async () => {
    const { world, receiver, incidents, change, passing } = await givenAlertReceiver(engine, { delay: 0 })
    const expired = await createMonitors(world, 6, 'expired')
    const pointing = await createMonitors(world, 3, 'pointing')
    const hosted = await createMonitors(world, 6, 'hosted')
    const denied = [{ code: 'zone_denied', params: { zone: 'example', name_servers: ['a.nic.example'] } }]
    const towards = (monitor: string, target: string): Change => ({
      ...{ monitor, to: 'NOT_FOUND', verdict: { code: 'no_such_target', params: { target } } },
    })
    await change(
      ...expired.map((monitor) => ({ monitor, to: 'NOT_FOUND', confirmation: denied })),
      ...pointing.map((monitor) => towards(monitor, 'shops.saas.example')),
      ...hosted.map((monitor, index) => towards(monitor, `c${index}.cdn.example.org`)),
    )
    await passing(MINUTE_MS)
    expect((await incidents()).map(shown)).toEqual([
      ['parent', 'example', 6],
      ['target', 'shops.saas.example', 3],
      ['target', '*.example.org', 6],
    ])
    expect(receiver.titles().toSorted()).toEqual([
      '3 monitors with the CNAME target shops.saas.example: Not found',
      '6 monitors that the zone example does not delegate: Not found',
      '6 monitors with the CNAME target *.example.org: Not found',
    ])
  })

  test('a large incident accepts other zones until each monitor was checked', async () => {
    const { world, incidents, change, passing } = await givenAlertReceiver(engine, { delay: 0 })
    const monitors = await createMonitors(world, 22)
    await change(...monitors.slice(0, 20).map((monitor) => missing(monitor)))
    await passing(2 * HOUR_MS)
    await change(missing(monitors[20]!))
    await passing(HOUR_MS)
    await change(missing(monitors[21]!))
    expect((await incidents()).map(({ monitors }: Json) => monitors)).toEqual([21, 1])
  })

  test('a monitor that recovers in the batch that merges its incident leaves the other one', async () => {
    const { world, incidents, change } = await givenAlertReceiver(engine, { delay: 10 })
    const monitors = await createMonitors(world, 6)
    await change(...monitors.slice(0, 2).map((monitor) => missing(monitor)))
    await change(...monitors.slice(2).map((monitor) => missing(monitor)), {
      monitor: monitors[1]!,
      from: 'NOT_FOUND',
      to: 'VALID',
    })
    expect(await incidents()).toMatchObject([{ cause: 'provider', monitors: 6, failing: 5 }])
  })
})
