import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { FastifySchemaCompiler } from 'fastify'
import { type FieldErrors, notFound } from '../problem.ts'
import { findImpossible } from './impossible.ts'

const bodies = new Ajv({ allErrors: true, verbose: true, strict: false, useDefaults: true })
/** A query string holds text only: "20" is a number and "true" a truth value where the schema says so. */
const queries = new Ajv({ allErrors: true, verbose: true, strict: false, useDefaults: true, coerceTypes: true })

/** Carries every field at fault from the validator to the error handler. */
export class InvalidInput extends Error {
  readonly errors: FieldErrors

  constructor(errors: FieldErrors) {
    super('invalid input')
    this.errors = errors
  }
}

export const validatorCompiler: FastifySchemaCompiler<object> = ({ schema, httpPart }) => {
  const isQuery = httpPart === 'querystring'
  const validate: ValidateFunction = (isQuery ? queries : bodies).compile(schema)
  return (input: unknown) => {
    if (isQuery) matchEnumsInAnyCase(schema as EnumSchema, input as Record<string, unknown>)
    const value = input === undefined ? {} : input
    const impossible = findImpossible(value)
    if (!impossible && validate(value)) return { value }
    if (httpPart === 'params') return { error: notFound() } // nothing has such a name
    return { error: new InvalidInput(impossible ?? fieldErrors(validate.errors ?? [], value)) }
  }
}

type EnumSchema = { properties?: Record<string, { enum?: string[] }> }

/** Query values of an enumeration are accepted in any letter case. */
function matchEnumsInAnyCase({ properties = {} }: EnumSchema, query: Record<string, unknown>): void {
  for (const [name, { enum: allowed }] of Object.entries(properties)) {
    const given = query[name]
    const meant = typeof given === 'string' && allowed?.find((each) => each.toLowerCase() === given.toLowerCase())
    if (meant) query[name] = meant
  }
}

/** Fields at fault that one answer names. */
const MOST_ERRORS = 10_000

function fieldErrors(errors: ErrorObject[], input: unknown): FieldErrors {
  // Without a prototype, so that a field called `constructor` is a field like any other.
  const fields: FieldErrors = Object.create(null)
  const named = errors.slice(0, MOST_ERRORS)
  const nullable = new Set(named.filter(isNullable).map(({ instancePath }) => instancePath))
  for (const error of named) {
    // Of a choice of shapes each alternative complains; the choice itself says it in one sentence. A field that may be
    // null is no choice: what it is otherwise says what is wrong.
    if (error.keyword === 'anyOf' ? nullable.has(error.instancePath) : isAlternative(error, nullable)) continue
    const { path, sentence } = describe(error, input)
    fields[path || 'body'] ??= sentence
  }
  return fields
}

function isNullable({ keyword, parentSchema }: ErrorObject): boolean {
  const alternatives: { type?: string }[] = (keyword === 'anyOf' && parentSchema?.anyOf) || []
  return alternatives.length === 2 && alternatives[1]?.type === 'null'
}

function isAlternative({ schemaPath, instancePath }: ErrorObject, nullable: Set<string>): boolean {
  const [, ...choices] = schemaPath.split('/anyOf/')
  if (choices.length === 0) return false
  return (
    choices.length > 1 || !choices[0]!.startsWith('0/') || ![...nullable].some((path) => instancePath.startsWith(path))
  )
}

function describe(error: ErrorObject, input: unknown): { path: string; sentence: string } {
  const path = keysOf(error.instancePath).join('.')
  const inside = (name: string) => (path === '' ? name : `${path}.${name}`)
  const schema = error.parentSchema as { description?: string; properties?: object } | undefined
  switch (error.keyword) {
    case 'required':
      return { path: inside(error.params.missingProperty), sentence: 'is required.' }
    case 'additionalProperties':
      return { path: inside(error.params.additionalProperty), sentence: 'is not known here.' }
    case 'enum':
      return { path, sentence: `must be one of ${(error.params.allowedValues as unknown[]).join(', ')}.` }
    case 'type':
      return { path, sentence: `must be ${article(error.params.type)}${given(input, error.instancePath)}.` }
    case 'minimum':
      return { path, sentence: `must be at least ${error.params.limit}.` }
    case 'maximum':
      return { path, sentence: `must be at most ${error.params.limit}.` }
    case 'minLength':
      return {
        path,
        sentence: error.params.limit === 1 ? 'must not be empty.' : `needs at least ${error.params.limit} characters.`,
      }
    case 'maxLength':
      return { path, sentence: `must have at most ${error.params.limit} characters.` }
    case 'minItems':
      return {
        path,
        sentence: `needs at least ${error.params.limit} ${error.params.limit === 1 ? 'entry' : 'entries'}.`,
      }
    case 'maxItems':
      return { path, sentence: `must have at most ${error.params.limit} entries.` }
    default:
      return {
        path,
        sentence: schema?.description
          ? `must be ${schema.description.replace(/\.$/, '')}.`
          : `${error.message ?? 'is not valid'}.`,
      }
  }
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

function given(input: unknown, instancePath: string): string {
  let value = input
  for (const key of keysOf(instancePath)) value = (value as Record<string, unknown> | undefined)?.[key]
  if (value === null) return ', not null'
  if (Array.isArray(value)) return ', not a list'
  return typeof value === 'object' ? ', not an object' : `, not ${JSON.stringify(value)?.slice(0, 40)}`
}

/** The keys of a JSON pointer, RFC 6901 section 4. */
function keysOf(pointer: string): string[] {
  const parts = pointer.split('/').slice(1)
  return parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}
