import { Type } from 'typebox'
import { ONE_LINE } from './common.ts'

/** Ids and labels that API clients set on monitors and groups, so that they need not store Zonewatch's ids. */

export const EXTERNAL_ID = '^[\\x21-\\x7e]+$'
export const ExternalId = Type.String({
  minLength: 1,
  maxLength: 128,
  pattern: EXTERNAL_ID,
  description:
    '1 to 128 visible ASCII characters without spaces. Your own id of the object: unique among the monitors, and among the groups, of the organization.',
  examples: ['customer-300/www'],
})

export const MAX_TAGS = 20
export const TAG = '^[^\\s,"\\u0000-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2066-\\u2069]+$'
export const TagText = Type.String({
  minLength: 1,
  maxLength: 50,
  pattern: TAG,
  description: '1 to 50 characters without spaces, commas and quotation marks',
})
export const Tags = Type.Array(TagText, {
  maxItems: MAX_TAGS,
  description: `At most ${MAX_TAGS} tags. Letter case matters.`,
  examples: [['prod', 'eu']],
})

export const MAX_METADATA_PAIRS = 20
export const METADATA_KEY = '^[A-Za-z0-9_.-]{1,40}$'
export const Metadata = Type.Record(Type.String(), Type.String({ maxLength: 255, pattern: ONE_LINE }), {
  maxProperties: MAX_METADATA_PAIRS,
  description: `At most ${MAX_METADATA_PAIRS} pairs. Keys: 1 to 40 letters, digits, dots, underscores and hyphens. Values: at most 255 characters in one line. A change replaces all pairs.`,
  examples: [{ customer: 'acme', plan: 'business' }],
})
export type Metadata = Record<string, string>

/** The fields of a new object. */
export const newLabels = {
  external_id: Type.Optional(ExternalId),
  tags: Type.Optional(Tags),
  metadata: Type.Optional(Metadata),
}

/** The fields of a change. Null clears a field. */
export const changedLabels = {
  external_id: Type.Optional(Type.Union([ExternalId, Type.Null()])),
  tags: Type.Optional(Type.Union([Tags, Type.Null()])),
  metadata: Type.Optional(Type.Union([Metadata, Type.Null()])),
}

/** The fields of `?include=external_id,tags,metadata`. */
export const responseLabels = {
  external_id: Type.Optional(
    Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'Your own id of the object. With `?include=external_id`.',
    }),
  ),
  tags: Type.Optional(Type.Array(Type.String(), { description: 'With `?include=tags`.' })),
  metadata: Type.Optional(Type.Record(Type.String(), Type.String(), { description: 'With `?include=metadata`.' })),
}

/** The prefix of query parameters that filter by metadata: `metadata.customer=acme`. */
export const METADATA_PREFIX = 'metadata.'
export const METADATA_PARAMETER = '^metadata\\.[A-Za-z0-9_.-]{1,40}$'

/** The value of a key. An inherited property such as `constructor` is not a value. */
export const metadataValue = (metadata: Record<string, string> | undefined, key: string): string | undefined =>
  metadata && Object.hasOwn(metadata, key) ? metadata[key] : undefined

export const labelFilters = {
  external_id: Type.Optional(Type.String({ maxLength: 128, description: 'Only the object with this external id.' })),
  tag: Type.Optional(
    Type.String({
      maxLength: 1_100,
      description: 'Only objects that have all of these tags, separated by commas.',
      examples: ['prod'],
    }),
  ),
}
/** The schema options of a query that accepts `metadata.<key>=<value>`. */
export const withMetadataFilters = { patternProperties: { [METADATA_PARAMETER]: { type: 'string', maxLength: 255 } } }
