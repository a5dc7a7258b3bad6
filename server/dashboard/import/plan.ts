import type { ImportPlan, ImportRequest, ImportRow } from '#contract/dashboard.ts'
import { fieldError } from '#contract/field-errors.ts'
import type { ImportReason } from '#contract/import-codes.ts'
import { MAX_TAGS, TAG } from '#contract/labels.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import type { Tenant } from '../../context.ts'
import type { Deps } from '../../deps.ts'
import { externalIdErrors, metadataKeyErrors } from '../../groups/labels.ts'
import {
  type DuplicateFields,
  duplicateKey,
  type ExistingMonitors,
  findExisting,
  recordKey,
} from '../../monitors/insert.ts'
import { type MonitorDraft, parseMonitor } from '../../monitors/parse-monitor.ts'
import { MAX_EXPECTED_VALUES } from '../../monitors/record-types/record-types.ts'
import { frequencyLimiter } from '../../organization/quota.ts'
import { type FieldErrors, fieldTexts, invalid, Problem } from '../../problem.ts'
import { yieldToEventLoop } from '../../yield.ts'
import { goneMonitors, hasOtherLabels, isEqualElsewhere, monitorsWith, type Other } from './compared.ts'
import { readCsv } from './csv.ts'
import { discover } from './discovery.ts'
import { findGroupIds, findSlugs } from './group-store.ts'
import { type InputRow, joinRecords } from './rows.ts'
import { readZone } from './zone-file.ts'

/** Rows judged before the event loop is yielded. */
const SLICE = 20

/** Characters of a row that is not made. */
const MOST_SHOWN = 1_000

/** `group`: that the row itself names. */
type Judged = { row: ImportRow; draft?: MonitorDraft; group?: string | undefined }

/** What an import would make, row by row. Makes nothing. Throws a 400 for an input that cannot be read at all. */
export async function planImport(deps: Deps, tenant: Tenant, given: ImportRequest): Promise<ImportPlan> {
  const { organizationId } = tenant
  const rows = await rowsOf(deps, given)
  const pace = await frequencyLimiter(deps, tenant)
  const judged: Judged[] = []
  for (const [place, row] of rows.entries()) {
    if (place % SLICE === SLICE - 1) await yieldToEventLoop()
    judged.push(judge(row, given.group, pace))
  }
  await markOwn(deps, tenant, judged)
  await markKnown(deps, organizationId, judged)
  const planned = judged.map(({ row }) => row)
  const gone = given.compare === undefined ? null : await goneMonitors(deps.db, tenant, given, planned)
  return { rows: planned.map((row) => (row.fate === 'refuse' || row.fate === 'skip' ? shortened(row) : row)), gone }
}

/** What cannot be watched may be of any length; enough of it to find it again is shown. */
function shortened(row: ImportRow): ImportRow {
  const cut = (text: string) => (text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN).toWellFormed()}…` : text)
  return {
    ...row,
    full_domain: cut(row.full_domain),
    record_type: cut(row.record_type),
    expected_value: row.expected_value.map(cut),
    group: row.group === null ? null : cut(row.group),
    notify: row.notify === null ? null : cut(row.notify),
    why: cut(row.why),
  }
}

async function rowsOf(deps: Deps, { zone, csv, domain, origin }: ImportRequest): Promise<readonly InputRow[]> {
  if ([zone, csv, domain].filter((each) => each !== undefined).length !== 1) {
    throw invalid({ body: fieldError('exactly_one_required', { fields: 'zone, csv, domain' }) })
  }
  if (domain !== undefined) return await discover(deps, domain)
  return csv === undefined ? joinRecords(readZone(zone!, origin), 'zone') : joinRecords(readCsv(csv, origin), 'csv')
}

function judge(given: InputRow, preset: string | undefined, pace: (asked?: number) => number): Judged {
  const group = given.group ?? preset ?? null
  const row: ImportRow = {
    line: given.line,
    full_domain: given.name.replace(/(?<!\\)\.$/, '') || given.name,
    record_type: given.type,
    expected_value: given.values.slice(0, MAX_EXPECTED_VALUES + 1),
    is_exact_match: given.isExact,
    group,
    notify: given.notify ?? null,
    frequency: given.frequency ?? null,
    external_id: given.externalId ?? null,
    tags: given.tags ?? null,
    metadata: given.metadata ?? null,
    fate: given.fate ?? 'make',
    monitor: null,
    why: given.why ?? '',
    code: given.code ?? null,
  }
  if (given.fate !== undefined) return { row }
  const refuse = (code: ImportReason, why: string): Judged => ({ row: { ...row, fate: 'refuse', code, why } })
  if (given.values.length === 0) return refuse('required', 'The value is empty.')
  if (given.values.length > MAX_EXPECTED_VALUES) {
    return refuse(
      'too_many',
      `The record has ${given.values.length} values. A monitor can have at most ${MAX_EXPECTED_VALUES}. Create a flexible monitor with the values that matter.`,
    )
  }
  const parsed = parseMonitor({
    full_domain: given.name,
    record_type: given.type as MonitorRecordType,
    expected_value: given.values,
    is_exact_match: given.isExact,
    ...(group === null ? {} : { group }),
  })
  if (!parsed.ok) {
    const [first] = Object.values(parsed.errors)
    return refuse(first!.code, Object.values(fieldTexts(parsed.errors)).slice(0, 3).join(' '))
  }
  const [wrong] = Object.entries(wrongLabels(row))
  if (wrong) return refuse(wrong[1].code, `${wrong[0]} ${wrong[1].text}`)
  try {
    pace(given.frequency)
  } catch (error) {
    if (error instanceof Problem) return refuse('plan_limit', error.message)
    throw error
  }
  const { owner, expectedValues } = parsed.draft
  return {
    row: { ...row, full_domain: owner || '.', expected_value: expectedValues },
    draft: parsed.draft,
    group: given.group,
  }
}

function wrongLabels({ external_id, tags, metadata }: ImportRow): FieldErrors {
  const isTag = (tag: string) => tag.length <= MOST_TAG && new RegExp(TAG, 'u').test(tag)
  const wrongTag = tags?.find((tag) => !isTag(tag))
  return {
    ...(external_id === null ? {} : externalIdErrors(external_id, undefined)),
    ...(wrongTag === undefined
      ? {}
      : { tags: fieldError('invalid_format', { format: TAG_FORMAT, given: wrongTag.slice(0, 60) }) }),
    ...((tags?.length ?? 0) > MAX_TAGS ? { tags: fieldError('too_many', { max: MAX_TAGS }) } : {}),
    ...metadataKeyErrors(metadata),
  }
}
const MOST_TAG = 50
const TAG_FORMAT = '1 to 50 characters without spaces, commas and quotation marks'

/** The rows whose external id a monitor has mean that monitor. An external id stands in one row. */
async function markOwn({ db }: Deps, tenant: Tenant, judged: Judged[]): Promise<void> {
  const lines = new Map<string, ImportRow>()
  for (const each of judged) {
    const { row, draft } = each
    if (!draft || row.external_id === null) continue
    const earlier = lines.get(row.external_id)
    if (!earlier) lines.set(row.external_id, row)
    else {
      const why = `Line ${earlier.line} has the same external id.`
      Object.assign(row, { fate: 'refuse', code: 'duplicate_external_id', why })
      delete each.draft
    }
  }
  const found = await monitorsWith(db, tenant, [...lines.keys()])
  const slugs = await findSlugs(db, tenant, new Set([...found.values()].map(({ group_id }) => group_id)))
  for (const each of judged) {
    const { row, draft, group } = each
    const own = draft && row.external_id !== null ? found.get(row.external_id) : undefined
    if (!own) continue
    const slug = slugs.get(own.group_id) ?? ''
    const isMoved = group !== undefined && group !== slug && group !== own.group_id
    const isLabelled = hasOtherLabels(own, row)
    const isEqual = isEqualElsewhere(own, toSameness(draft!, own.group_id)) && !isMoved && !isLabelled
    markDiffering(row, own, slug)
    if (isEqual) Object.assign(row, { fate: 'exists', why: 'The monitor with this external id is identical.' })
    if (isMoved) row.why += ` It moves to the group ${group}.`
    if (isLabelled) row.why += ' Its tags or metadata change.'
    // Other monitors of this record are none of its business.
    delete each.draft
  }
}

/** As `ignore` of a bulk request does: by group, name, type, mode and the set of values. */
async function markKnown({ db }: Deps, organizationId: string, judged: readonly Judged[]): Promise<void> {
  const drafts = judged.flatMap(({ draft }) => (draft ? [draft] : []))
  const groupIds = await findGroupIds(db, { organizationId }, new Set(drafts.map(({ group }) => group)))
  const samenesses = new Map(drafts.map((draft) => [draft, toSameness(draft, groupIds.get(draft.group))]))
  const known = await findExisting(db, { organizationId }, [...samenesses.values()])
  const first = new Map<string, ImportRow>()
  for (const { row, draft } of judged) {
    if (!draft) continue
    const text = duplicateKey(samenesses.get(draft)!)
    const earlier = first.get(text)
    if (known.same.has(text)) Object.assign(row, { fate: 'exists', why: 'An identical monitor already exists.' })
    else if (earlier) Object.assign(row, { fate: 'skip', code: 'duplicate', why: `Duplicate of line ${earlier.line}.` })
    else first.set(text, row)
  }
  const made = judged.flatMap(({ row, draft }) => (draft && row.fate === 'make' ? [{ row, draft }] : []))
  const differing = pairOthers(
    made.map(({ row, draft }) => ({ row, sameness: samenesses.get(draft)! })),
    known.others,
  )
  const elsewhere = made.flatMap(({ row, draft }) => {
    const sameness = samenesses.get(draft)!
    const equal = known.others.get(recordKey(sameness))?.find((other) => isEqualElsewhere(other, sameness))
    return equal ? [{ row, other: equal }] : []
  })
  const groups = new Set([...differing, ...elsewhere].map(({ other }) => other.group_id))
  const slugs = await findSlugs(db, { organizationId }, groups)
  for (const { row, other } of elsewhere)
    row.why = `An identical monitor exists in group ${slugs.get(other.group_id) ?? ''}.`
  for (const { row, other } of differing) markDiffering(row, other, slugs.get(other.group_id) ?? '')
}

/**
 * A second monitor of a record that expects something else would contradict the first one. Of several the one in the row's own
 * group is meant, then an exact one. Each is meant by one row at most. Where another group has an equal one, only monitors of
 * the own group contradict.
 */
function pairOthers(
  rows: readonly { row: ImportRow; sameness: DuplicateFields }[],
  others: ExistingMonitors['others'],
) {
  const meant = new Set<string>()
  return rows.flatMap(({ row, sameness }): { row: ImportRow; other: Other }[] => {
    const isOwn = (other: Other) => other.group_id === sameness.group_id
    const rank = (other: Other) => (isOwn(other) ? 2 : 0) + other.is_exact_match
    const known = others.get(recordKey(sameness)) ?? []
    const contradicting = known.filter((other) => !isEqualElsewhere(other, sameness))
    const [other] = contradicting.filter(({ id }) => !meant.has(id)).sort((one, two) => rank(two) - rank(one))
    if (!other || (!isOwn(other) && contradicting.length < known.length)) return []
    meant.add(other.id)
    return [{ row, other }]
  })
}

function markDiffering(row: ImportRow, other: Other, group: string): void {
  const expected_value: string[] = JSON.parse(other.expected_values)
  const is_exact_match = other.is_exact_match === 1
  const values = expected_value.join(', ')
  const record = row.full_domain === other.owner && row.record_type === other.record_type
  const which = record ? `A monitor in group ${group}` : `The monitor ${other.owner} ${other.record_type}`
  const why = `${which} expects ${is_exact_match ? 'exactly' : 'at least'} ${values}.`
  Object.assign(row, { fate: 'differs', why, monitor: { id: other.id, expected_value, is_exact_match, group } })
}

/** A group that is yet to be made stands for itself. */
function toSameness(draft: MonitorDraft, groupId: string | undefined): DuplicateFields {
  return {
    group_id: groupId ?? `new ${draft.group}`,
    owner: draft.owner,
    record_type: draft.recordType,
    is_exact_match: draft.isExactMatch ? 1 : 0,
    expected_values: JSON.stringify(draft.expectedValues),
  }
}
