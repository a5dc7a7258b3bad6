import { resolve } from 'node:path'
import { parseDuration, parseWhole } from './parse.ts'

export type BackupSettings = {
  /** Absolute. Null: no backups are scheduled. */
  backupDir: string | null
  backupEveryMs: number
  backupKeep: number
}

type Read = <T>(name: string, preset: string, about: string, parse: (text: string) => T) => T

const MINUTE_MS = 60_000
const YEAR_MS = 365 * 24 * 60 * MINUTE_MS

export function readBackupSettings(read: Read): BackupSettings {
  return {
    backupDir: read('BACKUP_DIR', '', 'the folder for scheduled backups of SQLite; none are made when empty', (text) =>
      text === '' ? null : resolve(text),
    ),
    backupEveryMs: read(
      'BACKUP_EVERY',
      '24h',
      'time between scheduled backups, for example 30m, 6h or 7d; on PostgreSQL, between two recorded dumps',
      (text) => parseDuration(text, MINUTE_MS, YEAR_MS),
    ),
    backupKeep: read(
      'BACKUP_KEEP',
      '7',
      'scheduled backups to keep; older ones are deleted after the next one is made',
      (text) => parseWhole(text, 1, 10_000),
    ),
  }
}
