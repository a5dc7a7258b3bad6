import { type AdviceCode, adviceFor } from '#contract/advice.ts'
import type { ValueDifference } from '#contract/dashboard.ts'
import { type MonitorRecordType, RECORD_TYPE_TEXTS } from '#contract/record-types.ts'
import { toQuotedStrings } from '../record-types/presentation.ts'
import { findZoneType } from '../record-types/record-types.ts'
import { readDiagnosis } from './diagnosis.ts'
import type { MonitorRow } from './monitor.ts'

/** Advice that other records follow. Elsewhere the delegation, a CNAME or several records are the problem. */
const REPAIRS: ReadonlySet<AdviceCode> = new Set(['replace_records', 'add_records', 'remove_records', 'create_name'])

type Row = Pick<MonitorRow, 'record_type' | 'expected_values' | 'current_values' | 'is_exact_match'> & {
  diagnosis?: string | null
}

/**
 * The RRset with which the monitor would be valid. `missing`: expected values that are not there. In flexible mode the other records
 * stay. Null if that is not what to do, or if an expected value is not a complete record, such as a block of addresses.
 */
export function recordToPaste(row: Row, missing: readonly string[]): ValueDifference['record'] {
  if (!row.diagnosis) return null
  const { verdict, warnings } = readDiagnosis(row.diagnosis)
  const advice = adviceFor(verdict, warnings)
  if (!advice || !REPAIRS.has(advice.code) || row.record_type === 'SOA') return null
  const { owner, name } = advice.params
  const isSpf = row.record_type === 'SPF'
  const type = isSpf ? 'TXT' : row.record_type
  const { toZoneFile, asExpected } = findZoneType(type)!.recordType
  const expected: string[] = JSON.parse(row.expected_values)
  const current: string[] = row.current_values === null ? [] : JSON.parse(row.current_values)
  const isWhole = row.is_exact_match === 1 || RECORD_TYPE_TEXTS[row.record_type as MonitorRecordType].isSingle === true
  const values = isWhole ? expected : [...missing, ...current.map((value) => asExpected?.(value, false) ?? value)]
  const data = values.map((value) => (isSpf ? toQuotedStrings(value) : toZoneFile(value)))
  if (data.length === 0 || (type === 'CNAME' && data.length > 1)) return null
  return data.every((value) => value !== undefined) ? { name: owner ?? name ?? '', type, data } : null
}
