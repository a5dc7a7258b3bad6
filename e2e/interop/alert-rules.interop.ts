import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { run } from './process.ts'
import { createWorkspace } from './workspace.ts'

const RULES = fileURLToPath(new URL('../../deploy/prometheus/zonewatch.rules.yml', import.meta.url))
const RUNBOOK = fileURLToPath(new URL('../../docs/guides/runbook.md', import.meta.url))

/** Series as promtool writes them, with a value for each minute, that make the alert fire and that do not. */
type Case = { fires: Record<string, string>; silent: Record<string, string> }

const CASES: Record<string, Case> = {
  ZonewatchDown: { fires: { 'up{job="zonewatch"}': '0x60' }, silent: { 'up{job="zonewatch"}': '1x60' } },
  ZonewatchProcessDown: { fires: { zonewatch_process_up: '0x60' }, silent: { zonewatch_process_up: '1x60' } },
  ZonewatchProcessRestarts: {
    fires: { zonewatch_process_restarts_total: '0x50 3x10' },
    silent: { zonewatch_process_restarts_total: '0x50 1x10' },
  },
  ZonewatchRoleMissing: {
    fires: { 'zonewatch_instances{role="checker"}': '0x60' },
    silent: { 'zonewatch_instances{role="checker"}': '1x60' },
  },
  ZonewatchChecksLate: {
    fires: { zonewatch_oldest_due_check_age_seconds: '61x60' },
    silent: { zonewatch_oldest_due_check_age_seconds: '5x60' },
  },
  ZonewatchNoChecks: {
    fires: { 'zonewatch_checks_total{outcome="unchanged"}': '7x60', zonewatch_due_checks: '9x60' },
    silent: { 'zonewatch_checks_total{outcome="unchanged"}': '0+60x60', zonewatch_due_checks: '9x60' },
  },
  ZonewatchLeasesLost: {
    fires: { zonewatch_lost_leases_total: '0+20x60', 'zonewatch_checks_total{outcome="unchanged"}': '0+60x60' },
    silent: { zonewatch_lost_leases_total: '0+1x60', 'zonewatch_checks_total{outcome="unchanged"}': '0+60x60' },
  },
  ZonewatchNetworkDown: {
    fires: { 'zonewatch_canary_state{state="offline"}': '1x60' },
    silent: { 'zonewatch_canary_state{state="ok"}': '1x60' },
  },
  ZonewatchResolverFailing: {
    fires: queries({ NOERROR: '0+60x60', timeout: '0+40x60' }),
    silent: queries({ NOERROR: '0+60x60', timeout: '0+1x60' }),
  },
  ZonewatchDeliveriesLate: {
    fires: { zonewatch_delivery_queue_age_seconds: '121x60' },
    silent: { zonewatch_delivery_queue_age_seconds: '3x60' },
  },
  ZonewatchWebhooksPaused: {
    fires: { zonewatch_paused_webhooks: '1x60' },
    silent: { zonewatch_paused_webhooks: '0x60' },
  },
  ZonewatchAlertsLate: {
    fires: { zonewatch_alert_queue_age_seconds: '121x60' },
    silent: { zonewatch_alert_queue_age_seconds: '3x60' },
  },
  ZonewatchMailFailing: {
    fires: { 'zonewatch_mails_total{result="failed"}': '0x50 1x10' }, // the first failure
    silent: { 'zonewatch_mails_total{result="failed"}': '0x60' },
  },
  ZonewatchApiErrors: {
    fires: requests({ 200: '0+60x60', 500: '0+10x60' }),
    silent: requests({ 200: '0+60x60', 500: '0+1x60' }),
  },
  ZonewatchDatabaseErrors: {
    fires: { 'zonewatch_database_statement_duration_seconds_count{result="error"}': '0+60x60' },
    silent: { 'zonewatch_database_statement_duration_seconds_count{result="error"}': '0+1x60' },
  },
  ZonewatchWalLarge: {
    fires: { zonewatch_database_wal_bytes: '2000000000x60' },
    silent: { zonewatch_database_wal_bytes: '1000000x60' },
  },
  ZonewatchDiskFull: {
    fires: { zonewatch_database_disk_free_bytes: '900000000x60', zonewatch_database_size_bytes: '10000000000x60' },
    silent: { zonewatch_database_disk_free_bytes: '900000000x60', zonewatch_database_size_bytes: '1000000000x60' },
  },
  ZonewatchBackupFailed: {
    fires: { zonewatch_last_backup_failed: '1x60' },
    silent: { zonewatch_last_backup_failed: '0x60' },
  },
  ZonewatchBackupOld: {
    fires: { zonewatch_last_backup_timestamp_seconds: '0x60', zonewatch_backup_interval_seconds: '300x60' },
    silent: { zonewatch_last_backup_timestamp_seconds: '0x60', zonewatch_backup_interval_seconds: '3600x60' },
  },
  ZonewatchEventLoopBusy: {
    fires: { 'nodejs_eventloop_active_seconds_total{job="zonewatch"}': '0+59x60' },
    silent: { 'nodejs_eventloop_active_seconds_total{job="zonewatch"}': '0+20x60' },
  },
}

test('every alert rule has a section in the runbook and a case here', async () => {
  const [rules, runbook] = [await readFile(RULES, 'utf8'), await readFile(RUNBOOK, 'utf8')]
  const alerts = [...rules.matchAll(/alert: (\w+)/g)].map(([, name]) => name)
  expect([...runbook.matchAll(/^## (\w+)$/gm)].map(([, name]) => name)).toEqual(alerts)
  expect(Object.keys(CASES)).toEqual(alerts)
})

test('every alert rule fires when it must, and is silent otherwise', async () => {
  const workspace = await createWorkspace()
  onTestFinished(() => workspace.remove())
  // A separate label, because promtool compares all labels and annotations of an alert.
  const rules = (await readFile(RULES, 'utf8'))
    .replace(/^ +annotations:\n +summary: .*\n?/gm, '')
    .replace(/^( +)expr: \|\n((?:\1 {2}.*\n)+)/gm, (_, indent: string, lines: string) => {
      return `${indent}expr: 'count(${lines.replaceAll(/\s+/g, ' ').trim()})'\n`
    })
    .replace(/^( +)expr: (?!')(.*)$/gm, "$1expr: 'count($2)'")
  await writeFile(join(workspace.folder, 'rules.yml'), rules)
  const severityOf = (name: string) => new RegExp(`alert: ${name}\\n[^]*?severity: (\\w+)`).exec(rules)![1]!
  const tests = Object.entries(CASES).flatMap(([alertname, { fires, silent }]) =>
    [fires, silent].map((series) => ({
      interval: '1m',
      input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
      alert_rule_test: [
        {
          eval_time: '59m',
          alertname,
          exp_alerts: series === fires ? [{ exp_labels: { severity: severityOf(alertname) } }] : [],
        },
      ],
    })),
  )
  const file = join(workspace.folder, 'tests.yml')
  await writeFile(file, JSON.stringify({ rule_files: ['rules.yml'], evaluation_interval: '1m', tests }))
  expect(await run('promtool', ['test', 'rules', file])).toContain('SUCCESS')
})

function queries(values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([rcode, each]) => [`zonewatch_dns_queries_total{upstream="a",rcode="${rcode}"}`, each]),
  )
}

function requests(values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([status, each]) => [`zonewatch_http_requests_total{status="${status}"}`, each]),
  )
}
