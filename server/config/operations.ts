import { resolve } from 'node:path'
import { DAY_MS, MINUTE_MS } from '../times.ts'
import {
  InvalidSetting,
  parseBaseUrl,
  parseDuration,
  parseHost,
  parseInteger,
  type ReadSecret,
  type ReadSetting,
  splitList,
} from './parse.ts'

const YEAR_MS = 365 * DAY_MS
const MEBIBYTE = 1024 * 1024

/** `host`: the default of METRICS_HOST. */
export function readOperationsSettings(read: ReadSetting, readSecret: ReadSecret, host: string) {
  const port = read('METRICS_PORT', '', 'a separate port for /metrics, /healthz and /readyz, without a key', parsePort)
  const metricsHost = read('METRICS_HOST', host, 'the address to listen on for METRICS_PORT', parseHost)
  const token = 'the bearer token for /metrics on PORT, at least 16 characters'
  return {
    metricsPort: port === null ? null : { host: metricsHost, port },
    /** Null: not served there. */
    metricsToken: readSecret('METRICS_TOKEN', token, parseToken),
    /** Without a slash at the end. */
    tracesEndpoint: read(
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      '',
      'where OpenTelemetry traces are sent, by OTLP over HTTP: http://127.0.0.1:4318; none when empty',
      (text) => (text === '' ? null : parseBaseUrl(text)),
    ),
    /** In lower case. */
    operators: read(
      'OPERATORS',
      '',
      'email addresses that see the Server page, comma separated; the owners of the first organization when empty',
      parseOperators,
    ),
    /** Absolute. */
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
      (text) => parseInteger(text, 1, 10_000),
    ),
    jobStoredBytes: read(
      'JOB_STORED_MB',
      '256',
      'storage for the results of jobs per organization; beyond it changes are made without what an undo needs; 0 = no limit',
      (text) => parseInteger(text, 0, 1_000_000) * MEBIBYTE || Number.POSITIVE_INFINITY,
    ),
  }
}

const parsePort = (text: string): number | null => (text === '' ? null : parseInteger(text, 1, 65_535))

function parseToken(text: string): string {
  if (!/^[\x21-\x7e]{16,}$/.test(text))
    throw new InvalidSetting('needs at least 16 visible ASCII characters without spaces.')
  return text
}

function parseOperators(text: string): string[] {
  const addresses = splitList(text.toLowerCase())
  const invalid = addresses.find((address) => !/^[^\s@]+@[^\s@]+$/.test(address))
  if (invalid !== undefined) throw new InvalidSetting(`must hold email addresses, not "${invalid}".`)
  return addresses
}
