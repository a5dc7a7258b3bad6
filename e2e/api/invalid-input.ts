import type { Operation, Parameter, Schema } from './openapi-document.ts'

/** One thing wrong, and the field that the answer must name. */
export type WrongInput = { field: string; query?: Record<string, string>; body?: unknown }

/** Every kind of wrong input that the document's schemas rule out, one at a time. `good`: a body that is accepted. */
export function wrongInputs({ method, parameters, body }: Operation, good: unknown): WrongInput[] {
  const queries = parameters.filter((each) => each.in === 'query').flatMap(wrongValuesOfQuery)
  const surprise = { field: 'surprise', query: { surprise: '1' } }
  if (body) return [surprise, ...queries, ...wrongBodies(body, good as Record<string, unknown>)]
  // What takes no body refuses one with fields.
  const unasked = method === 'GET' ? [] : [{ field: 'surprise', body: { surprise: 1 } }]
  return [surprise, ...queries, ...unasked]
}

function wrongValuesOfQuery({ name, schema }: Parameter): WrongInput[] {
  return wrongTexts(schema).map((value) => ({ field: name, query: { [name]: value } }))
}

/** Of a query everything is text at first. */
function wrongTexts(schema: Schema): string[] {
  const texts: (string | undefined)[] = [
    schema.enum && 'surprise',
    schema.type === 'boolean' ? 'maybe' : undefined,
    ...(schema.type === 'integer' ? ['x', '1.5', '', '1e9999', '0x10', ' 1'] : []),
    schema.minimum !== undefined ? String(schema.minimum - 1) : undefined,
    schema.maximum !== undefined ? String(schema.maximum + 1) : undefined,
    schema.maxLength !== undefined ? 'x'.repeat(schema.maxLength + 1) : undefined,
  ]
  return texts.filter((text) => text !== undefined)
}

function wrongBodies(
  { schema, required }: NonNullable<Operation['body']>,
  good: Record<string, unknown>,
): WrongInput[] {
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
    wrongValues(property).map(({ field, value }) => ({
      field: field === '' ? name : `${name}.${field}`,
      body: { ...good, [name]: value },
    })),
  )
  const missing = (schema.required ?? []).map((name) => {
    const { [name]: _, ...rest } = good
    return { field: name, body: rest }
  })
  const shapes = [[], 'text', 1, ...(required ? [null] : [])].map((body) => ({ field: 'body', body }))
  return [{ field: 'surprise', body: { ...good, surprise: 1 } }, ...missing, ...shapes, ...fields]
}

type WrongValue = { field: string; value: unknown }

function wrongValues(schema: Schema): WrongValue[] {
  const here = (value: unknown): WrongValue => ({ field: '', value })
  // Of a choice, what none of its shapes can be.
  if (schema.anyOf) return schema.anyOf.some(({ type }) => type === 'object') ? [here(1)] : [here({}), here(true)]
  if (schema.enum) return [here('surprise'), here(1)]
  const is = (type: string) => [schema.type].flat().includes(type)
  const wrong: WrongValue[] = []
  if (!is('boolean')) wrong.push(here(true))
  if (!is('object')) wrong.push(here({}))
  if (is('string')) wrong.push(here(1), here('nul \0'), here('half \ud800'))
  if (is('boolean') || is('integer')) wrong.push(here('1'))
  if (is('integer')) wrong.push(here(1.5))
  if (schema.minimum !== undefined) wrong.push(here(schema.minimum - 1))
  if (schema.maximum !== undefined) wrong.push(here(schema.maximum + 1))
  if (schema.minLength) wrong.push(here(''))
  if (schema.maxLength !== undefined) wrong.push(here('x'.repeat(schema.maxLength + 1)))
  const { pattern } = schema
  if (pattern) wrong.push(...['!', ' '].filter((text) => !new RegExp(pattern, 'u').test(text)).map(here))
  if (schema.items) wrong.push({ field: '0', value: [schema.items.type === 'object' ? 1 : {}] })
  if (schema.minItems) wrong.push(here([]))
  return wrong
}
