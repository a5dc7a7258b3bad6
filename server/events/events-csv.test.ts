import { text } from 'node:stream/consumers'
import papaparse from 'papaparse'
import { expect, test } from 'vitest'
import { newId } from '../ids.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'
import { eventsCsv } from './events-csv.ts'
import { insertEvents } from './store.ts'

const PATH = '/dashboard/api/events.csv'
const AT = Date.UTC(2026, 10, 21, 9, 30)

/** So many events of one monitor, a second apart, and after them one for each value. */
async function givenEvents(world: TestApp, count: number, ...values: string[]) {
  const body = { full_domain: 'www.example.com', record_type: 'TXT', expected_value: 'hello' }
  const { id } = (await world.call('/monitors', { method: 'POST', body })).body
  const row = await world.deps.db.selectFrom('monitors').selectAll().executeTakeFirstOrThrow()
  const { organization_id, group_id, domain, subdomain, record_type, expected_values, is_exact_match } = row
  const before = count - 1
  const events = Array.from({ length: values.length === 0 ? count : before + values.length }, (_, place) => ({
    ...{ organization_id, group_id, domain, subdomain, record_type, expected_values, is_exact_match },
    id: newId('evt', AT + place),
    monitor_id: id,
    occurred_at: AT + place * 1_000,
    old_state: 'VALID',
    new_state: place % 2 === 0 ? 'MISMATCH' : 'VALID',
    previous_values: '["one","two"]',
    current_values: place >= before && values.length > 0 ? JSON.stringify([values[place - before]]) : null,
    incidence_count: 1,
    diagnosis: null,
  }))
  for (let from = 0; from < events.length; from += 500)
    await insertEvents(world.deps.db, events.slice(from, from + 500))
  return events
}

const rowsOf = (csv: string) => papaparse.parse<Record<string, string>>(csv.trimEnd(), { header: true }).data

onBothEngines('GET /dashboard/api/events.csv', (_fresh, engine) => {
  test('holds every event that the filters meet, in order, as a download', async () => {
    const world = await givenApp(engine)
    const events = await givenEvents(world, 1_203)
    const answer = await world.call(PATH)
    expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8')
    expect(answer.headers['content-disposition']).toBe('attachment; filename="events.csv"')
    const rows = rowsOf(answer.text)
    expect(rows.map(({ event_id }) => event_id)).toEqual(events.map(({ id }) => id))
    expect(rows[0]).toMatchObject({
      occurred: '2026-11-21T09:30:00.000Z',
      name: 'www.example.com',
      record_type: 'TXT',
      previous_value: 'one\ntwo',
      current_value: '',
      expected_value: 'hello',
    })
    const some = await world.call(`${PATH}?new_state=VALID&order_way=desc&occurred_before=2026-11-21T09:30:10Z`)
    expect(rowsOf(some.text).map(({ event_id }) => event_id)).toEqual([9, 7, 5, 3, 1].map((at) => events[at]!.id))
    expect(rowsOf((await world.call(`${PATH}?group=none`)).text)).toEqual([])
  })

  test('an invalid query is a 400, and events of other organizations are not included', async () => {
    const world = await givenApp(engine)
    await givenEvents(world, 3)
    expect((await world.call(`${PATH}?occurred_after=soon`)).body).toMatchObject({ code: 400 })
    expect((await world.call(`${PATH}?limit=5`)).status).toBe(400)
    expect((await world.call(PATH, { key: null })).status).toBe(401)
    const { key } = await world.organization('Other')
    expect(rowsOf((await world.call(PATH, { key })).text)).toEqual([])
  })
})

test('a value that a spreadsheet would run is written as text, in each of its lines', async () => {
  const world = await givenApp('sqlite')
  const values = {
    '=1+1': "'=1+1",
    '+1': "'+1",
    '-1': "'-1",
    '@SUM(A1)': "'@SUM(A1)",
    '\t=1': "'\t=1",
    '\uff1d1': "'\uff1d1",
    'x\n=1+1': "x\n'=1+1",
    'x\r=1+1': "x\r'=1+1",
    '\r\n\n=1, "a"': `\r\n\n'=1, "a"`,
    'x\u2028@SUM(A1)': "x\u2028'@SUM(A1)",
    '"=1': '"=1',
    'v=spf1 -all': 'v=spf1 -all',
    ' =1': ' =1',
  }
  await givenEvents(world, 1, ...Object.keys(values))
  const rows = rowsOf((await world.call(PATH)).text)
  expect(rows.map(({ current_value }) => current_value)).toEqual(Object.values(values))
})

test('it ends after the maximum of events, and the last line mentions it', async () => {
  const world = await givenApp('sqlite')
  await givenEvents(world, 7)
  const { id } = await world.organization()
  const csv = await text(await eventsCsv(world.deps, { organizationId: id }, {}, 5))
  expect(csv.trimEnd().split('\r\n')).toHaveLength(1 + 5 + 1)
  expect(csv).toContain('The export is limited to 5 events')
  expect(await text(await eventsCsv(world.deps, { organizationId: id }, {}, 7))).not.toContain('The export is limited')
})
