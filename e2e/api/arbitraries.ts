import fc from 'fast-check'
import { pathOf } from './fixtures.ts'
import type { Operation, Schema } from './openapi-document.ts'

const nasty = fc.constantFrom(
  ...[
    '\0',
    '\ud800',
    '../../etc/passwd',
    "'; drop table monitors; --",
    '%',
    '_',
    '\u202e',
    '😀'.repeat(200),
    '-1',
    '1e400',
  ],
  ...[
    'NaN',
    'null',
    '__proto__',
    'constructor',
    'toString',
    'x'.repeat(5_000),
    '\r\nX-Evil: 1',
    '[object Object]',
    '0x10',
  ],
)
export const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 40 }), nasty)
const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' }),
  nasty,
  fc.double(),
  fc.bigInt().map(Number),
)
const headers = fc.dictionary(
  fc.constantFrom(
    'if-match',
    'if-none-match',
    'idempotency-key',
    'x-request-id',
    'accept',
    'expect',
    'range',
    'origin',
    'x-zonewatch-look',
  ),
  fc.oneof(fc.string({ maxLength: 60 }), nasty).map((value) =>
    Buffer.from(value)
      .toString('latin1')
      .replace(/[^\x20-\x7e]/g, ''),
  ),
  { maxKeys: 3 },
)

type Ids = Record<string, string>

/** An operation with valid and invalid values, because only requests with valid parts pass validation. */
export function requestOf(operations: readonly Operation[], own: Ids, ids: fc.Arbitrary<string>) {
  return fc.constantFrom(...operations).chain((operation) => {
    const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
    const inPath = fc.record(
      Object.fromEntries(names.map((name) => [name, fc.oneof({ weight: 3, arbitrary: fc.constant(own[name]!) }, ids)])),
    )
    return fc.record({
      id: fc.constant(operation.id),
      method: fc.constant(operation.method),
      headers,
      path: fc.tuple(inPath, queryOf(operation, ids)).map(([found, query]) => {
        const encoded = Object.fromEntries(Object.entries(found).map(([name, id]) => [name, encode(id)]))
        // The query is drawn too.
        return `${pathOf({ ...operation, parameters: [] }, encoded)}${query}`
      }),
      body: bodyOf(operation, ids),
    })
  })
}

function queryOf({ parameters }: Operation, ids: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const names = parameters.flatMap(({ name, in: place }) => (place === 'query' ? [name] : []))
  const name = names.length > 0 ? fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...names) }, text) : text
  const value = fc.oneof(text, ids, fc.integer().map(String), fc.constantFrom('true', 'desc', 'VALID', 'A', 'created'))
  return fc.array(fc.tuple(name, value), { maxLength: 3 }).map((pairs) => {
    const query = pairs.map(([key, each]) => `${encode(key)}=${encode(each)}`).join('&')
    return query === '' ? '' : `?${query}`
  })
}

type Body = { body?: unknown; raw?: string }

function bodyOf({ body }: Operation, ids: fc.Arbitrary<string>): fc.Arbitrary<Body> {
  if (!body)
    return fc.oneof(
      fc.constant({}),
      anything.map((value) => ({ body: value })),
    )
  const shaped = anyOf(body.schema, ids).map((value) => ({ body: value }))
  const spoiled = fc
    .tuple(fc.constant(body.example as object), fc.dictionary(text, anything, { maxKeys: 2 }))
    .map(([good, more]) => ({ body: { ...good, ...more } }))
  const raw = fc.string({ unit: 'binary', maxLength: 60 }).map((value) => ({ raw: value }))
  return fc.oneof({ weight: 6, arbitrary: shaped }, { weight: 2, arbitrary: spoiled }, raw)
}

/** Mostly values that match the schema. */
function anyOf(schema: Schema, ids: fc.Arbitrary<string>): fc.Arbitrary<unknown> {
  const good = goodOf(schema, ids)
  return fc.oneof({ weight: 9, arbitrary: good }, anything)
}

function goodOf(schema: Schema, ids: fc.Arbitrary<string>): fc.Arbitrary<unknown> {
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((each) => anyOf(each, ids)))
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.properties) {
    const fields = Object.fromEntries(Object.entries(schema.properties).map(([name, each]) => [name, anyOf(each, ids)]))
    const required = schema.required ?? []
    return fc.record(fields, { requiredKeys: required })
  }
  switch ([schema.type].flat()[0]) {
    case 'integer':
      return fc.integer({ min: schema.minimum ?? -5, max: schema.maximum ?? 200 })
    case 'boolean':
      return fc.boolean()
    case 'array':
      return fc.array(anyOf(schema.items ?? {}, ids), { maxLength: 4 })
    case 'object':
      return fc.dictionary(text, text, { maxKeys: 3 })
    case 'null':
      return fc.constant(null)
    case 'string':
      return fc.oneof(text, ids, fc.domain(), fc.ipV4(), fc.webUrl(), fc.emailAddress())
    default:
      return anything
  }
}

/** Halves of surrogate pairs cannot be percent-encoded; they are sent as they are. */
const encode = (value: string) => (value.isWellFormed() ? encodeURIComponent(value) : '%ED%A0%80')
