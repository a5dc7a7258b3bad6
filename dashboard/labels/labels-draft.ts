import type { Metadata } from '#contract/labels.ts'
import type { Fields } from '../edit/rebase.ts'

/** What `?include=external_id,tags,metadata` adds to a monitor or a group. */
export type Labels = {
  external_id?: string | null | undefined
  tags?: string[] | undefined
  metadata?: Metadata | undefined
}
export const LABELS = 'external_id,tags,metadata'

/** Labels as their form holds them: tags with spaces between, one pair of metadata each line. */
export type LabelsDraft = { external_id: string; tags: string; metadata: string }

export const labelsDraftOf = ({ external_id, tags = [], metadata = {} }: Labels): LabelsDraft => ({
  external_id: external_id ?? '',
  tags: tags.join(' '),
  metadata: Object.entries(metadata)
    .map(([key, value]) => `${key}=${value}`)
    .join('\n'),
})

export const tagsOf = (text: string): string[] => [...new Set(text.split(/[\s,]+/).filter((tag) => tag !== ''))]

/** The pairs of the lines that can be read, and what is wrong with the first that cannot. */
export function readPairs(text: string): { pairs: Metadata; problem?: string } {
  const pairs = new Map<string, string>()
  let problem: string | undefined
  for (const [at, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const end = line.indexOf('=')
    const key = line.slice(0, Math.max(end, 0)).trim()
    if (key === '') problem ??= `Line ${at + 1}: write it as key=value.`
    else if (pairs.has(key)) problem ??= `Line ${at + 1}: the key ${key} is already used. Remove one of the lines.`
    else pairs.set(key, line.slice(end + 1).trim())
  }
  return { pairs: Object.fromEntries(pairs), ...(problem === undefined ? {} : { problem }) }
}

const sorted = (values: readonly string[]) => JSON.stringify([...values].sort())
const pairTexts = (text: string) => Object.entries(readPairs(text).pairs).map(([key, value]) => `${key}=${value}`)

export const LABEL_FIELDS: Fields<LabelsDraft> = {
  external_id: { label: 'External id', text: (id) => id, same: (one, other) => one.trim() === other.trim() },
  tags: { label: 'Tags', text: (tags) => tags, same: (one, other) => sorted(tagsOf(one)) === sorted(tagsOf(other)) },
  metadata: {
    label: 'Metadata',
    text: (pairs) => pairs,
    same: (one, other) => sorted(pairTexts(one)) === sorted(pairTexts(other)),
  },
}

type LabelsChange = { external_id?: string | null; tags?: string[]; metadata?: Metadata }

/** Only what differs is sent: what another person changed meanwhile stays. */
export function labelsChangeOf(stored: Labels, draft: LabelsDraft): LabelsChange {
  const was = labelsDraftOf(stored)
  const differs = (name: keyof LabelsDraft) => !LABEL_FIELDS[name].same!(was[name], draft[name])
  return {
    ...(differs('external_id') ? { external_id: draft.external_id.trim() || null } : {}),
    ...(differs('tags') ? { tags: tagsOf(draft.tags) } : {}),
    ...(differs('metadata') ? { metadata: readPairs(draft.metadata).pairs } : {}),
  }
}
