import type { Operation, Parameter, Schema } from './openapi-document.ts'

/** One invalid value, and the field that the response must name. */
export type InvalidInput = { field: string; query?: Record<string, string>; body?: unknown }

/** Every kind of input that the documented schema forbids, one at a time. `validBody` is accepted. */
export function invalidInputs({ method, parameters, body }: Operation, validBody: unknown): InvalidInput[] {
  const queries = parameters.filter((each) => each.in === 'query').flatMap(invalidQueries)
  const unknown_field = { field: 'unknown_field', query: { unknown_field: '1' } }
  if (body) return [unknown_field, ...queries, ...invalidBodies(body, validBody as Record<string, unknown>)]
  // An operation without a body refuses one with fields.
  const unexpectedBody = method === 'GET' ? [] : [{ field: 'unknown_field', body: { unknown_field: 1 } }]
  return [unknown_field, ...queries, ...unexpectedBody]
}

function invalidQueries({ name, schema }: Parameter): InvalidInput[] {
  return invalidTexts(schema).map((value) => ({ field: name, query: { [name]: value } }))
}

/** Query parameters are texts. */
function invalidTexts(schema: Schema): string[] {
  const texts: (string | undefined)[] = [
    schema.enum && 'unknown_field',
    schema.type === 'boolean' ? 'maybe' : undefined,
    ...(schema.type === 'integer' ? ['x', '1.5', '', '1e9999', '0x10', ' 1'] : []),
    schema.minimum !== undefined ? String(schema.minimum - 1) : undefined,
    schema.maximum !== undefined ? String(schema.maximum + 1) : undefined,
    schema.maxLength !== undefined ? 'x'.repeat(schema.maxLength + 1) : undefined,
  ]
  return texts.filter((text) => text !== undefined)
}

function invalidBodies(
  { schema, required }: NonNullable<Operation['body']>,
  validBody: Record<string, unknown>,
): InvalidInput[] {
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
    invalidValues(property).map(({ field, value }) => ({
      field: field === '' ? name : `${name}.${field}`,
      body: { ...validBody, [name]: value },
    })),
  )
  const missing = (schema.required ?? []).map((name) => {
    const { [name]: _, ...rest } = validBody
    return { field: name, body: rest }
  })
  const shapes = [[], 'text', 1, ...(required ? [null] : [])].map((body) => ({ field: 'body', body }))
  return [{ field: 'unknown_field', body: { ...validBody, unknown_field: 1 } }, ...missing, ...shapes, ...fields]
}

type InvalidValue = { field: string; value: unknown }

function invalidValues(schema: Schema): InvalidValue[] {
  const here = (value: unknown): InvalidValue => ({ field: '', value })
  // A value that matches none of the alternatives.
  if (schema.anyOf) return schema.anyOf.some(({ type }) => type === 'object') ? [here(1)] : [here({}), here(true)]
  if (schema.enum) return [here('unknown_field'), here(1)]
  const is = (type: string) => [schema.type].flat().includes(type)
  const invalid: InvalidValue[] = []
  if (!is('boolean')) invalid.push(here(true))
  if (!is('object')) invalid.push(here({}))
  if (is('string')) invalid.push(here(1), here('nul \0'), here('half \ud800'))
  if (is('boolean') || is('integer')) invalid.push(here('1'))
  if (is('integer')) invalid.push(here(1.5))
  if (schema.minimum !== undefined) invalid.push(here(schema.minimum - 1))
  if (schema.maximum !== undefined) invalid.push(here(schema.maximum + 1))
  if (schema.minLength) invalid.push(here(''))
  if (schema.maxLength !== undefined) invalid.push(here('x'.repeat(schema.maxLength + 1)))
  const { pattern } = schema
  if (pattern) invalid.push(...['!', ' '].filter((text) => !new RegExp(pattern, 'u').test(text)).map(here))
  if (schema.items) invalid.push({ field: '0', value: [schema.items.type === 'object' ? 1 : {}] })
  if (schema.minItems) invalid.push(here([]))
  return invalid
}
