import { METADATA_KEY, METADATA_PREFIX } from '#contract/labels.ts'
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import { metadataLabel, tagLabel } from '../groups/labels.ts'

/** As many as a person looks through. */
const MOST = 20
/** Behind every character of a label. */
const LAST = '\u{10ffff}'
const KEY = new RegExp(METADATA_KEY)

/** `of`: tags, keys of metadata, or the values of one key, as `metadata.plan`. `begin`: what is written so far. */
export type Written = { of: string; begin?: string }

/**
 * Those that monitors of the organization have and that begin as written, in their order. Each is one look into the index, however
 * many monitors have it.
 */
export async function knownLabels(
  db: Database,
  { organizationId }: Tenant,
  { of, begin = '' }: Written,
): Promise<string[]> {
  const isKey = of === 'metadata'
  const before = isKey ? '' : of === 'tag' ? tagLabel('') : metadataLabel(of.slice(METADATA_PREFIX.length), '')
  const found: string[] = []
  let after: string | undefined
  while (found.length < MOST) {
    const { label } = await db
      .selectFrom('monitor_labels')
      .select(({ fn }) => fn.min<string | null>('label').as('label'))
      .where('organization_id', '=', organizationId)
      .where('label', after === undefined ? '>=' : '>', after ?? before + begin)
      .where('label', '<', before + begin + LAST)
      .executeTakeFirstOrThrow()
    if (label === null) break
    const name = isKey ? label.slice(0, label.indexOf('=')) : label.slice(before.length)
    const isTag = isKey && !KEY.test(name)
    if (!isTag) found.push(name)
    // The labels of a key are passed over together, and the tags between two keys.
    after = !isKey ? label : isTag ? tagLabel(LAST) : metadataLabel(name, LAST)
  }
  return found
}
