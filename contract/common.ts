import { type Static, type TSchema, Type } from 'typebox'

/** A 400, a 422 and the 409 for a value in use also list each wrong field in `errors`. */
export const ErrorBody = Type.Object(
  {
    code: Type.Integer({ description: 'The HTTP status code.', examples: [400] }),
    error: Type.String({ description: 'What is wrong and what to do.' }),
    errors: Type.Optional(
      Type.Unsafe<Record<string, string>>({
        type: 'object',
        additionalProperties: { type: 'string' },
        description:
          'The path of each wrong field (`expected_value.2`) and a message: what is wrong and what is allowed.',
      }),
    ),
    request_id: Type.Optional(Type.String({ description: 'Only with 500. Report it when you ask for help.' })),
  },
  { title: 'Error', additionalProperties: false },
)
export type ErrorBody = Static<typeof ErrorBody>

/** The most ids in a list of a body. It is higher than the limits, so that a resource that already exceeds them can be sent back. */
export const MAX_LIST_IDS = 10_000

export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

/** Control characters, line and paragraph separators, and marks that change the direction of text. */
const CONTROL_CHARACTERS = '\\u0000-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2066-\\u2069'
export const ONE_LINE = `^[^${CONTROL_CHARACTERS}]*$`

export const NAME = `^(?=.*\\S)[^${CONTROL_CHARACTERS}]*$`
export const Name = Type.String({
  minLength: 1,
  maxLength: 250,
  pattern: NAME,
  description: '1 to 250 characters in one line, not only spaces and without control characters',
})

export const SLUG = '^[a-z0-9]+(-[a-z0-9]+)*$'
export const Slug = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: SLUG,
  description: 'lower-case letters, digits and single hyphens, 1 to 100 characters',
})

/** ISO 8601 in UTC with milliseconds and `Z`. */
export const Instant = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2026-11-21T09:30:00.000Z'] })

const TIME = 'Unix seconds or ISO 8601. Without a time zone, UTC.'

/** `x-time` lets the schema refuse what is not a time, so that one response names every wrong parameter. */
export const TimeFilter = (description: string) =>
  Type.String({ description: `${description} ${TIME}`, maxLength: 40, 'x-time': true })

/** The parameter `include`: any of `names`, comma-separated. `x-list` as `x-time`. */
export const IncludeParameter = (names: readonly string[], example: string) =>
  Type.Optional(
    Type.String({
      description: `Comma-separated: ${names.join(', ')}.`,
      maxLength: 200,
      examples: [example],
      'x-list': names,
    }),
  )

/** For a body, in which Unix seconds are a number. */
export const Time = (description: string) =>
  Type.Union([Type.String({ maxLength: 40 }), Type.Integer()], { description: `${description} ${TIME}` })

/** The query parameters of every list. `title`: of the enumeration. `orders`: the allowed orders, the default first. */
export const pageQuery = <const T extends readonly string[]>(title: string, orders: T) => ({
  after: Type.Optional(
    Type.String({ description: 'The `after` value of the previous response, to get the next page.', maxLength: 2048 }),
  ),
  before: Type.Optional(
    Type.String({
      description: 'The `before` value of the previous response, to get the previous page.',
      maxLength: 2048,
    }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'Items per page.' })),
  order_by: Type.Optional(
    Type.Enum(orders, {
      type: 'string',
      title,
      default: orders[0],
      description: 'The field to order by. Items without a value come last in both directions.',
    }),
  ),
  order_way: Type.Optional(Type.Enum(['asc', 'desc'], { default: 'asc', description: 'Ascending or descending.' })),
})

export const PageOf = <T extends TSchema>(item: T) =>
  Type.Object(
    {
      limit: Type.Integer({ description: 'Items per page, at most 100.' }),
      after: Nullable(Type.String({ description: 'Cursor of the next page; null on the last page.' })),
      before: Nullable(Type.String({ description: 'Cursor of the previous page; null on the first page.' })),
      has_more: Type.Boolean({ description: 'Whether more items exist after this page.' }),
      data: Type.Array(item),
    },
    { additionalProperties: false, ...documentationOfPage(item) },
  )

/** The title and example of a page, from those of its items. */
function documentationOfPage(item: TSchema & SchemaOptions): SchemaOptions {
  const { title, examples } = item
  const page = { limit: 20, after: null, before: null, has_more: false, data: [firstExample(item)] }
  return { ...(title ? { title: `${title}Page` } : {}), ...(examples ? { examples: [page] } : {}) }
}

/** For the example of a schema that contains this one. */
export const firstExample = ({ examples }: TSchema & SchemaOptions): unknown => examples?.[0]

/**
 * `title`: the name of the schema in the document. `examples`: the conformance test sends the examples of request bodies, and compares
 * the examples of responses with those of the server. `x-elsewhere`: the error for each field that cannot be changed by this request.
 */
export type SchemaOptions = {
  title?: string
  description?: string
  examples?: unknown[]
  'x-elsewhere'?: Record<string, string>
  /** Fields whose names match a pattern. */
  patternProperties?: Record<string, object>
}

export const SET_BY_SERVER = 'is set by Zonewatch. Leave it out.'

/** An object that allows no other keys. */
export const StrictObject = <T extends Record<string, TSchema>>(properties: T, options: SchemaOptions = {}) =>
  Type.Object(properties, { additionalProperties: false, ...options })

/** In the query of links and event streams, for which a browser cannot set the header that selects the organization. */
export const organizationField = { organization: Type.Optional(Type.String({ maxLength: 40 })) }
export const OrganizationQuery = StrictObject(organizationField)
