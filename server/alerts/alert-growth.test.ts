import { expect, test } from 'vitest'
import { type Change, givenAlertReceiver, type Json } from '../testing/alerts.ts'
import { onBothEngines } from '../testing/database.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Monitors of one domain, and what makes the next of them fail. */
async function givenDomain(...[engine, rule, variables]: Parameters<typeof givenAlertReceiver>) {
  const given = await givenAlertReceiver(engine, rule, variables)
  const monitors = Array.from({ length: 330 }, (_, index) => ({
    full_domain: `n${index}.example.com`,
    ...{ record_type: 'A', expected_value: '192.0.2.1' },
  }))
  await given.world.call('/monitors/bulk', { method: 'POST', body: { monitors } })
  const rows = await given.world.deps.db.selectFrom('monitors').select('id').orderBy('id').execute()
  const failureOf = (monitor: string): Change => ({ monitor, to: 'NOT_FOUND' })
  const failNext = (count: number) => given.change(...rows.splice(0, count).map(({ id }) => failureOf(id)))
  return { ...given, failNext }
}

onBothEngines('an incident that grows', (_fresh, engine) => {
  test('causes one more message when it has ten times the monitors of the last one, and not before five minutes', async () => {
    const { receiver, failNext, passing } = await givenDomain(engine, { delay: 0 })
    await failNext(3)
    await passing(MINUTE_MS)
    for (const count of [5, 10, 11]) {
      await failNext(count)
      await passing(MINUTE_MS)
    }
    expect(receiver.titles()).toEqual(['3 monitors of example.com: Not found'])
    await failNext(1)
    await passing(MINUTE_MS)
    expect(receiver.received).toHaveLength(1)
    await failNext(10)
    await passing(MINUTE_MS)
    expect(receiver.titles().slice(1)).toEqual(['40 monitors of example.com: Not found'])
    expect(receiver.last().text).toContain('40 monitors failed by now; the last message said 3.')
    await failNext(200)
    await passing(24 * HOUR_MS)
    expect(receiver.received).toHaveLength(2)
  })

  test('adds at least ten monitors before the next message, which is canceled by an acknowledgement', async () => {
    const { world, receiver, failNext, passing, incidentOf } = await givenDomain(engine, { delay: 0 })
    await failNext(1)
    await passing(MINUTE_MS)
    await failNext(9)
    await passing(HOUR_MS)
    expect(receiver.received).toHaveLength(1)
    await failNext(1)
    await passing(0)
    expect(receiver.titles().slice(1)).toEqual(['11 monitors of example.com: Not found'])

    await failNext(150)
    const { id } = await incidentOf()
    await world.call(`/incidents/${id}`, { method: 'PATCH', body: { acknowledged: true } })
    await passing(HOUR_MS)
    expect(receiver.received).toHaveLength(2)
    await world.call(`/incidents/${id}`, { method: 'PATCH', body: { acknowledged: false } })
    await passing(0)
    expect(receiver.titles().slice(2)).toEqual(['161 monitors of example.com: Not found'])
  })

  test('counts within the limit of the channel, and a summary says how many it were', async () => {
    const { receiver, failNext, passing } = await givenDomain(engine, { delay: 0 }, { ALERTS_PER_HOUR: '1' })
    await failNext(1)
    await passing(MINUTE_MS)
    await failNext(30)
    await passing(10 * MINUTE_MS)
    expect(receiver.received).toHaveLength(1)
    await passing(HOUR_MS)
    const summary = receiver.last()
    expect(summary).toMatchObject({ kind: 'summary', title: '1 more alert' })
    expect(summary.facts).toEqual([{ name: 'Still failing', value: '31 monitors of example.com: Not found' }])
    await failNext(299)
    await passing(HOUR_MS)
    expect(receiver.titles().at(-1)).toBe('330 monitors of example.com: Not found')
  })

  test('is described as it is when a failed message is retried, and no other message follows', async () => {
    const { world, receiver, failNext, passing, evaluate } = await givenDomain(engine, { delay: 0 })
    receiver.answers(500)
    await failNext(2)
    await passing(MINUTE_MS)
    receiver.answers(200)
    await failNext(50)
    await evaluate()
    await passing(10 * MINUTE_MS)
    expect(receiver.titles().at(-1)).toBe('52 monitors of example.com: Not found')
    const { data } = (await world.call('/alerts')).body
    expect(data.filter(({ status }: Json) => status === 'SENT')).toHaveLength(1)
    await passing(HOUR_MS)
    expect(receiver.received).toHaveLength(2)
  })
})
