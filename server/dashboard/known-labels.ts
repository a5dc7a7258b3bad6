import { METADATA_KEY, METADATA_PREFIX } from '#contract/labels.ts'
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import { metadataLabel, tagLabel } from '../groups/labels.ts'

/** Suggestions of one response. */
const MAX_LABELS = 20
/** Sorts after every character of a label. */
const LAST_CHARACTER = '\u{10ffff}'
const KEY = new RegExp(METADATA_KEY)

/** `of`: `tag`, `metadata` (its keys), or `metadata.plan` (the values of that key). `begin`: the prefix. */
export type LabelQuery = { of: string; begin?: string }

/**
 * The labels of the organization's monitors with this prefix, in alphabetical order. Each costs one index lookup, whatever the
 * number of monitors that have it.
 */
export async function knownLabels(
  db: Database,
  { organizationId }: Tenant,
  { of, begin = '' }: LabelQuery,
): Promise<string[]> {
  const isKey = of === 'metadata'
  const before = isKey ? '' : of === 'tag' ? tagLabel('') : metadataLabel(of.slice(METADATA_PREFIX.length), '')
  const found: string[] = []
  let after: string | undefined
  while (found.length < MAX_LABELS) {
    const { label } = await db
      .selectFrom('monitor_labels')
      .select(({ fn }) => fn.min<string | null>('label').as('label'))
      .where('organization_id', '=', organizationId)
      .where('label', after === undefined ? '>=' : '>', after ?? before + begin)
      .where('label', '<', before + begin + LAST_CHARACTER)
      .executeTakeFirstOrThrow()
    if (label === null) break
    const name = isKey ? label.slice(0, label.indexOf('=')) : label.slice(before.length)
    const isTag = isKey && !KEY.test(name)
    if (!isTag) found.push(name)
    // Skips all labels of a key together, and the tags between two keys.
    after = !isKey ? label : isTag ? tagLabel(LAST_CHARACTER) : metadataLabel(name, LAST_CHARACTER)
  }
  return found
}
