import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { FastifySchemaCompiler } from 'fastify'
import { type FieldErrors, notFound } from '../problem.ts'

const bodies = new Ajv({ allErrors: true, strict: false, useDefaults: true })
/** A query string holds text only: "20" is a number and "true" a truth value where the schema says so. */
const queries = new Ajv({ allErrors: true, strict: false, useDefaults: true, coerceTypes: true })

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
    const value = input === undefined || input === null ? {} : input
    if (!hasForbiddenText(value) && validate(value)) return { value }
    if (httpPart === 'params') return { error: notFound() } // nothing has such a name
    return { error: new InvalidInput(fieldErrors(validate.errors ?? [], value)) }
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

/** U+0000 is in no name, address or text that we keep, and PostgreSQL cannot store it. */
function hasForbiddenText(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('\0')
  if (value === null || typeof value !== 'object') return false
  return Object.entries(value).some(([key, each]) => key.includes('\0') || hasForbiddenText(each))
}

function fieldErrors(errors: ErrorObject[], input: unknown): FieldErrors {
  if (errors.length === 0) return { body: 'contains the character U+0000, which is not allowed anywhere.' }
  const fields: FieldErrors = {}
  for (const error of errors) {
    // Of a choice of shapes each alternative complains; the choice itself says it in one sentence.
    if (error.schemaPath.includes('/anyOf/') && error.keyword !== 'anyOf') continue
    const { path, sentence } = describe(error, input)
    fields[path || 'body'] ??= sentence
  }
  return fields
}

function describe(error: ErrorObject, input: unknown): { path: string; sentence: string } {
  const path = error.instancePath.slice(1).replaceAll('/', '.')
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
        sentence: schema?.description ? `must be: ${schema.description}` : `${error.message ?? 'is not valid'}.`,
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
  for (const key of instancePath.split('/').slice(1)) value = (value as Record<string, unknown> | undefined)?.[key]
  if (value === null) return ', not null'
  if (Array.isArray(value)) return ', not a list'
  return typeof value === 'object' ? ', not an object' : `, not ${JSON.stringify(value)?.slice(0, 40)}`
}
