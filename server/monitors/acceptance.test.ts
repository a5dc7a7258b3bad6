import { expect, test } from 'vitest'
import type { NewMonitor } from '#contract/monitors.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'

/** A monitor whose check found this. */
async function givenFound(
  world: TestApp,
  given: Partial<NewMonitor>,
  current: string[] | null,
  found: { state?: string; diagnosis?: object } = {},
): Promise<string> {
  const body = { full_domain: 'www.example.com', record_type: 'A', expected_value: ['192.0.2.1'], ...given }
  const { id } = (await world.call('/monitors', { method: 'POST', body })).body
  await world.deps.db
    .updateTable('monitors')
    .set({
      state: found.state ?? 'MISMATCH',
      current_values: current && JSON.stringify(current),
      diagnosis: found.diagnosis ? JSON.stringify(found.diagnosis) : null,
    })
    .where('id', '=', id)
    .execute()
  return id
}

const accept = (world: TestApp, id: string, body?: object) =>
  world.call(`/dashboard/api/accept/${id}`, { method: 'POST', body })
const difference = async (world: TestApp, id: string) =>
  (await world.call(`/dashboard/api/monitors/${id}/difference`)).body

onBothEngines('accepting what is there', (_fresh, engine) => {
  test('expects the current values, in the same mode, and checks at once', async () => {
    const world = await givenApp(engine)
    const id = await givenFound(world, { expected_value: ['192.0.2.1', '192.0.2.2'] }, ['192.0.2.2', '192.0.2.3'])
    const answer = await accept(world, id)
    expect([answer.status, answer.body]).toEqual([
      200,
      expect.objectContaining({ id, expected_value: ['192.0.2.2', '192.0.2.3'], is_exact_match: true, state: 'UNSET' }),
    ])
    const place = await world.deps.db.selectFrom('due_checks').selectAll().executeTakeFirstOrThrow()
    expect(place.due_at).toBeLessThanOrEqual(world.deps.clock.now())
    const flexible = await givenFound(world, { is_exact_match: false }, ['198.51.100.7'])
    expect((await accept(world, flexible)).body).toMatchObject({
      expected_value: ['198.51.100.7'],
      is_exact_match: false,
    })
  })

  test('the current values of every type can be accepted, and then do not differ', async () => {
    const world = await givenApp(engine)
    for (const [record_type, expected_value, current] of [
      ['MX', 'mx.example.com', ['0 .']],
      ['NS', 'ns.example.com', ['ns1.example.com', 'ns2.example.com']],
      ['CNAME', 'one.example.com', ['two.example.com']],
      ['SPF', 'v=spf1 -all', ['v=spf1  include:a.example ~all']],
      ['CAA', 'issue "ca.example"', ['0 issue ";"', '128 iodef "mailto:a@example.com"']],
      ['TXT', 'hello', ['', '"quoted" "twice"', '\\255 octets', ' spaces ', 'back\\slash', '(a)']],
      ['TXT', 'hello', ['v=DKIM1; p=abc', '"']],
    ] as const) {
      for (const is_exact_match of [true, false]) {
        const id = await givenFound(world, { record_type, expected_value, is_exact_match }, [...current])
        const { status, text } = await accept(world, id)
        expect([record_type, status, text]).toEqual([record_type, 200, expect.anything()])
        expect([record_type, await difference(world, id)]).toMatchObject([record_type, { missing: [], extra: [] }])
      }
    }
  })

  test('refuses values that cannot be expected, and values that changed since the user saw them', async () => {
    const world = await givenApp(engine)
    const many = Array.from({ length: 11 }, (_, at) => `192.0.2.${at}`)
    for (const [current, sentence] of [
      [null, 'This record has no result yet. Wait for its first check.'],
      [[], 'There are no records to accept. A monitor needs at least one expected value.'],
      [many, 'The record has 11 values. A monitor can have at most 10 expected values.'],
    ] as const) {
      const id = await givenFound(world, {}, current && [...current], current ? {} : { state: 'UNSET' })
      const { status, body } = await accept(world, id)
      expect([status, body.error]).toEqual([409, sentence])
    }
    const failed = await givenFound(world, {}, null, { state: 'INVALID' })
    expect((await accept(world, failed)).body.error).toBe(
      'No values are known, because the lookup failed. Wait for a lookup that succeeds, or enter the values.',
    )
    const id = await givenFound(world, {}, ['192.0.2.3'])
    expect((await accept(world, id, { current_value: ['192.0.2.2'] })).status).toBe(409)
    expect((await world.call(`/monitors/${id}`)).body.expected_value).toEqual(['192.0.2.1'])
    expect((await accept(world, id, { current_value: ['192.0.2.3'] })).status).toBe(200)
    expect((await accept(world, id, { other: true })).status).toBe(400)
  })

  test("is not for another organization's monitors, nor for a key that may only read", async () => {
    const world = await givenApp(engine)
    const id = await givenFound(world, {}, ['192.0.2.3'])
    const { key } = await world.organization('Other')
    const reader = await world.key('read')
    const call = (path: string, method: string, by: string) => world.call(path, { method, key: by })
    expect((await call(`/dashboard/api/accept/${id}`, 'POST', key)).status).toBe(404)
    expect((await call(`/dashboard/api/monitors/${id}/difference`, 'GET', key)).status).toBe(404)
    expect((await call(`/dashboard/api/accept/${id}`, 'POST', reader.key)).status).toBe(403)
    expect((await call(`/dashboard/api/monitors/${id}/difference`, 'GET', reader.key)).status).toBe(200)
  })
})

onBothEngines('the difference', (_fresh, engine) => {
  test("is the matcher's own: by type and mode", async () => {
    const world = await givenApp(engine)
    for (const [given, current, expected] of [
      [{ expected_value: ['192.0.2.1', '192.0.2.2'] }, ['192.0.2.2', '192.0.2.3'], [['192.0.2.1'], ['192.0.2.3']]],
      [{ expected_value: ['192.0.2.0/24'], is_exact_match: false }, ['192.0.2.9', '198.51.100.1'], [[], []]],
      [{ expected_value: ['192.0.2.1'] }, [], [['192.0.2.1'], []]],
      [{ expected_value: ['192.0.2.1'] }, null, [[], []]],
      [{ record_type: 'MX', expected_value: ['mx.example.com'] }, ['10 mx.example.com'], [[], []]],
    ] as [Partial<NewMonitor>, string[] | null, string[][]][]) {
      const id = await givenFound(world, given, current)
      expect(await difference(world, id)).toMatchObject({ missing: expected[0], extra: expected[1] })
    }
  })

  test('of a flexible CNAME knows the names that the alias leads to', async () => {
    const world = await givenApp(engine)
    const given: Partial<NewMonitor> = {
      record_type: 'CNAME',
      expected_value: ['end.example.net', 'none.example.net'],
      is_exact_match: false,
    }
    const rrset = (name: string, target: string) => ({
      outcome: { kind: 'answer', rrset: { name, type: 'CNAME', ttl: 1, values: [target] }, chain: [] },
    })
    const paths = [rrset('www.example.com', 'a.example.net'), rrset('a.example.net', 'end.example.net')]
    const id = await givenFound(world, given, ['a.example.net'], { diagnosis: { reason: '', decided: '', paths } })
    expect(await difference(world, id)).toMatchObject({ missing: ['none.example.net'], extra: [] })
  })
})
