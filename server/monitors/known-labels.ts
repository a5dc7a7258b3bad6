import { METADATA_KEY, METADATA_PREFIX } from '#contract/labels.ts'
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import { metadataLabel, tagLabel } from '../groups/labels.ts'

/** Labels in one response. */
const MAX_LABELS = 20
/** Sorts after every character of a label. */
const LAST_CHARACTER = '\u{10ffff}'
const METADATA_KEY_PATTERN = new RegExp(METADATA_KEY)

/** `of`: `tag`, `metadata` (its keys), or `metadata.plan` (the values of that key). `begin`: the prefix. */
export type KnownLabelsRequest = { of: string; begin?: string }

/**
 * The labels of the organization's monitors with this prefix, in alphabetical order. Each costs one index lookup, whatever the
 * number of monitors that have it.
 */
export async function knownLabels(
  db: Database,
  { organizationId }: Tenant,
  { of, begin = '' }: KnownLabelsRequest,
): Promise<string[]> {
  const isKey = of === 'metadata'
  const kindPrefix = isKey ? '' : of === 'tag' ? tagLabel('') : metadataLabel(of.slice(METADATA_PREFIX.length), '')
  const names: string[] = []
  let after: string | undefined
  while (names.length < MAX_LABELS) {
    const { label } = await db
      .selectFrom('monitor_labels')
      .select(({ fn }) => fn.min<string | null>('label').as('label'))
      .where('organization_id', '=', organizationId)
      .where('label', after === undefined ? '>=' : '>', after ?? kindPrefix + begin)
      .where('label', '<', kindPrefix + begin + LAST_CHARACTER)
      .executeTakeFirstOrThrow()
    if (label === null) break
    const name = isKey ? label.slice(0, label.indexOf('=')) : label.slice(kindPrefix.length)
    const isTag = isKey && !METADATA_KEY_PATTERN.test(name)
    if (!isTag) names.push(name)
    // Skips all labels of a key together, and the tags between two keys.
    after = !isKey ? label : isTag ? tagLabel(LAST_CHARACTER) : metadataLabel(name, LAST_CHARACTER)
  }
  return names
}
