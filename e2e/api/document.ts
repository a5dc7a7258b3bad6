import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { Answer, AppWorld } from '#server/testing/app-world.ts'

export type Schema = {
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  pattern?: string
  examples?: unknown[]
  additionalProperties?: boolean | Schema
}
export type Parameter = { name: string; in: 'path' | 'query' | 'header'; schema: Schema; example?: unknown }
type Media = { schema: Schema; example?: unknown }
type Response = { $ref?: string; headers?: Record<string, unknown>; content?: Record<string, Media> }

/** One operation of `/openapi.json`, with its references to shared parameters followed. */
export type Operation = {
  id: string
  method: string
  path: string
  parameters: Parameter[]
  /** `required`: whether it may not be left out, or null. */
  body: { schema: Schema; example: unknown; required: boolean } | undefined
  responses: Record<string, Response>
}

/** The document as a client sees it. `open`: operations that need no key. */
export type Document = {
  operations: Operation[]
  open: Operation[]
  validate(operation: Operation | null, answer: Answer): string[]
}

type Raw = {
  paths: Record<string, Record<string, RawOperation>>
  components: {
    parameters: Record<string, Parameter>
    responses: Record<string, Response>
    schemas: Record<string, Schema>
  }
}
type RawOperation = {
  operationId: string
  security?: unknown[]
  parameters?: (Parameter & { $ref?: string })[]
  requestBody?: { required: boolean; content: Record<string, Media> }
  responses: Record<string, Response>
}

export async function readDocument({ call }: AppWorld): Promise<Document> {
  const { body } = await call('/openapi.json', { key: null })
  const raw = body as Raw
  const operationsThat = (isWanted: (operation: RawOperation) => boolean) =>
    Object.entries(raw.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, operation]) =>
        isWanted(operation) ? [toOperation(raw, path, method, operation)] : [],
      ),
    )
  const operations = operationsThat(({ security }) => security === undefined)
  const open = operationsThat(({ security }) => security !== undefined)
  return { operations, open, validate: validatorOf(raw) }
}

function toOperation({ components }: Raw, path: string, method: string, raw: RawOperation): Operation {
  const media = raw.requestBody?.content['application/json']
  return {
    id: raw.operationId,
    method: method.toUpperCase(),
    path,
    parameters: (raw.parameters ?? []).map((each) =>
      each.$ref ? components.parameters[nameOf(each.$ref)]! : (inlined(components, each) as Parameter),
    ),
    body: media && {
      schema: inlined(components, media.schema) as Schema,
      example: media.example ?? (inlined(components, media.schema) as Schema).examples?.[0],
      required: raw.requestBody!.required,
    },
    responses: raw.responses,
  }
}

/** With the named schemas in the place of the references to them. */
function inlined(components: Raw['components'], value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map((each) => inlined(components, each))
  const { $ref, ...beside } = value as { $ref?: string }
  if ($ref !== undefined) return { ...(inlined(components, components.schemas[nameOf($ref)]) as object), ...beside }
  return Object.fromEntries(Object.entries(beside).map(([key, each]) => [key, inlined(components, each)]))
}

/** Why an answer is not as the document says: its status, its body and nothing in it beyond the schema. */
function validatorOf(raw: Raw) {
  const ajv = new Ajv2020({ allErrors: true, strict: false })
  addFormats.default(ajv)
  const id = 'https://zonewatch.example/openapi'
  ajv.addSchema({ ...(closed(raw) as object), $id: id })
  const errorPointer = '/components/schemas/Error'

  return (operation: Operation | null, { status, body, headers }: Answer): string[] => {
    const pointer = operation === null ? errorPointer : pointerOf(raw, operation, status)
    if (pointer === undefined) return [`${status} is not in the document`]
    if (
      operation &&
      status < 300 &&
      (headers.etag !== undefined) !== 'ETag' in (operation.responses[status]?.headers ?? {})
    )
      return [`the ETag is ${headers.etag} and the document says otherwise`]
    if (pointer === null) return body === undefined ? [] : [`${status} has a body and the document shows none`]
    if (!headers['content-type']?.startsWith('application/json')) return [`sent as ${headers['content-type']}`]
    const validate = ajv.getSchema(`${id}#${pointer}`)
    if (!validate) throw new Error(`no schema at ${pointer}`)
    return validate(body) ? [] : (validate.errors ?? []).map(sentenceOf)
  }
}

/** Whether a path with its ids in it is of this template; what is after a `?` does not matter. */
export const matches = (template: string, path: string) =>
  new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`).test(path.split('?')[0]!)

/** Undefined: not documented. Null: documented without a body. */
function pointerOf(raw: Raw, { method, path, responses }: Operation, status: number): string | null | undefined {
  const response = responses[status]
  if (!response) return undefined
  const place = response.$ref ?? `#/paths/${escaped(path)}/${method.toLowerCase()}/responses/${status}`
  const content = response.$ref ? raw.components.responses[nameOf(response.$ref)]?.content : response.content
  return content ? `${place.slice(1)}/content/application~1json/schema` : null
}

/** Every object with named properties closed, so that a field that the document does not show is an error. */
function closed(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(closed)
  const copy = Object.fromEntries(Object.entries(value).map(([key, each]) => [key, closed(each)]))
  return copy.type === 'object' && copy.properties ? { additionalProperties: false, ...copy } : copy
}

const sentenceOf = ({ instancePath, message, params }: ErrorObject) =>
  `${instancePath || 'the body'} ${message} ${JSON.stringify(params)}`
const nameOf = (reference: string) => reference.split('/').at(-1)!
const escaped = (path: string) => encodeURIComponent(path.replaceAll('~', '~0').replaceAll('/', '~1'))
