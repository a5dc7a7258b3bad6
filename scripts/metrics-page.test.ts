import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { systemClock } from '#server/clock.ts'
import { readConfig } from '#server/config/config.ts'
import { Metrics } from '#server/metrics/metrics.ts'
import { ServerMetrics } from '#server/metrics/server-metrics.ts'
import { DatabaseMetrics } from '#server/operations/database-metrics.ts'
import { freshDatabase } from '#server/testing/database.ts'

test('docs/reference/metrics.md lists every metric with its type and labels, and no other', async () => {
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

test('the rules and the dashboard use only metrics that exist', () => {
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

test('their statements use only labels that the metrics have', () => {
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

test('the panels of the dashboard have ids of their own, and none covers another', () => {
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
