import { fieldError } from '#contract/field-errors.ts'
import type { NewMonitor, Notify } from '#contract/monitors.ts'
import { type MonitorRecordType, RECORD_TYPES } from '#contract/record-types.ts'
import { type LabelInput, metadataKeyErrors } from '../groups/labels.ts'
import { INVALID_GROUP_NAME, isGroupName } from '../groups/slug.ts'
import type { FieldErrors } from '../problem.ts'
import { parseMonitorName } from './names.ts'
import { parseExpectedValues } from './record-types/record-types.ts'

/** A monitor to make: checked and normalised. `group` is as the caller named it. */
export type MonitorDraft = {
  domain: string
  subdomain: string
  owner: string
  recordType: MonitorRecordType
  expectedValues: string[]
  isExactMatch: boolean
  isActive: boolean
  notify: Notify
  frequency: number
  group: string | null
  labels: LabelInput
  /** Set where the monitor waits for its records: the key of its setup page, null for a page of its own. */
  waiting?: { key: string | null }
}

type Given = Omit<NewMonitor, keyof LabelInput> & LabelInput
export type ParsedMonitor = { ok: true; draft: MonitorDraft } | { ok: false; errors: FieldErrors }

/**
 * Checks what the schema cannot: the name, each expected value for its type, the group's name. Fields of the wrong type
 * are passed over, because the schema reports them: so that all fields at fault are reported at once.
 */
export function parseMonitor(given: Given): ParsedMonitor {
  const recordType = RECORD_TYPES.find((type) => type === given.record_type)
  const isExactMatch = given.is_exact_match ?? true
  // Where the type is not known, the name is judged by the one that takes the most.
  const name = isNameOfTexts(given) ? parseMonitorName(given, recordType ?? 'PTR') : undefined
  const values = given.expected_value
  const expected = recordType && isTexts(values) ? parseExpectedValues(values, recordType, isExactMatch) : undefined
  const group = given.group ?? null
  const errors: FieldErrors = metadataKeyErrors(given.metadata)
  if (name && !name.ok) Object.assign(errors, name.problems)
  if (expected && !expected.ok) Object.assign(errors, expected.problems)
  if (typeof group === 'string' && !isGroupName(group)) errors.group = INVALID_GROUP_NAME
  if (given.setup_page !== undefined && given.until === undefined) errors.setup_page = fieldError('needs_until')
  if (!name?.ok || !recordType || !expected?.ok || Object.keys(errors).length > 0) return { ok: false, errors }
  return {
    ok: true,
    draft: {
      ...name.name,
      recordType,
      expectedValues: expected.values,
      isExactMatch,
      isActive: given.is_active ?? true,
      notify: given.notify ?? 'immediately',
      frequency: given.frequency ?? 5,
      group,
      labels: { external_id: given.external_id, tags: given.tags, metadata: given.metadata },
      ...(given.until && { waiting: { key: given.setup_page ?? null } }),
    },
  }
}

const isText = (value: unknown) => typeof value === 'string'
const isTexts = (value: unknown) => isText(value) || (Array.isArray(value) && value.every(isText))
const isNameOfTexts = ({ domain, subdomain, full_domain }: Given) =>
  [domain, subdomain, full_domain].every((part) => part === undefined || isText(part))
