import type { Metadata } from '#contract/labels.ts'
import type { Fields } from '../edit/rebase.ts'

/** The fields that `?include=external_id,tags,metadata` adds to a monitor or group. */
export type Labels = {
  external_id?: string | null | undefined
  tags?: string[] | undefined
  metadata?: Metadata | undefined
}
export const LABELS_INCLUDE = 'external_id,tags,metadata'

/** The form values: tags separated by spaces, one metadata pair per line. */
export type LabelsDraft = { external_id: string; tags: string; metadata: string }

export const labelsDraftOf = ({ external_id, tags = [], metadata = {} }: Labels): LabelsDraft => ({
  external_id: external_id ?? '',
  tags: tags.join(' '),
  metadata: Object.entries(metadata)
    .map(([key, value]) => `${key}=${value}`)
    .join('\n'),
})

export const tagsOf = (text: string): string[] => [...new Set(text.split(/[\s,]+/).filter((tag) => tag !== ''))]

/** The valid pairs, and the error of the first invalid line. */
export function parsePairs(text: string): { pairs: Metadata; problem?: string } {
  const pairs = new Map<string, string>()
  let problem: string | undefined
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const end = line.indexOf('=')
    const key = line.slice(0, Math.max(end, 0)).trim()
    if (key === '') problem ??= `Line ${index + 1}: write it as key=value.`
    else if (pairs.has(key)) problem ??= `Line ${index + 1}: the key ${key} is already used. Remove one of the lines.`
    else pairs.set(key, line.slice(end + 1).trim())
  }
  return { pairs: Object.fromEntries(pairs), ...(problem === undefined ? {} : { problem }) }
}

const sorted = (values: readonly string[]) => JSON.stringify([...values].sort())
const pairTexts = (text: string) => Object.entries(parsePairs(text).pairs).map(([key, value]) => `${key}=${value}`)

type LabelsChange = { external_id?: string | null; tags?: string[]; metadata?: Metadata }

export const LABEL_FIELDS: Fields<LabelsDraft, LabelsChange> = {
  external_id: {
    label: 'External id',
    text: (id) => id,
    same: (one, other) => one.trim() === other.trim(),
    change: ({ external_id }) => ({ external_id: external_id.trim() || null }),
  },
  tags: {
    label: 'Tags',
    text: (tags) => tags,
    same: (one, other) => sorted(tagsOf(one)) === sorted(tagsOf(other)),
    change: ({ tags }) => ({ tags: tagsOf(tags) }),
  },
  metadata: {
    label: 'Metadata',
    text: (pairs) => pairs,
    same: (one, other) => sorted(pairTexts(one)) === sorted(pairTexts(other)),
    change: ({ metadata }) => ({ metadata: parsePairs(metadata).pairs }),
  },
}
