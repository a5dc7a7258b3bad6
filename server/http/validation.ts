import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { FastifyInstance, FastifyRequest, FastifySchemaCompiler } from 'fastify'
import { EMAIL } from '#contract/agents.ts'
import { NAME, ONE_LINE, type SchemaOptions, SLUG } from '#contract/common.ts'
import { type FieldError, fieldError } from '#contract/field-errors.ts'
import { METADATA_PREFIX } from '#contract/labels.ts'
import { type FieldErrors, notFound } from '../problem.ts'
import { toInstant } from '../times.ts'

const compile = compileLazily<ValidateFunction>((schema) => ajv.compile(schema))
const ajv = new Ajv({ allErrors: true, verbose: true, strict: false, useDefaults: true })
ajv.addKeyword({
  keyword: 'x-time',
  type: 'string',
  validate: (_: true, text: string) => !Number.isNaN(toInstant(text)),
})
ajv.addKeyword({
  keyword: 'x-list',
  type: 'string',
  validate: (names: string[], text: string) =>
    text.split(',').every((name) => name.trim() === '' || names.includes(name.trim().toLowerCase())),
})

/** Carries the errors of all fields from the validator to the error handler. */
export class InvalidInput extends Error {
  readonly errors: FieldErrors
  /** Handlers must not process the input, which may be very large. */
  readonly isUnsafe: boolean

  constructor(errors: FieldErrors, { isUnsafe = false } = {}) {
    super('invalid input')
    this.errors = errors
    this.isUnsafe = isUnsafe
  }
}

export const validatorCompiler: FastifySchemaCompiler<object> = ({ schema, httpPart }) => {
  const isQuery = httpPart === 'querystring'
  const compiled = compile(schema)
  return (input: unknown) => {
    const validate = compiled()
    if (isQuery) convertQuery(schema as QuerySchema, input as Record<string, unknown>)
    const value = input === undefined ? {} : input
    const unsafe = findUnsafeInput(value)
    if (!unsafe && validate(value)) return { value }
    if (httpPart === 'params') return { error: notFound() }
    if (unsafe) return { error: new InvalidInput(unsafe, { isUnsafe: true }) }
    return { error: new InvalidInput(fieldErrors(validate.errors ?? [], value, isQuery)) }
  }
}

/** Validates a part of a body. */
export function findFieldErrors(schema: object, value: unknown): FieldErrors {
  const validate = compile(schema)()
  const unsafe = findUnsafeInput(value)
  if (unsafe) return unsafe
  return validate(value) ? {} : fieldErrors(validate.errors ?? [], value, false)
}

type QuerySchema = { properties?: Record<string, { type?: string; enum?: string[] }>; patternProperties?: object }

/** Converts the texts of a query to the types of the schema. What cannot be converted stays text, and is refused. */
function convertQuery({ properties = {}, patternProperties }: QuerySchema, query: Record<string, unknown>): void {
  if (patternProperties) renameMetadata(query)
  for (const [name, schema] of Object.entries(properties)) {
    const text = query[name]
    if (typeof text === 'string') query[name] = convertText(text, schema)
  }
}

/** Generated clients send `metadata[plan]=big` for the object `{ plan: 'big' }`, the style deepObject of OpenAPI. */
function renameMetadata(query: Record<string, unknown>): void {
  for (const name of Object.keys(query)) {
    const key = /^metadata\[(.*)\]$/s.exec(name)?.[1]
    const renamed = `${METADATA_PREFIX}${key}`
    if (key === undefined || renamed in query) continue
    query[renamed] = query[name]
    delete query[name]
  }
}

/** Values of an enumeration, and `True` of Python clients, are accepted in any letter case. */
function convertText(text: string, { type, enum: allowed }: { type?: string; enum?: string[] }): unknown {
  const lower = text.toLowerCase()
  if (type === 'integer' && /^-?\d{1,15}$/.test(text)) return Number(text)
  if (type === 'boolean' && (lower === 'true' || lower === 'false')) return lower === 'true'
  return allowed?.find((value) => value.toLowerCase() === lower) ?? text
}

/** In one response. */
const MAX_ERRORS = 10_000

function fieldErrors(errors: ErrorObject[], input: unknown, isQuery: boolean): FieldErrors {
  // Without a prototype, because a field can have the name `constructor`.
  const fields: FieldErrors = Object.create(null)
  const reported = errors.slice(0, MAX_ERRORS)
  const mismatches = new Map<string, number>()
  for (const { schemaPath, instancePath } of reported) {
    if (ALTERNATIVE_TYPE.test(schemaPath)) mismatches.set(instancePath, (mismatches.get(instancePath) ?? 0) + 1)
  }
  for (const error of reported) {
    // The alternative with the type of the value reports its errors. If no alternative has that type, the choice does.
    if (ALTERNATIVE_TYPE.test(error.schemaPath)) continue
    if (error.keyword === 'anyOf' && mismatches.get(error.instancePath) !== error.parentSchema?.anyOf.length) continue
    const located = locateError(error, input, isQuery)
    fields[located.path || (isQuery ? 'query' : 'body')] ??= located.error
  }
  return fields
}

/** The value has another type than an alternative. */
const ALTERNATIVE_TYPE = /\/anyOf\/\d+\/type$/

type FieldSchema = SchemaOptions & {
  properties?: object
  required?: string[]
  enum?: unknown[]
  anyOf?: { type: string }[]
  minimum?: number
  maximum?: number
  secret?: boolean
  'x-list'?: string[]
}

type LocatedError = { path: string; error: FieldError }

function locateError(error: ErrorObject, input: unknown, isQuery: boolean): LocatedError {
  const keys = keysOf(error.instancePath)
  const path = keys.join('.')
  const value = keys.reduce<unknown>((parent, key) => (parent as Record<string, unknown> | undefined)?.[key], input)
  if (isQuery && Array.isArray(value)) return { path, error: fieldError('repeated') }
  const { missingProperty, additionalProperty } = error.params
  const childPath = (name: string) => (path === '' ? name : `${path}.${name}`)
  const schema = error.parentSchema as FieldSchema
  if (error.keyword === 'required') return { path: childPath(missingProperty), error: fieldError('required') }
  if (error.keyword === 'additionalProperties') {
    return { path: childPath(additionalProperty), error: unknownField(schema, additionalProperty) }
  }
  const isBody = path === '' && error.keyword === 'type'
  return { path, error: isBody ? invalidBody(schema, value) : invalidValue(error, value) }
}

function invalidValue({ keyword, params, parentSchema }: ErrorObject, value: unknown): FieldError {
  const schema = parentSchema as FieldSchema
  const given = schema.secret ? REDACTED : describeValue(value)
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
    case 'x-time':
      return fieldError('invalid_time')
    case 'x-list':
      return fieldError('invalid_list', { allowed: schema['x-list']!.join(', ') })
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

/** The first sentence of the description, or an example. */
function formatOf({ description, examples: [example] = [] }: FieldSchema): string {
  if (description === undefined) return example === undefined ? 'valid' : `like ${JSON.stringify(example)}`
  const [first = ''] = description.replace(/\.$/, '').split('. ')
  return first.replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase())
}

function unknownField({ properties = {}, 'x-elsewhere': elsewhere = {} }: FieldSchema, name: string): FieldError {
  if (Object.hasOwn(elsewhere, name)) return { ...fieldError('read_only'), text: elsewhere[name]! }
  return fieldError('unknown_field', { allowed: Object.keys(properties).join(', ') })
}

function invalidBody({ required = [] }: FieldSchema, value: unknown): FieldError {
  const fields = required.join(', ')
  return value === null
    ? fieldError('body_required', { fields })
    : fieldError('invalid_body', { fields, given: describeValue(value) })
}

function outOfRange({ minimum, maximum }: FieldSchema, given: string | number): FieldError {
  if (minimum === undefined) return fieldError('too_large', { max: maximum!, given })
  if (maximum === undefined) return fieldError('too_small', { min: minimum, given })
  return fieldError('out_of_range', { min: minimum, max: maximum, given })
}

/** Replaces a secret, because clients may log responses. */
const REDACTED = '"***"'

/** The JSON of a value; for an array or an object, the type. */
function describeValue(value: unknown): string | number {
  if (Number.isInteger(value)) return value as number
  if (Array.isArray(value)) return 'array'
  return typeof value === 'object' && value !== null ? 'object' : `${JSON.stringify(value)?.slice(0, 40)}`
}

/** The keys of a JSON pointer, RFC 6901 section 4. */
function keysOf(pointer: string): string[] {
  const parts = pointer.split('/').slice(1)
  return parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** Deeper than any schema. */
export const MAX_DEPTH = 32
/** The largest bulk request has 22,000. */
export const MAX_VALUES = 100_000

/**
 * Finds text that cannot be stored (U+0000, unpaired surrogates), and too many or too deeply nested values. Uses a stack instead
 * of recursion, because the client chooses the depth.
 */
export function findUnsafeInput(input: unknown): FieldErrors | undefined {
  const stack: { value: unknown; path: string; depth: number }[] = [{ value: input, path: '', depth: 0 }]
  for (let visited = 1; ; visited++) {
    const next = stack.pop()
    if (!next) return undefined
    const { value, path, depth } = next
    if (typeof value === 'string') {
      const code = invalidCharacter(value)
      if (code) return { [path || 'body']: fieldError(code) }
    } else if (value !== null && typeof value === 'object') {
      if (depth >= MAX_DEPTH) return { body: fieldError('too_deep', { max: MAX_DEPTH }) }
      const isList = Array.isArray(value)
      const entries = isList ? value.entries() : Object.entries(value)
      const count = isList ? value.length : (entries as unknown[]).length
      if (visited + stack.length + count > MAX_VALUES)
        return { body: fieldError('too_many_values', { max: MAX_VALUES }) }
      for (const [key, child] of entries) {
        const code = typeof key === 'string' && invalidCharacter(key)
        if (code) return { [path || 'body']: fieldError(CODES_IN_NAMES[code]) }
        stack.push({ value: child, path: path === '' ? String(key) : `${path}.${key}`, depth: depth + 1 })
      }
    }
  }
}

const CODES_IN_NAMES = { nul_character: 'nul_in_name', unpaired_surrogate: 'surrogate_in_name' } as const

function invalidCharacter(text: string): keyof typeof CODES_IN_NAMES | undefined {
  if (text.includes('\0')) return 'nul_character'
  return text.isWellFormed() ? undefined : 'unpaired_surrogate'
}

/**
 * Compiles a schema when it is first used, and equal schemas once. Compiling all schemas takes a quarter of the start time, and
 * most processes use few of them.
 */
export function compileLazily<T>(compile: (schema: object) => T): (schema: object) => () => T {
  const compiled = new Map<string, T>()
  return (schema) => {
    let result: T | undefined
    return () => {
      if (result !== undefined) return result
      const text = JSON.stringify(schema)
      result = compiled.get(text) ?? compile(schema)
      compiled.set(text, result)
      return result
    }
  }
}

/**
 * Schema errors of a route with `attachValidation`, so that the handler can report them together with what the schema cannot
 * check. They are those of the body or, in a request without one, of the query. The body is an object whose fields may have any type.
 */
export const schemaErrors = ({ validationError: error }: FastifyRequest): FieldErrors | undefined =>
  error instanceof InvalidInput ? error.errors : undefined

/** Refuses unsafe input and a body that is not an object before the handler of a route with `attachValidation`. */
export function refuseUnreadableInput(app: FastifyInstance): void {
  app.addHook('preHandler', (request, _reply, done) =>
    done(hasReadableInput(request) ? undefined : request.validationError),
  )
}

function hasReadableInput({ validationError: error, body }: FastifyRequest): boolean {
  if (!error) return true
  if (!(error instanceof InvalidInput) || error.isUnsafe) return false
  if (error.validationContext === 'querystring') return body === undefined
  return error.validationContext === 'body' && typeof body === 'object' && body !== null && !Array.isArray(body)
}
