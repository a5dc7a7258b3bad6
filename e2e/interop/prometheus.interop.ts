import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDatabase } from '#server/database/open.ts'
import { type Running, run, startProcess } from './process.ts'
import { until } from './until.ts'
import { createFolder, createWorkspace, freePort, type Workspace } from './workspace.ts'

const MAIN = fileURLToPath(new URL('../../server/main.ts', import.meta.url))
const RULES = fileURLToPath(new URL('../../deploy/prometheus/zonewatch.rules.yml', import.meta.url))
const DASHBOARD = fileURLToPath(new URL('../../deploy/grafana/zonewatch.json', import.meta.url))
/** A bound for what hangs, on a machine that has other things to do. */
const PATIENCE_MS = 150_000
const API_KEY = `zw_${'Interop'.repeat(7).slice(0, 43)}`

let workspace: Workspace
let folder: string
let dataDir: string
let metricsUrl: string
let prometheusUrl: string
const started: Running[] = []

beforeAll(async () => {
  workspace = await createWorkspace()
  folder = await createFolder(workspace, 'prometheus')
  dataDir = join(folder, 'zonewatch')
  await mkdir(dataDir)
  const [port, metricsPort] = [await freePort(), await freePort()]
  metricsUrl = `http://127.0.0.1:${metricsPort}`
  started.push(
    startProcess(process.execPath, [MAIN, 'serve'], {
      PORT: String(port),
      METRICS_PORT: String(metricsPort),
      BASE_URL: `http://127.0.0.1:${port}`,
      DATA_DIR: dataDir,
      ROLES: 'api,delivery', // nobody checks, so that checks fall behind
      DNS_SERVERS: '127.0.0.1:9',
      DNS_ROOTS: 'off',
      DNS_CANARIES: 'off',
      ADMIN_EMAIL: 'owner@zone.test',
      ADMIN_PASSWORD: 'not a secret',
      ADMIN_API_KEY: API_KEY,
    }),
  )
  await answers(`${metricsUrl}/readyz`)
  const monitor = { full_domain: 'www.zone.test', record_type: 'A', expected_value: '192.0.2.1' }
  const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json' }
  const created = await fetch(`http://127.0.0.1:${port}/monitors`, {
    method: 'POST',
    headers,
    body: JSON.stringify(monitor),
  })
  expect(created.status).toBe(201)
  prometheusUrl = await startPrometheus(metricsPort)
}, 3 * PATIENCE_MS)

afterAll(async () => {
  await Promise.all(started.map(({ stop }) => stop()))
  await workspace.remove()
})

test('Prometheus loads the alert rules and the example configuration', async () => {
  for (const name of ['zonewatch.rules.yml', 'machines.rules.yml']) {
    await run('promtool', ['check', 'rules', RULES.replace('zonewatch.rules.yml', name)])
  }
  for (const name of ['prometheus.yml', 'several-nodes.yml']) {
    await run('promtool', ['check', 'config', RULES.replace('zonewatch.rules.yml', name)])
  }
})

test('the backup alerts fire for a failed and an outdated backup, and not for a recent or unscheduled one', async () => {
  const alerting = (rows: [string, number][], alerts: string[], minutes = 30) => ({
    interval: '1m',
    input_series: rows.map(([name, value]) => ({ series: `${name}{instance="a"}`, values: `${value}x${minutes}` })),
    alert_rule_test: ['ZonewatchBackupFailed', 'ZonewatchBackupOld'].map((alertname) => ({
      eval_time: `${minutes}m`,
      alertname,
      exp_alerts: alerts.filter((name) => name === alertname).map(() => ({ exp_labels: EXPECTED[alertname] })),
    })),
  })
  const at: [string, number] = ['zonewatch_last_backup_timestamp_seconds', 0]
  const failed = (value: number): [string, number] => ['zonewatch_last_backup_failed', value]
  const every = (seconds: number): [string, number] => ['zonewatch_backup_interval_seconds', seconds]
  const file = join(folder, 'rules-test.yml')
  const tests = [
    alerting([at, failed(0), every(3_600)], []),
    alerting([at, failed(0)], [], 600),
    alerting([at, failed(1), every(3_600)], ['ZonewatchBackupFailed']),
    alerting([at, failed(0), every(300)], ['ZonewatchBackupOld']),
  ]
  const withoutAnnotations = (await readFile(RULES, 'utf8')).replace(/^ +annotations:\n +summary: .*\n/gm, '')
  await writeFile(join(folder, 'bare-rules.yml'), withoutAnnotations)
  await writeFile(file, JSON.stringify({ rule_files: ['bare-rules.yml'], evaluation_interval: '1m', tests }))
  expect(await run('promtool', ['test', 'rules', file])).toContain('SUCCESS')
})

const EXPECTED: Record<string, object> = {
  ZonewatchBackupFailed: { severity: 'warning' },
  ZonewatchBackupOld: { severity: 'critical' },
}

test('promtool finds no problem in the metrics', async () => {
  const text = await (await fetch(`${metricsUrl}/metrics`)).text()
  const file = join(folder, 'metrics.txt')
  await writeFile(file, text)

  expect(text).toContain('zonewatch_process_up{process="api",roles="api"} 1')
  expect(await run('sh', ['-c', `promtool check metrics < '${file}' 2>&1`])).toBe('')
})

test('Prometheus scrapes a live server, also as OpenMetrics', { timeout: 2 * PATIENCE_MS }, async () => {
  const up = async () => (await query('up{job="zonewatch"}'))[0] === 1 || undefined
  await until(up, { withinMs: PATIENCE_MS, failure: () => `the target is not up\n${started[1]!.output()}` })
  expect(await query('sum(zonewatch_process_up)')).toEqual([2])
  // A counter, which OpenMetrics names in another way.
  expect((await query('sum(zonewatch_database_statement_duration_seconds_count)'))[0]).toBeGreaterThan(10)
  expect((await query('sum(process_cpu_seconds_total)'))[0]).toBeGreaterThan(0)
})

test('every panel of the Grafana dashboard shows data of the server', { timeout: 2 * PATIENCE_MS }, async () => {
  const { panels } = JSON.parse(await readFile(DASHBOARD, 'utf8')) as { panels: Panel[] }
  const targets = panels.flatMap(({ title, targets = [] }) => targets.map((target) => ({ title, ...target })))
  expect(targets.length).toBeGreaterThan(30)
  const text = await (await fetch(`${metricsUrl}/metrics`)).text()
  const exported = new Set([...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name!))
  const hasSamples = (name: string) => text.includes(`\n${name}{`) || text.includes(`\n${name} `)
  let shown = 0
  for (const { title, expr, legendFormat } of targets) {
    const names = [...expr.matchAll(/\b(?:zonewatch|process|nodejs)_\w+/g)].map(([name]) => name)
    for (const name of names) expect([...exported], title).toContain(name.replace(/_(bucket|sum|count)$/, ''))
    // As Grafana writes it.
    const asked = expr.replaceAll('$job', 'zonewatch|other').replaceAll('$__rate_interval', '1m')
    if (!names.every(hasSamples) || /> 0|quantile/.test(expr)) {
      await select(asked)
      continue
    }
    const found = async () => ((await select(asked)).length > 0 ? await select(asked) : undefined)
    const series = await until(found, { withinMs: PATIENCE_MS, failure: () => `${title} shows nothing: ${asked}` })
    for (const [, label] of legendFormat.matchAll(/{{(\w+)}}/g))
      expect(Object.keys(series[0]!.metric), title).toContain(label)
    shown++
  }
  expect(shown).toBeGreaterThan(15)
})

type Panel = { title: string; targets?: { expr: string; legendFormat: string }[] }

test('alerts fire when checks are late and when no process runs checks', { timeout: 2 * PATIENCE_MS }, async () => {
  // A minute passes at once.
  const db = openDatabase(`sqlite:${join(dataDir, 'zonewatch.db')}`)
  await db
    .updateTable('due_checks')
    .set(({ eb }) => ({ due_at: eb('due_at', '-', 120_000) }))
    .execute()
  await db.destroy()

  const firing = async () => {
    const { data } = (await (await fetch(`${prometheusUrl}/api/v1/alerts`)).json()) as Alerts
    const names = data.alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname)
    return (names.includes('ZonewatchChecksLate') && names.includes('ZonewatchRoleMissing') && names) || undefined
  }
  const names = await until(firing, {
    withinMs: PATIENCE_MS,
    failure: () => `no alert fires\n${started[1]!.output()}`,
  })
  expect(names).not.toContain('ZonewatchDown')
  expect(names).not.toContain('ZonewatchProcessDown')
})

type Alerts = { data: { alerts: { state: string; labels: { alertname: string } }[] } }

/** With the project's rules, which wait for a second instead of minutes here. */
async function startPrometheus(metricsPort: number): Promise<string> {
  const rules = (await readFile(RULES, 'utf8')).replace(/for: \d+m/g, 'for: 1s')
  await writeFile(join(folder, 'rules.yml'), rules)
  const configuration = `
global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }
rule_files: [rules.yml]
scrape_configs:
  - job_name: zonewatch
    static_configs: [{ targets: ['127.0.0.1:${metricsPort}'] }]
`
  await writeFile(join(folder, 'prometheus.yml'), configuration)
  const port = await freePort()
  started.push(
    startProcess('prometheus', [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'tsdb')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ]),
  )
  await answers(`http://127.0.0.1:${port}/-/ready`)
  return `http://127.0.0.1:${port}`
}

async function answers(url: string): Promise<void> {
  const isUp = async () => {
    const ended = started.at(-1)!.ended()
    if (ended !== undefined) throw new Error(`${ended}\n${started.at(-1)!.output()}`)
    return (await fetch(url).catch(() => undefined))?.ok || undefined
  }
  await until(isUp, { withinMs: PATIENCE_MS, failure: () => `${url} does not answer\n${started.at(-1)!.output()}` })
}

type Sample = { metric: Record<string, string>; value: [number, string] }

const query = async (expression: string) => (await select(expression)).map(({ value }) => Number(value[1]))

/** Throws if Prometheus cannot parse or evaluate it. */
async function select(expression: string): Promise<Sample[]> {
  const answer = await fetch(`${prometheusUrl}/api/v1/query?query=${encodeURIComponent(expression)}`)
  const { error, data } = (await answer.json()) as { error?: string; data?: { result: Sample[] } }
  if (!data) throw new Error(`${expression}: ${error}`)
  return data.result
}
