import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { EventQuery } from '#contract/events.ts'
import type { MonitorQuery } from '#contract/monitor-list.ts'
import { insertOrganization } from '../accounts/organizations.ts'
import { systemContext } from '../context.ts'
import type { Database } from '../database/database.ts'
import type { Engine } from '../database/engine.ts'
import { MAX_SORTED_ROWS } from '../database/index-hints.ts'
import type { Page, PageQuery } from '../database/pagination.ts'
import { insertEvents, listEvents } from '../events/store.ts'
import { listGroups } from '../groups/store.ts'
import { newId } from '../ids.ts'
import { createKeyring } from '../keyring.ts'
import { insertMonitors } from '../monitors/insert.ts'
import { ORDERS } from '../monitors/list/indexes.ts'
import { listMonitors } from '../monitors/list/list.ts'
import { INCLUDE_NOTHING, inclusionOf } from '../monitors/monitor.ts'
import { parseMonitor } from '../monitors/parse-monitor.ts'
import { createRounds } from '../monitors/rounds.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenRecordingDatabase } from '../testing/query-plans.ts'

const keyring = createKeyring('a secret of the test, longer than 32 characters')
const WAYS = ['asc', 'desc'] as const
/** More rows than a list sorts. */
const MANY = MAX_SORTED_ROWS + 500

/** Each filter alone and in combinations: first filters that match most rows, then filters that match none. */
function combinations<Q extends object>(many: Q, none: Q): { query: Partial<Q>; isFew: boolean }[] {
  const [wide, narrow] = [Object.entries(many), Object.entries(none)]
  const sets = [[], ...wide.map((each) => [each]), wide]
  for (const [at, one] of wide.entries()) for (const other of wide.slice(at + 1)) sets.push([one, other])
  const few = [...narrow.map((each) => [each]), [...wide.slice(1), narrow[0]!], [...wide.slice(0, -1), narrow.at(-1)!]]
  return [
    ...sets.map((entries) => ({ query: Object.fromEntries(entries) as Partial<Q>, isFew: false })),
    ...few.map((entries) => ({ query: Object.fromEntries(entries) as Partial<Q>, isFew: true })),
  ]
}

type Recording = Awaited<ReturnType<typeof givenRecordingDatabase>>

/** Lists in both directions and inspects every plan. */
async function inspect(
  { plansOf }: Recording,
  engine: Engine,
  isFew: boolean,
  list: (query: PageQuery) => Promise<Page<unknown>>,
): Promise<void> {
  let first: Page<unknown> | undefined
  let second: Page<unknown> | undefined
  const look = async (work: () => Promise<unknown>, isDeep: boolean) => {
    for (const { sql, plan } of await plansOf(work)) {
      const isPage = sql.includes('order by')
      if (engine === 'sqlite') expectSqlite(plan, { isFew, isDeep: isDeep && isPage })
      // The planner may sort the few rows that match the other filter of a search.
      else if (/"ids"|as found/.test(sql) || (isFew && /monitor_texts|owner >= /.test(sql)))
        expect(plan).not.toMatch(/Seq Scan on (?!groups)/)
      else expectPostgres(plan, { isDeep: isDeep && isPage })
    }
  }
  await look(async () => {
    first = await list({})
  }, false)
  if (!first?.after) return
  const { after } = first
  await look(async () => {
    second = await list({ after })
  }, true)
  await look(() => list({ before: second!.before! }), true)
}

function expectSqlite(plan: string, { isFew, isDeep }: { isFew: boolean; isDeep: boolean }): void {
  const lines = plan
    .split('\n')
    .filter(
      (line) =>
        !/^((CO-ROUTINE|SCAN) (few|ids|found|counted|of_owner|of_domain)|(CORRELATED )?SCALAR SUBQUERY \d+|REUSE SUBQUERY \d+|(COMPOUND QUERY|LEFT-MOST SUBQUERY|MERGE \(UNION\)|LEFT|RIGHT|UNION USING .*|UNION ALL))$/.test(
          line,
        ),
    )
  for (const line of lines) {
    if (isFew && line === 'USE TEMP B-TREE FOR ORDER BY') continue
    // The full-text index limits the rows by the search and the organization.
    if (line === 'SCAN monitor_search VIRTUAL TABLE INDEX 0:M1><') continue
    expect(line).toMatch(/^SEARCH \w+ (EXISTS )?USING (COVERING INDEX|INDEX|(INTEGER )?PRIMARY KEY)/)
  }
  // A deep page starts at its cursor instead of skipping rows.
  if (isDeep && !plan.includes('TEMP B-TREE') && !/=NULL|IS NULL/.test(plan)) expect(lines[0]).toMatch(/[<>]\(?\?/)
}

function expectPostgres(plan: string, { isDeep }: { isDeep: boolean }): void {
  expect(plan).not.toMatch(/Seq Scan on (?!groups)|Bitmap|Hash|Merge Join|Disabled: true/)
  // An incremental sort by id within a unique column sorts single rows.
  expect(plan).not.toMatch(/(?<!Incremental )Sort {2}\(/)
  if (isDeep) expect(plan).toMatch(/Index Cond: .*[<>]/)
}

onBothEngines('the query plans of lists', (_fresh, engine) => {
  test('monitors are read from an index without a full scan or sort', async () => {
    const recording = await givenRecordingDatabase(engine)
    const { db } = recording
    const organizationId = await givenMonitors(db)
    const filters = {
      many: { state: 'VALID', full_domain: 'www.example.com', record_type: 'A', is_active: true, group: 'big' },
      none: { state: 'TIMEOUT', full_domain: 'none.example', record_type: 'MX', is_active: false, group: 'default' },
    } as const
    const parts = {
      many: { domain: 'example.com', subdomain: 'www', state: 'VALID' },
      none: { domain: 'none.example', subdomain: 'none', state: 'TIMEOUT' },
    } as const
    const all = [
      ...combinations<MonitorQuery>(filters.many, filters.none),
      ...combinations<MonitorQuery>(parts.many, parts.none),
    ]
    for (const state of [undefined, 'VALID', 'VALID,TIMEOUT', 'TIMEOUT'] as const) {
      const search = { ...(state ? { state } : {}) }
      all.push({ query: { ...search, search: 'exam' }, isFew: state === 'TIMEOUT' })
      all.push({ query: { ...search, search: 'none' }, isFew: true })
      all.push({ query: { ...search, search: 'ex', tag: 'prod' }, isFew: true })
      all.push({ query: { ...search, search: 'xample 192.0.2', group: 'big' }, isFew: state === 'TIMEOUT' })
    }
    all.push({ query: { value: '192.0.2' }, isFew: false })
    for (const other of [{}, { state: 'VALID' }, { group: 'big' }] as const)
      all.push({ query: { ...other, incident: 'inc_none' }, isFew: true })
    const included = INCLUDE_NOTHING
    for (const [at, { query, isFew }] of all.entries()) {
      for (const [number, order_by] of Object.keys(ORDERS).entries()) {
        const order_way = WAYS[(at + number) % 2]! // each page is read from both of its sides anyway
        await inspect(recording, engine, isFew, (page) =>
          listMonitors(
            db,
            keyring,
            { organizationId },
            {
              query: { ...query, ...page, order_by, order_way, limit: 3 },
              included,
            },
          ),
        )
      }
    }
  })

  test.each(['MISMATCH', 'MISMATCH,TIMEOUT'])(
    'monitors of a group in %s are read from one index, and no others',
    async (state) => {
      const recording = await givenRecordingDatabase(engine)
      const { db } = recording
      const organizationId = await givenMonitors(db)
      await sql`update monitors set state = 'MISMATCH' where slot % 2 = 0`.execute(db)
      const atFault = await db
        .selectFrom('monitors')
        .select('id')
        .where('state', '=', 'MISMATCH')
        .orderBy('id')
        .execute()
      const query = { state, group: 'big', limit: 100 }
      const included = INCLUDE_NOTHING
      const list = (page: PageQuery) =>
        listMonitors(db, keyring, { organizationId }, { query: { ...query, ...page }, included })

      const listed: string[] = []
      for (let after: string | null | undefined; after !== null; ) {
        const page = await list(after === undefined ? {} : { after })
        listed.push(...page.data.map(({ id }) => id))
        after = page.after
      }

      expect(listed).toEqual(atFault.map(({ id }) => id))
      if (engine === 'postgres') return // its planner may combine two indexes
      const plans = await recording.plansOf(() => list({ order_way: 'desc' }))
      expect(plans.find(({ sql }) => sql.includes('order by'))?.plan).toContain('monitors_failing_in_group')
    },
  )

  test('events are read from an index without a full scan or sort', async () => {
    const recording = await givenRecordingDatabase(engine)
    const { db } = recording
    const { organizationId, monitorId } = await givenEvents(db)
    const all = combinations<EventQuery>(
      { old_state: 'VALID', new_state: 'MISMATCH', group: 'big', monitor_id: monitorId },
      { old_state: 'TIMEOUT', new_state: 'TIMEOUT', group: 'default', monitor_id: 'mon_none' },
    )
    const times = [
      {},
      { occurred_after: '0' },
      { occurred_before: '9000' },
      { occurred_after: '0', occurred_before: '9000' },
    ]
    for (const query of [{ order_by: 'recorded' }, { after_id: `evt_${'0'.repeat(26)}` }] as const) {
      for (const order_way of WAYS) {
        await inspect(recording, engine, false, (page) =>
          listEvents(db, keyring, { organizationId }, { ...query, ...page, order_way, limit: 3 }),
        )
      }
    }
    for (const [at, { query }] of all.entries()) {
      for (const [number, time] of times.entries()) {
        const order_way = WAYS[(at + number) % 2]!
        await inspect(recording, engine, false, (page) =>
          listEvents(db, keyring, { organizationId }, { ...query, ...time, ...page, order_way, limit: 3 }),
        )
      }
    }
  })

  test('groups are read from an index without a full scan or sort', async () => {
    const recording = await givenRecordingDatabase(engine)
    const { db } = recording
    const { id } = await insertOrganization(db, { name: 'Test', email: 'a@example.com', passwordHash: '' }, 0)
    for (let at = 0; at < 10; at++) {
      await db
        .insertInto('groups')
        .values({
          id: newId('grp', at),
          organization_id: id,
          created_at: at,
          name: 'Same',
          slug: `s${at}`,
          is_default: 0,
          monitors: 0,
        })
        .execute()
    }
    for (const order_by of ['created', 'name', 'slug']) {
      for (const order_way of WAYS) {
        await inspect(recording, engine, false, (page) =>
          listGroups(db, keyring, { organizationId: id }, { ...page, order_by, order_way, limit: 3 }),
        )
      }
    }
  })
})

test("PostgreSQL's planner chooses the indexes when there are many rows", async () => {
  const recording = await givenRecordingDatabase('postgres', { free: true })
  const { db } = recording
  const organizationId = await givenMonitors(db, 10_000)
  const included = inclusionOf(['frequency', 'diagnosis'])
  const filters = [
    {},
    { group: 'big' },
    { state: 'VALID' },
    { state: 'TIMEOUT' },
    { full_domain: 'www.example.com' },
  ] as const
  for (const order_by of Object.keys(ORDERS)) {
    for (const filter of filters) {
      for (const order_way of WAYS) {
        const query = { ...filter, order_by, order_way }
        await inspect(recording, 'postgres', false, (page) =>
          listMonitors(db, keyring, { organizationId }, { query: { ...query, ...page }, included }),
        )
      }
    }
  }
})

async function givenMonitors(db: Database, count = MANY): Promise<string> {
  const { id } = await insertOrganization(db, { name: 'Test', email: 'a@example.com', passwordHash: '' }, 0)
  const parsed = parseMonitor({
    full_domain: 'www.example.com',
    record_type: 'A',
    expected_value: '192.0.2.1',
    group: 'big',
    tags: ['prod'],
  })
  if (!parsed.ok) throw new Error('not a monitor')
  for (let created = 0; created < count; created += 500) {
    await insertMonitors(db, systemContext(id, 0), Array(500).fill(parsed.draft))
    // Test servers do not collect statistics, and without them inserts become slower and slower.
    if (created === 0) await sql`analyze`.execute(db)
  }
  await sql`update monitors set state = 'VALID'`.execute(db)
  const monitors = await db.selectFrom('due_checks').select(['slot', 'frequency']).execute()
  await createRounds(
    db,
    monitors.map((row) => ({ ...row, since_round: 1 })),
  )
  await sql`analyze`.execute(db)
  return id
}

async function givenEvents(db: Database) {
  const organizationId = await givenMonitors(db)
  const { id: monitorId, group_id } = await db
    .selectFrom('monitors')
    .select(['id', 'group_id'])
    .executeTakeFirstOrThrow()
  const event = (at: number) => ({
    id: newId('evt', at),
    organization_id: organizationId,
    monitor_id: monitorId,
    group_id,
    occurred_at: at,
    old_state: 'VALID',
    new_state: 'MISMATCH',
    previous_values: null,
    current_values: null,
    incidence_count: 1,
    domain: 'example.com',
    subdomain: 'www',
    record_type: 'A',
    expected_values: '[]',
    is_exact_match: 1 as const,
    diagnosis: null,
  })
  for (let created = 0; created < MANY; created += 500) {
    await insertEvents(
      db,
      Array.from({ length: 500 }, (_, at) => event(created + at + 1)),
    )
  }
  await sql`analyze`.execute(db)
  return { organizationId, monitorId }
}
