import { expect, test } from 'vitest'
import { INCLUDES, type MonitorResponse } from '#contract/monitors.ts'
import { onBothEngines } from '../../testing/database.ts'
import { givenApp, type TestApp } from '../../testing/test-app.ts'

const FILTERS = {
  none: () => true,
  'group=shop': ({ group }) => group === 'shop',
  'state=VALID': ({ state }) => state === 'VALID',
  'record_type=TXT': ({ record_type }) => record_type === 'TXT',
  'is_active=false': ({ is_active }) => !is_active,
  'subdomain=www': ({ subdomain }) => subdomain === 'www',
  'group=shop&state=MISMATCH&is_active=true': ({ group, state, is_active }) =>
    group === 'shop' && state === 'MISMATCH' && is_active,
  'incident=inc_1': ({ record_type }) => record_type === 'A',
  'incident=inc_1&state=MISMATCH&search=www': ({ record_type, state, subdomain }) =>
    record_type === 'A' && state === 'MISMATCH' && subdomain === 'www',
  'search=www': ({ subdomain }) => subdomain === 'www',
  'search=n&group=shop': ({ domain, group }) => domain.startsWith('n') && group === 'shop',
} satisfies Record<string, (monitor: MonitorResponse) => boolean>

const ORDERS = ['created', 'name', 'domain', 'subdomain', 'record_type', 'state', 'incidence_count'] as const
const KEYS = { created: 'id' } as Partial<Record<(typeof ORDERS)[number], keyof MonitorResponse>>
const SUBSETS = Array.from({ length: 2 ** INCLUDES.length }, (_, bits) => INCLUDES.filter((_, at) => bits & (1 << at)))

/** Thirty monitors of all kinds, and every one of them as an answer that includes everything. */
async function givenMonitors({ call, deps: { db } }: TestApp): Promise<MonitorResponse[]> {
  const monitors = Array.from({ length: 30 }, (_, place) => ({
    domain: `${place % 4 === 0 ? 'n' : 'm'}${place % 7}.example`,
    subdomain: place % 3 === 0 ? 'www' : '',
    record_type: place % 2 === 0 ? 'TXT' : 'A',
    expected_value: place % 2 === 0 ? 'text' : '192.0.2.1',
    frequency: 5 + (place % 5),
    is_active: place % 5 !== 0,
    ...(place % 2 === 0 ? { group: 'shop' } : {}),
  }))
  const made = await call('/monitors/bulk', { method: 'POST', body: { monitors } })
  for (const [place, { id }] of (made.body as MonitorResponse[]).entries()) {
    const state = (['VALID', 'MISMATCH', 'UNSET'] as const)[place % 3]!
    const diagnosis = JSON.stringify({ reason: `of ${place}` })
    await db
      .updateTable('monitors')
      .set({ state, incidence_count: place % 6, diagnosis })
      .where('id', '=', id)
      .execute()
    const last_checked_at = place % 4 === 1 ? null : 1_700_000_000_000 + (place % 9)
    await db.updateTable('due_checks').set({ last_checked_at }).where('monitor_id', '=', id).execute()
  }
  await insertIncident(db)
  return (await call(`/monitors?limit=100&include=${INCLUDES.join(',')}`)).body.data
}

/** An incident of all A records. */
async function insertIncident(db: TestApp['deps']['db']): Promise<void> {
  const monitors = await db.selectFrom('monitors').select(['id', 'organization_id', 'record_type']).execute()
  const [{ organization_id }] = monitors as [(typeof monitors)[number]]
  const incident = { organization_id, id: 'inc_1', cause: 'x', zone: 'm.example', state: 'MISMATCH', opened_at: 0 }
  await db
    .insertInto('incidents')
    .values({ ...incident, monitors: 15, failing: 15 })
    .execute()
  const rows = monitors.flatMap(({ id, record_type }) =>
    record_type === 'A'
      ? [{ organization_id, incident_id: 'inc_1', monitor_id: id, event_id: 'evt_1', failing_since: 0 }]
      : [],
  )
  await db.insertInto('incident_monitors').values(rows).execute()
}

function expected(
  all: MonitorResponse[],
  filter: keyof typeof FILTERS,
  order: (typeof ORDERS)[number],
  isDown: boolean,
) {
  const key = KEYS[order] ?? (order as keyof MonitorResponse)
  const rankOf = (monitor: MonitorResponse) =>
    order === 'name' ? nameOrderOf(monitor) : (monitor[key] as string | number | null)
  const rank = (one: MonitorResponse, other: MonitorResponse) => {
    const [left, right] = [rankOf(one), rankOf(other)]
    if (left === null || right === null) return Number(left === null) - Number(right === null) // last both ways
    return compare(left, right) * (isDown ? -1 : 1)
  }
  return all
    .filter(FILTERS[filter] as (monitor: MonitorResponse) => boolean)
    .sort((one, other) => rank(one, other) || compare(one.id, other.id) * (isDown ? -1 : 1))
}

/** The labels from the last to the first, as in RFC 4034 section 6.1. */
const nameOrderOf = ({ subdomain, domain }: Pick<MonitorResponse, 'subdomain' | 'domain'>) =>
  [...subdomain.split('.'), ...domain.split('.')].filter(Boolean).toReversed().join(' ')

const compare = (left: string | number, right: string | number) => (left < right ? -1 : left > right ? 1 : 0)

const withOnly = (monitor: MonitorResponse, included: readonly string[]) =>
  Object.fromEntries(
    Object.entries(monitor).filter(([key]) => !INCLUDES.some((each) => each === key) || included.includes(key)),
  )

onBothEngines('pages of monitors', (_fresh, engine) => {
  test('match the query, whatever include, filter, order and direction earlier queries had', async () => {
    const world = await givenApp(engine)
    const all = await givenMonitors(world)
    let asked = 0
    for (const order of ORDERS) {
      for (const way of ['asc', 'desc']) {
        for (const filter of Object.keys(FILTERS) as (keyof typeof FILTERS)[]) {
          // The same with another include right after it, so that a statement that was kept is not the right one.
          const number = asked++ % SUBSETS.length
          for (const included of [SUBSETS[number]!, SUBSETS[SUBSETS.length - 1 - number]!]) {
            const given = [`limit=4&order_by=${order}&order_way=${way}`, ...(filter === 'none' ? [] : [filter])]
            const query = [...given, ...(included.length === 0 ? [] : [`include=${included.join(',')}`])].join('&')
            const wanted = expected(all, filter, order, way === 'desc').map((monitor) => withOnly(monitor, included))

            const first = (await world.call(`/monitors?${query}`)).body
            expect([query, first.data]).toEqual([query, wanted.slice(0, 4)])
            if (first.after === null || asked % 5 !== 0) continue
            const second = (await world.call(`/monitors?${query}&after=${first.after}`)).body
            expect([query, second.data]).toEqual([query, wanted.slice(4, 8)])
            const back = (await world.call(`/monitors?${query}&before=${second.before}`)).body
            expect([query, back.data]).toEqual([query, wanted.slice(0, 4)])
          }
        }
      }
    }
  })
})
