import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { Type } from 'typebox'
import { expect, test } from 'vitest'
import { systemClock } from '#server/clock.ts'
import { readConfig } from '#server/config/config.ts'
import { Metrics } from '#server/metrics/metrics.ts'
import { ServerMetrics } from '#server/metrics/server-metrics.ts'
import { DatabaseMetrics } from '#server/operations/database-metrics.ts'
import { freshDatabase } from '#server/testing/database.ts'

test('docs/reference/metrics.md lists exactly the existing metrics with their types and labels', async () => {
  const db = await freshDatabase('sqlite')
  const ofDatabase = new DatabaseMetrics({
    db,
    clock: systemClock,
    config: readConfig({ DATABASE_URL: 'sqlite:/nowhere.db' }),
  })
  const ofProcess = new Metrics().collect()
  const families = [...ofProcess, ...(await ofDatabase.collect()), ...new ServerMetrics().collect()]
  const registered = families.map(({ name, type }) => `${name} ${type}`)

  const rows = [...readFileSync('docs/reference/metrics.md', 'utf8').matchAll(/^\| `(\w+)` \| (\w+) \| (.*?) \|/gm)]
  expect(rows.map(([, name, type]) => `${name} ${type}`).sort()).toEqual([...registered].sort())
  const ofOneProcess = new Set(ofProcess.map(({ name }) => name))
  for (const [, name, , labels] of rows) {
    const hasProcess = ofOneProcess.has(name!) || /^zonewatch_process_/.test(name!)
    expect([name, labels!.includes('`process`')]).toEqual([name, hasProcess])
  }
})

test('the alert rules and the Grafana dashboard use only existing metrics', () => {
  const page = readFileSync('docs/reference/metrics.md', 'utf8')
  const known = new Set([...page.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name!))
  for (const path of ['deploy/prometheus/zonewatch.rules.yml', 'deploy/grafana/zonewatch.json']) {
    const used = [...readFileSync(path, 'utf8').matchAll(/\b(?:zonewatch|process|nodejs)_\w+/g)].map(([name]) =>
      name.replace(/_(bucket|sum|count)$/, ''),
    )
    expect(used.length).toBeGreaterThan(5)
    expect(used.filter((name) => !known.has(name))).toEqual([])
  }
})

test('the alert rules and the Grafana dashboard use only existing labels', () => {
  const page = readFileSync('docs/reference/metrics.md', 'utf8')
  const labelsOf = new Map(
    [...page.matchAll(/^\| `(\w+)` \| \w+ \| (.*?) \|/gm)].map(([, name, labels]) => [
      name!,
      [...labels!.matchAll(/`(\w+)`/g)].map(([, label]) => label!),
    ]),
  )
  const rules = readFileSync('deploy/prometheus/zonewatch.rules.yml', 'utf8')
  const ofRules = rules.split(/^ +expr: /m).slice(1)
  const statements = [
    ...ofRules.map((text) => text.split(/^ +(?:for|labels): /m)[0]!),
    ...readPanels().flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ]
  expect(statements.length).toBeGreaterThan(40)
  // What Prometheus adds, and the bound of a bucket.
  const always = ['job', 'instance', 'le']
  for (const statement of statements) {
    const names = [...statement.matchAll(/\b(?:zonewatch|process|nodejs)_\w+/g)].map(([name]) => name)
    const known = names.flatMap((name) => labelsOf.get(name) ?? labelsOf.get(name.replace(/_(bucket|sum|count)$/, ''))!)
    const grouped = [...statement.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) => list!.split(/, */))
    const selected = [...statement.matchAll(/[{,]\s*(\w+)(?==~?"|!=")/g)].map(([, label]) => label!)
    for (const label of [...grouped, ...selected]) expect([...always, ...known], statement).toContain(label)
  }
})

/** Of Grafana's JSON model, the fields that our dashboard uses. A field that is not here is not used yet, or misspelt. */
const exactly = <T extends Parameters<typeof Type.Object>[0]>(fields: T) =>
  Type.Object(fields, { additionalProperties: false })
const Source = exactly({
  type: Type.Literal('prometheus'),
  uid: Type.String({ pattern: String.raw`^\$\{datasource\}$` }),
})
const Cells = (most: number) => Type.Integer({ minimum: 0, maximum: most })
const position = { id: Type.Integer({ minimum: 1 }), title: Type.String({ minLength: 1 }) }
const GridPos = exactly({ x: Cells(23), y: Cells(200), w: Cells(24), h: Cells(30) })
const FieldConfig = exactly({
  defaults: exactly({
    unit: Type.Enum(['short', 's', 'bytes', 'ops', 'reqps', 'percentunit', 'dtdurations', 'none']),
    min: Type.Number(),
    max: Type.Optional(Type.Number()),
    thresholds: exactly({
      mode: Type.Enum(['absolute', 'percentage']),
      steps: Type.Array(exactly({ color: Type.String(), value: Type.Union([Type.Null(), Type.Number()]) })),
    }),
  }),
  overrides: Type.Array(Type.Never()),
})
const drawn = {
  ...position,
  description: Type.String(),
  gridPos: GridPos,
  datasource: Source,
  fieldConfig: FieldConfig,
  targets: Type.Array(
    exactly({
      expr: Type.String({ minLength: 1 }),
      legendFormat: Type.String(),
      refId: Type.String({ pattern: '^[A-Z]$' }),
      datasource: Source,
    }),
    { minItems: 1 },
  ),
}
const Panel = Type.Union([
  exactly({
    ...{ ...position, gridPos: GridPos, type: Type.Literal('row') },
    collapsed: Type.Literal(false),
    panels: Type.Array(Type.Never()),
  }),
  exactly({
    ...{ ...drawn, type: Type.Literal('stat') },
    options: exactly({
      reduceOptions: exactly({ calcs: Type.Array(Type.Literal('lastNotNull')) }),
      colorMode: Type.Enum(['value', 'background', 'none']),
      graphMode: Type.Enum(['area', 'none']),
    }),
  }),
  exactly({
    ...{ ...drawn, type: Type.Literal('timeseries') },
    options: exactly({
      legend: exactly({
        displayMode: Type.Enum(['list', 'table', 'hidden']),
        placement: Type.Enum(['bottom', 'right']),
      }),
      tooltip: exactly({ mode: Type.Enum(['single', 'multi', 'none']), sort: Type.Enum(['none', 'asc', 'desc']) }),
    }),
  }),
])
const Variable = exactly({
  name: Type.String(),
  label: Type.String(),
  type: Type.Enum(['datasource', 'query']),
  query: Type.Union([Type.Literal('prometheus'), exactly({ query: Type.String(), refId: Type.String() })]),
  datasource: Type.Optional(Source),
  /** 2: when the time range changes. */
  refresh: Type.Optional(Type.Enum([0, 1, 2])),
  multi: Type.Optional(Type.Boolean()),
  includeAll: Type.Optional(Type.Boolean()),
  current: Type.Partial(exactly({ text: Type.String(), value: Type.String() })),
})
const Dashboard = exactly({
  title: Type.String(),
  uid: Type.String({ pattern: '^[\\w-]{1,40}$' }),
  /** That of Grafana 11. A newer Grafana migrates it. */
  schemaVersion: Type.Literal(39),
  version: Type.Integer(),
  editable: Type.Boolean(),
  tags: Type.Array(Type.String()),
  timezone: Type.Enum(['browser', 'utc', '']),
  refresh: Type.String({ pattern: '^\\d+[smh]$' }),
  time: exactly({ from: Type.String({ pattern: '^now-\\d+[mhd]$' }), to: Type.Literal('now') }),
  annotations: exactly({ list: Type.Array(Type.Never()) }),
  templating: exactly({ list: Type.Array(Variable) }),
  panels: Type.Array(Panel, { minItems: 1 }),
})

test('the dashboard has the fields that Grafana documents', () => {
  const isValid = new Ajv({ allErrors: true, strict: false }).compile(Dashboard)
  isValid(JSON.parse(readFileSync('deploy/grafana/zonewatch.json', 'utf8')))
  expect(isValid.errors ?? []).toEqual([])
})

test('the panels of the dashboard have unique ids and do not overlap', () => {
  const panels = readPanels()
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  const taken = new Set<string>()
  for (const { title, gridPos } of panels) {
    expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24)
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        expect(taken.has(`${x} ${y}`), title).toBe(false)
        taken.add(`${x} ${y}`)
      }
    }
  }
})

type Panel = {
  id: number
  title: string
  gridPos: { x: number; y: number; w: number; h: number }
  targets?: { expr: string }[]
}
const readPanels = () =>
  (JSON.parse(readFileSync('deploy/grafana/zonewatch.json', 'utf8')) as { panels: Panel[] }).panels
