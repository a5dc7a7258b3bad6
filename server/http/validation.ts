import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { FastifySchemaCompiler } from 'fastify'
import type { SchemaOptions } from '#contract/common.ts'
import type { FieldCode } from '#contract/error-codes.ts'
import { type FieldErrors, notFound } from '../problem.ts'
import { oncePerSchema } from './compiled.ts'
import { findOversized } from './payload-limits.ts'

const compile = oncePerSchema<ValidateFunction>((schema) => ajv.compile(schema))
const ajv = new Ajv({ allErrors: true, verbose: true, strict: false, useDefaults: true })

/** Carries every field at fault from the validator to the error handler. */
export class InvalidInput extends Error {
  readonly errors: FieldErrors
  /** Nobody need look further at the input: it may be very large. */
  readonly isImpossible: boolean

  constructor(errors: FieldErrors, { isImpossible = false } = {}) {
    super('invalid input')
    this.errors = errors
    this.isImpossible = isImpossible
  }
}

export const validatorCompiler: FastifySchemaCompiler<object> = ({ schema, httpPart }) => {
  const isQuery = httpPart === 'querystring'
  const compiled = compile(schema)
  return (input: unknown) => {
    const validate = compiled()
    if (isQuery) readTexts(schema as QuerySchema, input as Record<string, unknown>)
    const value = input === undefined ? {} : input
    const impossible = findOversized(value)
    if (!impossible && validate(value)) return { value }
    if (httpPart === 'params') return { error: notFound() } // nothing has such a name
    if (impossible) return { error: new InvalidInput(impossible, { isImpossible: true }) }
    return { error: new InvalidInput(fieldErrors(validate.errors ?? [], value, isQuery)) }
  }
}

type QuerySchema = { properties?: Record<string, { type?: string; enum?: string[] }> }

/** A query string holds text only. What does not read as its schema says stays text, and is refused. */
function readTexts({ properties = {} }: QuerySchema, query: Record<string, unknown>): void {
  for (const [name, schema] of Object.entries(properties)) {
    const given = query[name]
    if (typeof given === 'string') query[name] = readText(given, schema)
  }
}

/** Values of an enumeration, and `True` as Python writes it, are accepted in any letter case. */
function readText(given: string, { type, enum: allowed }: { type?: string; enum?: string[] }): unknown {
  const lower = given.toLowerCase()
  if (type === 'integer' && /^-?\d{1,15}$/.test(given)) return Number(given)
  if (type === 'boolean' && (lower === 'true' || lower === 'false')) return lower === 'true'
  return allowed?.find((each) => each.toLowerCase() === lower) ?? given
}

/** Fields at fault that one answer names. */
const MOST_ERRORS = 10_000

function fieldErrors(errors: ErrorObject[], input: unknown, isQuery: boolean): FieldErrors {
  // Without a prototype, so that a field called `constructor` is a field like any other.
  const fields: FieldErrors = Object.create(null)
  const named = errors.slice(0, MOST_ERRORS)
  const mismatches = new Map<string, number>()
  for (const { schemaPath, instancePath } of named) {
    if (OTHER_TYPE.test(schemaPath)) mismatches.set(instancePath, (mismatches.get(instancePath) ?? 0) + 1)
  }
  for (const error of named) {
    // Of a choice of shapes the one that has the right type says what is wrong; where none has, the choice does.
    if (OTHER_TYPE.test(error.schemaPath)) continue
    if (error.keyword === 'anyOf' && mismatches.get(error.instancePath) !== error.parentSchema?.anyOf.length) continue
    const { path, ...described } = describe(error, input, isQuery)
    fields[path || (isQuery ? 'query' : 'body')] ??= described
  }
  return fields
}

/** The type of an alternative is not that of the value. */
const OTHER_TYPE = /\/anyOf\/\d+\/type$/

type SchemaAtFault = SchemaOptions & {
  properties?: object
  required?: string[]
  enum?: unknown[]
  anyOf?: { type: string }[]
  minimum?: number
  maximum?: number
}

type Described = { path: string; code: FieldCode; text: string }

function describe(error: ErrorObject, input: unknown, isQuery: boolean): Described {
  const path = keysOf(error.instancePath).join('.')
  const inside = (name: string) => (path === '' ? name : `${path}.${name}`)
  const schema = error.parentSchema as SchemaAtFault
  const value = valueAt(input, error.instancePath)
  if (isQuery && Array.isArray(value)) {
    return { path, code: 'repeated', text: 'was given more than once. Send it once.' }
  }
  switch (error.keyword) {
    case 'required':
      return { path: inside(error.params.missingProperty), code: 'required', text: 'is required.' }
    case 'additionalProperties':
      return {
        path: inside(error.params.additionalProperty),
        ...unknownField(schema, error.params.additionalProperty),
      }
    case 'anyOf':
      return { path, code: 'invalid_type', text: wrongType(schema.anyOf?.map(({ type }) => type) ?? [], value) }
    case 'type': {
      const isBody = path === ''
      if (isBody) return { path, code: 'invalid_type', text: wrongBody(error.params.type, schema, value) }
      if (schema.enum) return { path, code: 'invalid_choice', text: oneOf(schema.enum) }
      return { path, code: 'invalid_type', text: wrongType(error.params.type, value) }
    }
    case 'enum':
      return { path, code: 'invalid_choice', text: oneOf(error.params.allowedValues) }
    case 'minimum':
    case 'maximum':
      return { path, code: 'out_of_range', text: outOfRange(schema, value) }
    case 'minLength':
      return { path, code: 'too_short', text: tooShort(error.params.limit) }
    case 'maxLength':
      return { path, code: 'too_long', text: `must have at most ${error.params.limit} characters.` }
    case 'minItems': {
      const entries = error.params.limit === 1 ? 'entry' : 'entries'
      return { path, code: 'too_short', text: `must have at least ${error.params.limit} ${entries}.` }
    }
    case 'maxItems':
    case 'maxProperties':
      return { path, code: 'too_long', text: `must have at most ${error.params.limit} entries.` }
    default:
      return { path, code: 'invalid_value', text: `must be ${shapeOf(schema)}, not ${shown(value)}.` }
  }
}

/** The first sentence of the description: the others say what the field is for. */
const shapeOf = ({ description = 'valid' }: SchemaAtFault) => description.split('. ')[0]!
const tooShort = (limit: number) => (limit === 1 ? 'must not be empty.' : `must have at least ${limit} characters.`)

const oneOf = (allowed: unknown[]) => `must be ${allowed.length > 1 ? 'one of ' : ''}${allowed.join(', ')}.`
const wrongType = (types: string | string[], value: unknown) => `must be ${article(types)}, not ${shown(value)}.`

function unknownField(
  { properties = {}, 'x-elsewhere': elsewhere = {} }: SchemaAtFault,
  name: string,
): Omit<Described, 'path'> {
  if (Object.hasOwn(elsewhere, name)) return { code: 'read_only', text: elsewhere[name]! }
  const known = Object.keys(properties)
  const text = known.length === 0 ? 'is unknown. Remove it.' : `is unknown. Allowed: ${known.join(', ')}.`
  return { code: 'unknown_field', text }
}

function wrongBody(types: string | string[], { required = [] }: SchemaAtFault, value: unknown): string {
  const wanted = `${article(types)}${required.length > 0 ? ` with ${required.join(', ')}` : ''}`
  return value === null ? `is missing. Send ${wanted}.` : `must be ${wanted}, not ${shown(value)}.`
}

function outOfRange({ minimum, maximum }: SchemaAtFault, value: unknown): string {
  if (minimum === undefined) return `must be at most ${maximum}, not ${shown(value)}.`
  if (maximum === undefined) return `must be at least ${minimum}, not ${shown(value)}.`
  return `must be from ${minimum} to ${maximum}, not ${shown(value)}.`
}

function article(type: string | string[]): string {
  const names: Record<string, string> = {
    string: 'text',
    integer: 'a whole number',
    number: 'a number',
    boolean: 'true or false',
    array: 'a list',
    object: 'an object',
    null: 'null',
  }
  return [type]
    .flat()
    .map((each) => names[each] ?? each)
    .join(' or ')
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' && value !== null ? 'an object' : `${JSON.stringify(value)?.slice(0, 40)}`
}

function valueAt(input: unknown, pointer: string): unknown {
  let value = input
  for (const key of keysOf(pointer)) value = (value as Record<string, unknown> | undefined)?.[key]
  return value
}

/** The keys of a JSON pointer, RFC 6901 section 4. */
function keysOf(pointer: string): string[] {
  const parts = pointer.split('/').slice(1)
  return parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}
