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
