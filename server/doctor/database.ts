import { hostname } from 'node:os'
import { sql } from 'kysely'
import { durationText, plural } from '#contract/wording.ts'
import { formatBytes } from '../backup/archive.ts'
import { backupIntervalOf, findLastBackup, type LastBackup } from '../backup/last-backup.ts'
import { errorMessage } from '../cli-error.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../database/database.ts'
import { isFile } from '../database/dialect.ts'
import { findUnknownMigration, isNeighbour, listMigrations } from '../database/migrate.ts'
import { openDatabase } from '../database/open.ts'
import { isDamaged, RESTORE_GOOD_BACKUP } from '../database/unavailable.ts'
import { DAY_MS } from '../times.ts'
import { type Finding, failure, ok, runCheck, warning } from './finding.ts'

type DatabaseDeps = { db: Database; config: Config; clock: Clock }

const MIN_POSTGRES_VERSION = 150_000
/** PostgreSQL's SQLSTATE if all connections are in use. */
const TOO_MANY_CONNECTIONS = '53300'

/** Checks the database, the migrations, the last backup and the clocks of the instances. */
export async function checkDatabase({ db, config, clock }: DatabaseDeps): Promise<Finding[]> {
  const version = await readVersion(db).catch((error: Error) => error)
  if (version instanceof Error) {
    const remedy =
      (version as { code?: string }).code === TOO_MANY_CONNECTIONS
        ? 'Raise max_connections and restart PostgreSQL, put PgBouncer in front of it, or lower WORKERS.'
        : isDamaged(version)
          ? RESTORE_GOOD_BACKUP
          : 'Check DATABASE_URL, that the database runs, and that this user may reach it.'
    return [failure('database', version.message || version.name, remedy)]
  }
  const found = [isFile(db) ? ok('database', `SQLite ${version.text}`) : postgresFinding(version)]
  if (version.isStandby) return found
  found.push(
    ...(await runCheck('integrity', () => (isFile(db) ? checkSqliteIntegrity(db) : checkPostgresIntegrity(db)))),
  )
  found.push(...(await runCheck('migrations', () => checkMigrations(db))))
  if (found.at(-1)!.status === 'failure') return found
  found.push(...(await runCheck('durability', () => checkDurability(db))))
  if (!isFile(db)) found.push(...(await runCheck('free disk', () => checkSize(db, clock))))
  found.push(...(await runCheck('backup', () => checkBackup({ db, config, clock }))))
  found.push(...(await runCheck('clocks', () => checkClocks(db, clock))))
  return found
}

/** Beyond this lag, lists are read from the primary. */
const MAX_REPLICA_LAG_MS = 10_000

/** Checks whether the database of DATABASE_READ_URL is a replica, and its lag. */
export async function checkReplica({ config, clock }: Omit<DatabaseDeps, 'db'>): Promise<Finding[]> {
  if (config.databaseReadUrl === null) return []
  const check = 'read replica'
  const db = openDatabase(config.databaseReadUrl, { connections: 1 })
  try {
    const { rows } = await sql<{ is_replica: boolean; seen_at: number | null }>`
      select pg_is_in_recovery() as is_replica, (select max(seen_at) from processes) as seen_at`.execute(db)
    const { is_replica, seen_at } = rows[0]!
    if (!is_replica) {
      return [warning(check, 'DATABASE_READ_URL leads to a primary', 'Set it to a streaming replica, or remove it.')]
    }
    // The lag is measured by the reports of the processes, which they write every 2 s.
    if (seen_at === null) return [warning(check, 'no process of a server has reported itself yet', 'Start the server.')]
    const behindMs = Math.max(0, clock.now() - seen_at - REPORT_MS)
    const line = `${(behindMs / 1_000).toFixed(1)} s behind`
    if (behindMs <= MAX_REPLICA_LAG_MS) return [ok(check, line)]
    return [warning(check, line, 'Lists are read from the primary. Check pg_stat_replication on the primary.')]
  } catch (error) {
    const remedy = 'Lists are read from the primary. Check DATABASE_READ_URL and that the replica runs.'
    return [failure(check, errorMessage(error), remedy)]
  } finally {
    await db.destroy()
  }
}

type Version = { text: string; number: number; isStandby: boolean }

async function readVersion(db: Database): Promise<Version> {
  if (isFile(db)) {
    const { rows } = await sql<{ version: string }>`select sqlite_version() as version`.execute(db)
    return { text: rows[0]!.version, number: 0, isStandby: false }
  }
  const { rows } = await sql<{ text: string; number: string; is_standby: boolean }>`
    select current_setting('server_version') as text, current_setting('server_version_num') as number,
      pg_is_in_recovery() as is_standby`.execute(db)
  const { text, number, is_standby } = rows[0]!
  return { text, number: Number(number), isStandby: is_standby }
}

export function postgresFinding({ text, number, isStandby }: Version): Finding {
  if (isStandby) {
    const remedy = 'Set DATABASE_URL to the primary, or to the proxy that leads to it.'
    return failure('database', `DATABASE_URL leads to a standby, which takes no writes (PostgreSQL ${text})`, remedy)
  }
  if (number >= MIN_POSTGRES_VERSION) return ok('database', `PostgreSQL ${text}`)
  return failure('database', `PostgreSQL ${text} is too old`, 'Upgrade to PostgreSQL 15 or newer.')
}

async function checkMigrations(db: Database): Promise<Finding[]> {
  const check = 'migrations'
  const applied = await listMigrations(db)
  if (applied === undefined) {
    return [failure(check, 'the database has no tables', 'Start the server, or run: zonewatch migrate')]
  }
  const unknown = findUnknownMigration(applied.names)
  if (unknown !== undefined && (await isNeighbour(db, applied.names))) {
    const newer = `the database is that of the next version: its migration "${unknown}" is not known here, and works with this version`
    return [warning(check, newer, 'Install the next version on this node too.')]
  }
  if (unknown !== undefined) {
    const remedy = 'Install the version of Zonewatch that made it, or restore a backup.'
    return [failure(check, `the database is newer: its migration "${unknown}" is not known here`, remedy)]
  }
  const missing = applied.known - applied.names.length
  if (missing === 0) return [ok(check, `all ${applied.known} have run`)]
  return [
    failure(check, `${missing} of ${applied.known} have not run`, 'Restart the server, or run: zonewatch migrate'),
  ]
}

async function checkSqliteIntegrity(db: Database): Promise<Finding[]> {
  const { rows } = await sql<{ quick_check: string }>`pragma quick_check(1)`.execute(db)
  const found = rows[0]?.quick_check
  if (found === 'ok') return [ok('integrity', 'no damage found')]
  return [
    failure(
      'integrity',
      `the file is damaged: ${found}`,
      'Stop the server and restore the last backup; check the disk.',
    ),
  ]
}

async function checkPostgresIntegrity(db: Database): Promise<Finding[]> {
  const { rows } = await sql<{ checksums: string; failures: number | null }>`
    select current_setting('data_checksums') as checksums,
      (select checksum_failures from pg_stat_database where datname = current_database()) as failures`.execute(db)
  const { checksums, failures } = rows[0]!
  return [checksumFinding(checksums === 'on', Number(failures ?? 0))]
}

export function checksumFinding(isOn: boolean, failures: number): Finding {
  if (failures > 0) {
    const remedy = 'Check the disk, and restore a backup or promote a replica.'
    return failure('integrity', `PostgreSQL found ${failures} pages with a wrong checksum`, remedy)
  }
  if (isOn) return ok('integrity', 'no page has a wrong checksum')
  return warning('integrity', 'pages have no checksums', 'Stop PostgreSQL and run pg_checksums --enable once.')
}

async function checkDurability(db: Database): Promise<Finding[]> {
  if (isFile(db)) {
    const { rows } = await sql<{ journal_mode: string }>`select journal_mode from pragma_journal_mode`.execute(db)
    return [journalModeFinding(rows[0]!.journal_mode)]
  }
  const { rows } = await sql<{ fsync: string; commit: string; timeout: string }>`
    select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit,
      current_setting('statement_timeout') as timeout`.execute(db)
  const { fsync, commit, timeout } = rows[0]!
  return [syncFinding(fsync, commit), ...statementTimeoutFindings(timeout)]
}

export function statementTimeoutFindings(timeout: string): Finding[] {
  if (timeout === '0') return []
  const what = `statement_timeout is ${timeout}: after it, PostgreSQL reports a commit as successful even if no standby has it`
  const remedy = "Set it to 0 for Zonewatch's user: Zonewatch has a timeout of its own."
  return [warning('durability', what, remedy)]
}

export function journalModeFinding(mode: string): Finding {
  if (mode === 'wal') return ok('durability', 'SQLite writes a log ahead (WAL)')
  const remedy = 'Move DATA_DIR to a local disk: network file systems cannot hold the log.'
  return failure('durability', `journal mode ${mode} instead of WAL`, remedy)
}

export function syncFinding(fsync: string, commit: string): Finding {
  if (fsync !== 'on') return failure('durability', 'fsync is off', 'Set fsync = on: a crash can destroy the database.')
  if (commit !== 'off') return ok('durability', `fsync on, synchronous_commit ${commit}`)
  return warning('durability', 'synchronous_commit is off', 'Set it on: a crash loses the last changes.')
}

/** Reports the size and the growth, because PostgreSQL has no statement for free disk space. */
async function checkSize(db: Database, clock: Clock): Promise<Finding[]> {
  const { rows } = await sql<{ bytes: number; measured_at: number | null; first: number | null }>`
    select pg_database_size(current_database()) as bytes, measured_at, first from (values (1)) as one
    left join (select measured_at, octets as first from database_sizes order by measured_at limit 1) as oldest on true`.execute(
    db,
  )
  const { bytes, measured_at, first } = rows[0]!
  const days = Math.floor((clock.now() - (measured_at ?? clock.now())) / DAY_MS)
  const growth = days < 1 ? '' : `, ${formatBytes(first!)} ${days} d ago`
  const rest = 'PostgreSQL does not report its free disk, so monitor it on that machine'
  return [ok('free disk', `the database takes ${formatBytes(bytes)}${growth}; ${rest}`)]
}

export type Archiving = { mode: string; archivedAt: number | null; failedAt: number | null; failed: string | null }

async function readArchiving(db: Database): Promise<Archiving> {
  const { rows } = await sql<Archiving>`select current_setting('archive_mode') as mode, last_failed_wal as failed,
    (extract(epoch from last_archived_time) * 1000)::bigint as "archivedAt",
    (extract(epoch from last_failed_time) * 1000)::bigint as "failedAt" from pg_stat_archiver`.execute(db)
  return rows[0]!
}

export function archivingFinding({ archivedAt, failedAt, failed }: Archiving): Finding {
  const check = 'backup'
  if (failedAt !== null && (archivedAt === null || failedAt > archivedAt)) {
    const remedy = 'Check archive_command and the log of PostgreSQL: it keeps its log until the disk is full.'
    return failure(check, `PostgreSQL cannot archive its log file ${failed}`, remedy)
  }
  if (archivedAt === null) return ok(check, 'PostgreSQL archives its log; none was complete yet')
  return ok(check, `PostgreSQL archives its log, the last at ${new Date(archivedAt).toISOString()}`)
}

async function checkBackup({ db, config, clock }: DatabaseDeps): Promise<Finding[]> {
  const last = await findLastBackup(db)
  const everyMs = backupIntervalOf(db, config, last)
  if (isFile(db)) return [backupFinding(last, everyMs, clock.now())]
  const archiving = await readArchiving(db)
  const archived = archiving.mode === 'off' ? [] : [archivingFinding(archiving)]
  if (last) return [...archived, backupFinding(last, everyMs, clock.now(), POSTGRES_REMEDIES)]
  if (archived.length > 0) return archived
  const remedy = 'Dump the database every night, and record that: docs/guides/back-up-and-restore.md.'
  return [warning('backup', 'PostgreSQL does not archive its log, and no dump is recorded', remedy)]
}

const SQLITE_REMEDIES = {
  failed: 'Fix the cause. Zonewatch retries every 10 minutes.',
  old: 'Check that the server runs, and its log for "The backup failed".',
}
const POSTGRES_REMEDIES = {
  failed: 'Fix the cause: journalctl -u zonewatch-dump, on the node with the dumps.',
  old: 'Check zonewatch-dump.timer on the node with the dumps. BACKUP_EVERY is the time between two.',
}

function backupFinding(
  last: LastBackup | undefined,
  everyMs: number | undefined,
  now: number,
  remedies = SQLITE_REMEDIES,
): Finding {
  const check = 'backup'
  const made =
    last?.made && `${last.made.path}, ${formatBytes(last.made.bytes)}, ${durationText(now - last.made.at)} ago`
  if (last?.error) {
    const remedy = everyMs === undefined ? 'Fix the cause, and make a backup again.' : remedies.failed
    return failure(check, `the last one failed: ${last.error} Before that: ${made ?? 'none'}`, remedy)
  }
  if (everyMs === undefined) {
    const detail = made ? `none is scheduled; the last: ${made}` : 'none was ever made'
    return warning(check, detail, 'Set BACKUP_DIR to a folder on another disk.')
  }
  if (!last?.made || now - last.made.at > 2 * everyMs) {
    return failure(check, made ? `the last is too old: ${made}` : 'none was made yet', remedies.old)
  }
  return ok(check, made!)
}

/** How long the clocks are watched. An instance reports every 2 s, with the time of its clock. */
const WATCH_MS = 5_000
const REPORT_MS = 2_000
/** From 1 s on, leases of several nodes can overlap. The dashboard tolerates at most 5 s. */
const WARNING_OFFSET_MS = 1_000
const FAILURE_OFFSET_MS = 5_000

type InstanceClock = { id: number; machine: string; seen_at: number }

/** Compares the clocks of the instances with this one, at the moment when they report. */
async function checkClocks(db: Database, clock: Clock): Promise<Finding[]> {
  const read = async (): Promise<InstanceClock[]> =>
    await db.selectFrom('processes').select(['id', 'machine', 'seen_at']).execute()
  let after = clock.now()
  const last = new Map((await read()).map((row) => [row.id, row.seen_at]))
  const count = last.size
  const offsets = new Map<number, { machine: string; offsetMs: number }>()
  const isSure = () => offsets.size >= count && [...offsets.values()].every(({ offsetMs }) => offsetMs === 0)
  for (const until = clock.elapsed() + WATCH_MS; clock.elapsed() < until && !isSure(); ) {
    await clock.sleep(REPORT_MS / 10)
    const startedAt = clock.now()
    const rows = await read()
    const before = clock.now()
    for (const { id, machine, seen_at } of rows) {
      if (last.get(id) === seen_at) continue
      last.set(id, seen_at)
      const offsetMs = machine === hostname() ? 0 : leastOffset(seen_at, { after, before })
      const known = offsets.get(id)
      if (!known || Math.abs(offsetMs) < Math.abs(known.offsetMs)) offsets.set(id, { machine, offsetMs })
    }
    after = startedAt
  }
  const database = !isFile(db) ? await databaseOffset(db, clock) : undefined
  return [...clockFindings([...offsets.values()]), ...(database === undefined ? [] : [databaseClockFinding(database)])]
}

/** How far a clock is off at least, if it showed `reportedAt` between two times of this one. A busy machine reports and reads late. */
export function leastOffset(reportedAt: number, { after, before }: { after: number; before: number }): number {
  if (reportedAt > before) return reportedAt - before
  return Math.min(0, reportedAt - after)
}

async function databaseOffset(db: Database, clock: Clock): Promise<number> {
  const after = clock.now()
  const { rows } = await sql<{
    now: number
  }>`select (extract(epoch from clock_timestamp()) * 1000)::bigint as now`.execute(db)
  return leastOffset(rows[0]!.now, { after, before: clock.now() })
}

const NTP = 'Run an NTP client (chrony, systemd-timesyncd) on every machine.'

export function clockFindings(instances: readonly { machine: string; offsetMs: number }[]): Finding[] {
  if (instances.length === 0)
    return [warning('instances', 'no process of a server works on this database', 'Start the server.')]
  const furthest = instances.toSorted((a, b) => Math.abs(b.offsetMs) - Math.abs(a.offsetMs))[0]!
  const offset = Math.abs(furthest.offsetMs)
  const direction = furthest.offsetMs > 0 ? 'ahead of' : 'behind'
  const what = `the clock of ${furthest.machine} is ${(offset / 1_000).toFixed(1)} s ${direction} this machine's`
  const running = plural(instances.length, '1 process is running', (count) => `${count} processes are running`)
  const instancesFinding = ok('instances', running)
  if (offset >= FAILURE_OFFSET_MS) return [instancesFinding, failure('clocks', what, NTP)]
  return [instancesFinding, offset >= WARNING_OFFSET_MS ? warning('clocks', what, NTP) : ok('clocks', 'agree')]
}

export function databaseClockFinding(offsetMs: number): Finding {
  if (Math.abs(offsetMs) < WARNING_OFFSET_MS) return ok('clock of PostgreSQL', 'agrees')
  return warning('clock of PostgreSQL', `${(offsetMs / 1_000).toFixed(1)} s off`, NTP)
}
