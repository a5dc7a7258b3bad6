import { backupIntervalOf, findLastBackup } from '../backup/last-backup.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { ROLES } from '../config/parse.ts'
import type { Database } from '../database/database.ts'
import { type MetricFamily, Registry, type Values } from '../metrics/registry.ts'
import { type Backlog, readBacklog } from './backlog.ts'
import { readDatabaseSize } from './database-size.ts'
import { isInstanceAlive, readInstances } from './instances.ts'

/** Within this time, several scrapers cost the database as much as one. */
const CACHE_MS = 5_000

const BACKLOG: [keyof Backlog, string, string][] = [
  ['due_checks', 'zonewatch_due_checks', 'Checks that are due; 10000 means 10000 or more.'],
  [
    'overdue_checks',
    'zonewatch_overdue_checks',
    'Checks that have been due for more than a minute; 10000 means 10000 or more.',
  ],
  ['check_age', 'zonewatch_oldest_due_check_age_seconds', 'For how long the oldest due check has been due.'],
  ['due_webhooks', 'zonewatch_due_webhooks', 'Webhooks with a request that is due; 10000 means 10000 or more.'],
  ['webhook_age', 'zonewatch_delivery_queue_age_seconds', 'For how long the oldest due webhook has been due.'],
  [
    'pending_requests',
    'zonewatch_pending_webhook_requests',
    'Webhook requests that are not delivered yet; 10000 means 10000 or more.',
  ],
  ['paused_webhooks', 'zonewatch_paused_webhooks', 'Webhooks that are paused because their endpoint keeps failing.'],
  ['pending_mails', 'zonewatch_pending_mails', 'Emails that are not sent yet; 10000 means 10000 or more.'],
  ['mail_age', 'zonewatch_mail_queue_age_seconds', 'For how long the oldest due email has been due.'],
  ['due_alerts', 'zonewatch_due_alerts', 'Alerts that are due; 10000 means 10000 or more.'],
  ['alert_age', 'zonewatch_alert_queue_age_seconds', 'For how long the oldest due alert has been due.'],
  ['due_waits', 'zonewatch_due_waits', 'Monitors that wait for a record and are due; 10000 means 10000 or more.'],
  ['wait_age', 'zonewatch_oldest_due_wait_age_seconds', 'For how long the oldest due monitor that waits has been due.'],
]

type DatabaseMetricsDeps = {
  db: Database
  clock: Clock
  config: Pick<Config, 'databaseUrl' | 'backupDir' | 'backupEveryMs'>
}

/** Gauges of the database. One process of a server reports them, because they are the same in every process. */
export class DatabaseMetrics {
  readonly #deps: DatabaseMetricsDeps
  readonly #registry = new Registry()
  readonly #backlog = BACKLOG.map(([field, name, help]) => ({ field, gauge: this.#registry.gauge(name, help) }))
  readonly #size = this.#registry.gauge('zonewatch_database_size_bytes', 'Size of the database.')
  readonly #wal = this.#registry.gauge(
    'zonewatch_database_wal_bytes',
    "Size of SQLite's write-ahead log; absent on PostgreSQL.",
  )
  readonly #diskFree = this.#registry.gauge(
    'zonewatch_database_disk_free_bytes',
    'Free space on the disk of the SQLite database; absent on PostgreSQL.',
  )
  readonly #instances = this.#registry.gauge(
    'zonewatch_instances',
    'Processes that share the database and are alive, by role.',
    ['role'],
  )
  readonly #heartbeat = this.#registry.gauge(
    'zonewatch_instance_last_heartbeat_timestamp_seconds',
    'When each process that shares the database was seen last, in seconds since 1970.',
    ['id'],
  )
  readonly #backupAt = this.#registry.gauge(
    'zonewatch_last_backup_timestamp_seconds',
    'When the last backup was made, in seconds since 1970; 0: none was made. Absent if none is scheduled or was tried.',
  )
  readonly #backupFailed = this.#registry.gauge(
    'zonewatch_last_backup_failed',
    'Whether the last backup failed: 1 or 0. Absent if none was tried.',
  )
  readonly #backupSize = this.#registry.gauge(
    'zonewatch_last_backup_size_bytes',
    'Size of the last backup that was made.',
  )
  readonly #backupEvery = this.#registry.gauge(
    'zonewatch_backup_interval_seconds',
    'BACKUP_EVERY; absent if no backup is scheduled. On PostgreSQL present once a dump was recorded.',
  )
  #cached: { families: Promise<MetricFamily[]>; until: number } | undefined

  constructor(deps: DatabaseMetricsDeps) {
    this.#deps = deps
  }

  /** Empty while the database does not answer. */
  async collect(): Promise<MetricFamily[]> {
    const elapsed = this.#deps.clock.elapsed()
    if (!this.#cached || elapsed >= this.#cached.until) {
      this.#cached = { families: this.#read().catch(() => []), until: elapsed + CACHE_MS }
    }
    return await this.#cached.families
  }

  async #read(): Promise<MetricFamily[]> {
    const { db, clock, config } = this.#deps
    const now = clock.now()
    const backlog = await readBacklog(db, now)
    for (const { field, gauge } of this.#backlog) {
      gauge.set(field.endsWith('_age') ? backlog[field] / 1_000 : backlog[field])
    }
    const { bytes, walBytes, diskFreeBytes } = await readDatabaseSize(db, config.databaseUrl)
    this.#size.set(bytes)
    if (walBytes === null) this.#wal.clear()
    else this.#wal.set(walBytes)
    set(this.#diskFree, diskFreeBytes ?? undefined)
    const instances = await readInstances(db)
    const alive = instances.filter((instance) => isInstanceAlive(instance, now))
    for (const role of ROLES) {
      this.#instances.set(alive.filter(({ report }) => report?.roles.includes(role)).length, role)
    }
    this.#heartbeat.clear()
    for (const { id, seen_at } of instances) this.#heartbeat.set(seen_at / 1_000, String(id))
    await this.#readBackup()
    return this.#registry.collect()
  }

  async #readBackup(): Promise<void> {
    const { db, config } = this.#deps
    const last = await findLastBackup(db)
    const everyMs = backupIntervalOf(db, config, last)
    const made = last?.made
    set(this.#backupEvery, everyMs && everyMs / 1_000)
    set(this.#backupAt, made ? made.at / 1_000 : everyMs || last ? 0 : undefined)
    set(this.#backupFailed, last && (last.error === null ? 0 : 1))
    set(this.#backupSize, made?.bytes)
  }
}

/** Without a value, the gauge is absent from the metrics. */
function set(gauge: Values, value: number | undefined): void {
  if (value === undefined) gauge.clear()
  else gauge.set(value)
}
