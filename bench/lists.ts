import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KyselyPlugin, OperationNode, RawNode } from 'kysely'
import type { MonitorQuery } from '#contract/monitor-list.ts'
import { systemClock } from '../server/clock.ts'
import type { Database } from '../server/database/database.ts'
import { migrate } from '../server/database/migrate.ts'
import { openDatabase } from '../server/database/open.ts'
import { createKeyring } from '../server/keyring.ts'
import { listMonitors } from '../server/monitors/list/list.ts'
import { parseInclude } from '../server/monitors/monitor.ts'
import { fill } from './api-data.ts'
import { readOptions } from './options.ts'

/** The effect of the index hints of lists on SQLite: the same pages with and without `indexed by`. */
const { values: options } = readOptions({
  options: {
    monitors: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '15' },
    json: { type: 'boolean', default: false },
  },
})

type Query = Omit<MonitorQuery, 'include'>
const CASES: Record<string, Query> = {
  'in order of creation': {},
  'by state': { state: 'MISMATCH' },
  'by group': { group: 'group-7' },
  'by state and group': { state: 'MISMATCH', group: 'group-7' },
  'by type, ordered by domain': { record_type: 'A', order_by: 'domain' },
  'by state, ordered by changes': { state: 'MISMATCH', order_by: 'incidence_count' },
  'by group, ordered by domain': { group: 'group-7', order_by: 'domain' },
  'by a state that none has, ordered by domain': { state: 'NOT_FOUND', order_by: 'domain' },
  'by a domain, ordered by changes': { domain: 'shop-7919.example.com', order_by: 'incidence_count' },
}
const DEEP_PAGES = 20
const SECRET = 'a secret of the benchmark, longer than 32 characters'

const withoutHints: KyselyPlugin = {
  transformQuery: ({ node }) => strip(node) as typeof node,
  transformResult: async ({ result }) => result,
}

const folder = await mkdtemp(join(tmpdir(), 'zonewatch-bench-'))
try {
  const db = openDatabase(`sqlite:${join(folder, 'bench.db')}`)
  await migrate(db, systemClock.now())
  await fill(db, Number(options.monitors), systemClock.now())
  const rows = await measure(db)
  if (options.json) for (const row of rows) console.log(JSON.stringify(row))
  else console.table(rows)
  await db.destroy()
} finally {
  await rm(folder, { recursive: true, force: true })
}

async function measure(hinted: Database) {
  const unhinted = hinted.withPlugin(withoutHints)
  const rows = []
  for (const [name, query] of Object.entries(CASES)) {
    const first = { hinted: await timesOf(hinted, query), unhinted: await timesOf(unhinted, query) }
    const after = await cursorAfter(hinted, query)
    const deep = after === null ? undefined : { ...query, after }
    rows.push({
      case: name,
      first_ms: first.hinted,
      first_ms_without: first.unhinted,
      deep_ms: deep && (await timesOf(hinted, deep)),
      deep_ms_without: deep && (await timesOf(unhinted, deep)),
    })
  }
  return rows
}

/** The median CPU time of the rounds in milliseconds. SQLite runs in this process. */
async function timesOf(db: Database, query: Query): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < Number(options.rounds); round++) {
    const from = process.cpuUsage()
    await page(db, query)
    const { user, system } = process.cpuUsage(from)
    times.push((user + system) / 1_000)
    if (times[0]! > 2_000) break // once is enough
  }
  return Math.round(times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)]! * 100) / 100
}

async function page(db: Database, query: Query, limit = 20) {
  const { id } = await db.selectFrom('organizations').select('id').executeTakeFirstOrThrow()
  return await listMonitors(
    db,
    createKeyring(SECRET),
    { organizationId: id },
    {
      query: { limit, ...query },
      included: parseInclude(undefined),
    },
  )
}

/** The cursor of a deep page, or of the last one. */
async function cursorAfter(db: Database, query: Query): Promise<string | null> {
  let after: string | null = null
  for (let pages = 0; pages < DEEP_PAGES; pages++) {
    const next: string | null = (await page(db, { ...query, ...(after === null ? {} : { after }) }, 100)).after
    if (next === null) return after
    after = next
  }
  return after
}

function strip<T>(node: T): T {
  if (Array.isArray(node)) return node.map(strip) as T
  if (node === null || typeof node !== 'object' || node instanceof Uint8Array) return node
  const { kind, sqlFragments, parameters } = node as unknown as RawNode
  if (kind === 'RawNode' && sqlFragments.some((text) => text.includes('indexed by'))) {
    return { kind, sqlFragments: ['', ''], parameters: [parameters[0] as OperationNode] } as T
  }
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, strip(value)])) as T
}
