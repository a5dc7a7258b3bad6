import { ERROR_CODES } from './error-codes.ts'
import { FIELD_ERRORS } from './field-errors.ts'

/** Why no monitor is created from a row of an import, in addition to the codes of fields and errors. */
export const IMPORT_CODES = {
  invalid_csv: 'The line of the CSV file cannot be read.',
  invalid_zone_file: 'The entry of the zone file cannot be read.',
  unknown_directive: 'The directive of the zone file is not supported.',
  unknown_type: 'The record type is unknown.',
  not_monitored: 'Zonewatch does not monitor records of this type or class.',
  invalid_value: 'The data does not have the format of the record type.',
  part_invalid: 'Another record of the same name and type is invalid.',
  cname_and_other_data: 'The name has a CNAME record and other records.',
  not_published: 'The provider publishes other records, and they were not found.',
  duplicate: 'An earlier line has the same record.',
  duplicate_external_id: 'An earlier line has the same external id.',
  plan_limit: 'The plan does not allow the interval.',
  changed_since_preview: 'The monitor was changed after the preview.',
  timeout: 'A lookup of the domain timed out.',
  invalid: 'A lookup of the domain failed.',
  bad_setup: 'The DNS of the domain is misconfigured.',
} as const

export const IMPORT_REASONS = [
  ...new Set([
    ...(Object.keys(IMPORT_CODES) as (keyof typeof IMPORT_CODES)[]),
    ...(Object.keys(FIELD_ERRORS) as (keyof typeof FIELD_ERRORS)[]),
    ...(Object.keys(ERROR_CODES) as (keyof typeof ERROR_CODES)[]),
  ]),
]
/** The codes are stable; the sentences beside them may change. */
export type ImportReason = (typeof IMPORT_REASONS)[number]
