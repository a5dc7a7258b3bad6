import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { FastifyInstance, FastifyRequest, FastifySchemaCompiler } from 'fastify'
import { EMAIL } from '#contract/agents.ts'
import { NAME, ONE_LINE, type SchemaOptions, SLUG } from '#contract/common.ts'
import { type FieldError, fieldError } from '#contract/field-errors.ts'
import { type FieldErrors, notFound } from '../problem.ts'

const compile = compileLazily<ValidateFunction>((schema) => ajv.compile(schema))
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
    const impossible = findUnsafeInput(value)
    if (!impossible && validate(value)) return { value }
    if (httpPart === 'params') return { error: notFound() } // nothing has such a name
    if (impossible) return { error: new InvalidInput(impossible, { isImpossible: true }) }
    return { error: new InvalidInput(fieldErrors(validate.errors ?? [], value, isQuery)) }
  }
}

/** What a schema refuses of a value that lies within a body, by its fields. */
export function findFieldErrors(schema: object, value: unknown): FieldErrors {
  const validate = compile(schema)()
  const impossible = findUnsafeInput(value)
  if (impossible) return impossible
  return validate(value) ? {} : fieldErrors(validate.errors ?? [], value, false)
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
const MAX_ERRORS = 10_000

function fieldErrors(errors: ErrorObject[], input: unknown, isQuery: boolean): FieldErrors {
  // Without a prototype, so that a field called `constructor` is a field like any other.
  const fields: FieldErrors = Object.create(null)
  const named = errors.slice(0, MAX_ERRORS)
  const mismatches = new Map<string, number>()
  for (const { schemaPath, instancePath } of named) {
    if (OTHER_TYPE.test(schemaPath)) mismatches.set(instancePath, (mismatches.get(instancePath) ?? 0) + 1)
  }
  for (const error of named) {
    // Of a choice of shapes the one that has the right type says what is wrong; where none has, the choice does.
    if (OTHER_TYPE.test(error.schemaPath)) continue
    if (error.keyword === 'anyOf' && mismatches.get(error.instancePath) !== error.parentSchema?.anyOf.length) continue
    const { path, error: described } = describe(error, input, isQuery)
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
  secret?: boolean
}

type Described = { path: string; error: FieldError }

function describe(error: ErrorObject, input: unknown, isQuery: boolean): Described {
  const path = keysOf(error.instancePath).join('.')
  const value = valueAt(input, error.instancePath)
  if (isQuery && Array.isArray(value)) return { path, error: fieldError('repeated') }
  const { missingProperty, additionalProperty } = error.params
  const inside = (name: string) => (path === '' ? name : `${path}.${name}`)
  const schema = error.parentSchema as SchemaAtFault
  if (error.keyword === 'required') return { path: inside(missingProperty), error: fieldError('required') }
  if (error.keyword === 'additionalProperties') {
    return { path: inside(additionalProperty), error: unknownField(schema, additionalProperty) }
  }
  return { path, error: path === '' && error.keyword === 'type' ? wrongBody(schema, value) : wrongValue(error, value) }
}

function wrongValue({ keyword, params, parentSchema }: ErrorObject, value: unknown): FieldError {
  const schema = parentSchema as SchemaAtFault
  const given = schema.secret ? HIDDEN : shown(value)
  switch (keyword) {
    case 'anyOf':
      return fieldError('invalid_type', { allowed: (schema.anyOf ?? []).map(({ type }) => type).join(','), given })
    case 'type':
      if (schema.enum) return fieldError('invalid_choice', { allowed: schema.enum.join(', ') })
      return fieldError('invalid_type', { allowed: [params.type].flat().join(','), given })
    case 'enum':
      return fieldError('invalid_choice', { allowed: params.allowedValues.join(', ') })
    case 'minimum':
    case 'maximum':
      return outOfRange(schema, given)
    case 'minLength':
      return params.limit === 1 ? fieldError('empty') : fieldError('too_short', { min: params.limit })
    case 'maxLength':
      return fieldError('too_long', { max: params.limit })
    case 'minItems':
      return fieldError('too_few', { min: params.limit })
    case 'maxItems':
    case 'maxProperties':
      return fieldError('too_many', { max: params.limit })
    default: {
      const code = FORMATS.get(params.pattern)
      return code ? fieldError(code, { given }) : fieldError('invalid_format', { format: formatOf(schema), given })
    }
  }
}

const FORMATS = new Map<string, 'invalid_email' | 'invalid_slug' | 'invalid_text' | 'control_characters'>([
  [EMAIL, 'invalid_email'],
  [SLUG, 'invalid_slug'],
  [NAME, 'invalid_text'],
  [ONE_LINE, 'control_characters'],
])

/** The first sentence of the description: the others say what the field is for. Without one, an example. */
function formatOf({ description, examples: [example] = [] }: SchemaAtFault): string {
  if (description === undefined) return example === undefined ? 'valid' : `like ${JSON.stringify(example)}`
  const [first = ''] = description.replace(/\.$/, '').split('. ')
  return first.replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase())
}

function unknownField({ properties = {}, 'x-elsewhere': elsewhere = {} }: SchemaAtFault, name: string): FieldError {
  if (Object.hasOwn(elsewhere, name)) return { ...fieldError('read_only'), text: elsewhere[name]! }
  return fieldError('unknown_field', { allowed: Object.keys(properties).join(', ') })
}

function wrongBody({ required = [] }: SchemaAtFault, value: unknown): FieldError {
  const fields = required.join(', ')
  return value === null
    ? fieldError('body_required', { fields })
    : fieldError('invalid_body', { fields, given: shown(value) })
}

function outOfRange({ minimum, maximum }: SchemaAtFault, given: string | number): FieldError {
  if (minimum === undefined) return fieldError('too_large', { max: maximum!, given })
  if (maximum === undefined) return fieldError('too_small', { min: minimum, given })
  return fieldError('out_of_range', { min: minimum, max: maximum, given })
}

/** In place of a secret, which need not be repeated where answers are kept. */
const HIDDEN = '"***"'

/** JSON of a value; of a list or an object only the type. */
function shown(value: unknown): string | number {
  if (Number.isInteger(value)) return value as number
  if (Array.isArray(value)) return 'array'
  return typeof value === 'object' && value !== null ? 'object' : `${JSON.stringify(value)?.slice(0, 40)}`
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

/** Deeper than anything that a schema of ours describes. */
const MAX_DEPTH = 32
/** A full bulk request has 22,000. */
const MAX_VALUES = 100_000

type Place = { value: unknown; path: string; depth: number }

/**
 * What no schema needs to look at: text that cannot be stored (U+0000, halves of surrogate pairs), and nesting or numbers
 * of values that only cost time. Walks with a list instead of calls, because the depth is the sender's choice.
 */
export function findUnsafeInput(input: unknown): FieldErrors | undefined {
  const waiting: Place[] = [{ value: input, path: '', depth: 0 }]
  for (let seen = 1; ; seen++) {
    const place = waiting.pop()
    if (!place) return undefined
    const { value, path, depth } = place
    if (typeof value === 'string') {
      const fault = faultOf(value)
      if (fault) return { [path || 'body']: fieldError(fault) }
    } else if (value !== null && typeof value === 'object') {
      if (depth >= MAX_DEPTH) return { body: fieldError('too_deep', { max: MAX_DEPTH }) }
      const isList = Array.isArray(value)
      const entries = isList ? value.entries() : Object.entries(value)
      const count = isList ? value.length : (entries as unknown[]).length
      if (seen + waiting.length + count > MAX_VALUES)
        return { body: fieldError('too_many_values', { max: MAX_VALUES }) }
      for (const [key, child] of entries) {
        const fault = typeof key === 'string' && faultOf(key)
        if (fault) return { [path || 'body']: fieldError(IN_NAME[fault]) }
        waiting.push({ value: child, path: path === '' ? String(key) : `${path}.${key}`, depth: depth + 1 })
      }
    }
  }
}

const IN_NAME = { nul_character: 'nul_in_name', unpaired_surrogate: 'surrogate_in_name' } as const

function faultOf(text: string): keyof typeof IN_NAME | undefined {
  if (text.includes('\0')) return 'nul_character'
  return text.isWellFormed() ? undefined : 'unpaired_surrogate'
}

/**
 * Compiles a schema when it is first used, and once for each text of it: of one route and another the refusals are alike.
 * Compiling all of them took a quarter of a start, and most processes use few. Returns what compiles, or gives what was compiled.
 */
export function compileLazily<T>(compile: (schema: object) => T): (schema: object) => () => T {
  const compiled = new Map<string, T>()
  return (schema) => {
    let own: T | undefined
    return () => {
      if (own !== undefined) return own
      const text = JSON.stringify(schema)
      own = compiled.get(text) ?? compile(schema)
      compiled.set(text, own)
      return own
    }
  }
}

/**
 * Schema errors of a route with `attachValidation`, so that the handler can report them together with what the schema cannot
 * check. They are those of the body or, in a request without one, of the query. The body is an object whose fields may have any type.
 */
export const schemaErrors = ({ validationError: error }: FastifyRequest): FieldErrors | undefined =>
  error instanceof InvalidInput ? error.errors : undefined

/** Before the handler of a route with `attachValidation`, refuses what it could not combine with other errors: a body that is no object, or unsafe. */
export function refuseUnreadableInput(app: FastifyInstance): void {
  app.addHook('preHandler', (request, _reply, done) =>
    done(hasReadableInput(request) ? undefined : request.validationError),
  )
}

function hasReadableInput({ validationError: error, body }: FastifyRequest): boolean {
  if (!error) return true
  if (!(error instanceof InvalidInput) || error.isImpossible) return false
  if (error.validationContext === 'querystring') return body === undefined
  return error.validationContext === 'body' && typeof body === 'object' && body !== null && !Array.isArray(body)
}
