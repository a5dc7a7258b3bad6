import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { AppResponse, TestApp } from '#server/testing/test-app.ts'

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
type Media = { schema: Schema; example?: unknown; examples?: Record<string, { value: unknown }> }
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
  validate(operation: Operation | null, answer: AppResponse): string[]
  /** Of every body in the document that has to have some, and of every schema that has some. */
  examples: Example[]
  /** The keys that an answer has and its example has not, and the other way round. */
  unlikeExample(operation: Operation, answer: AppResponse): string[]
}

/** `problems`: in what the examples are not as their schema says. */
export type Example = { place: string; values: unknown[]; problems: string[] }

type Raw = {
  paths: Record<string, Record<string, RawOperation>>
  webhooks: Record<string, Record<string, RawOperation>>
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

export async function readDocument({ call }: TestApp): Promise<Document> {
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
  return { operations, open, validate: validatorOf(raw), examples: examplesOf(raw), unlikeExample: comparerOf(raw) }
}

function examplesOf(raw: Raw): Example[] {
  const ajv = ajvOf(raw)
  const { paths, webhooks, components } = raw
  const found: Example[] = []
  const add = (place: string, values: unknown[]) => {
    const validate = ajv.getSchema(`${ID}#${place}`)!
    const problems = values.flatMap((value) => (validate(value) ? [] : (validate.errors ?? []).map(sentenceOf)))
    found.push({ place, values, problems })
  }
  const addMedia = (place: string, media: Media | undefined) => {
    if (media) add(`${place}/content/application~1json/schema`, valuesOf(raw, media))
  }
  for (const [kind, all] of Object.entries({ paths, webhooks })) {
    for (const [path, methods] of Object.entries(all)) {
      for (const [method, { requestBody, responses }] of Object.entries(methods)) {
        const place = `/${kind}/${escaped(path)}/${method}`
        addMedia(`${place}/requestBody`, requestBody?.content['application/json'])
        for (const [status, { content }] of Object.entries(responses)) {
          addMedia(`${place}/responses/${status}`, content?.['application/json'])
        }
      }
    }
  }
  for (const [name, { content }] of Object.entries(components.responses)) {
    addMedia(`/components/responses/${name}`, content?.['application/json'])
  }
  for (const [name, { examples }] of Object.entries(components.schemas)) {
    if (examples) add(`/components/schemas/${name}`, examples)
  }
  return found
}

/** The examples beside a body, or those of its schema. */
function valuesOf({ components }: Raw, { schema, example, examples }: Media): unknown[] {
  if (example !== undefined) return [example]
  if (examples) return Object.values(examples).map(({ value }) => value)
  return (schema.$ref ? components.schemas[nameOf(schema.$ref)]! : schema).examples ?? []
}

function comparerOf(raw: Raw) {
  // Other keys are those of maps, such as the headers of a webhook.
  const named = new Set([...JSON.stringify(raw.components.schemas).matchAll(/"(\w+)":\{/g)].map(([, name]) => name!))
  return ({ responses }: Operation, { status, body }: AppResponse): string[] => {
    const response = responses[status]
    const { content } = response?.$ref ? raw.components.responses[nameOf(response.$ref)]! : (response ?? {})
    const [example] = content ? valuesOf(raw, content['application/json']!) : []
    return differences(body, example, named)
  }
}

/** Of lists only the first items are compared. */
function differences(answer: unknown, example: unknown, named: Set<string>, at = ''): string[] {
  if (Array.isArray(answer) && Array.isArray(example)) {
    return answer.length > 0 && example.length > 0 ? differences(answer[0], example[0], named, `${at}[0]`) : []
  }
  if (!isObject(answer) || !isObject(example)) return []
  const keys = new Set([...Object.keys(answer), ...Object.keys(example)].filter((key) => named.has(key)))
  return [...keys].flatMap((key) => {
    if (!(key in example)) return [`${at}.${key} is not in the example`]
    if (!(key in answer)) return [`${at}.${key} is in the example alone`]
    return differences(answer[key], example[key], named, `${at}.${key}`)
  })
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

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

const ID = 'https://zonewatch.example/openapi'

function ajvOf(raw: Raw) {
  const ajv = new Ajv2020({ allErrors: true, strict: false })
  addFormats.default(ajv)
  return ajv.addSchema({ ...(closed(raw) as object), $id: ID })
}

/** Why an answer is not as the document says: its status, its body and nothing in it beyond the schema. */
function validatorOf(raw: Raw) {
  const ajv = ajvOf(raw)
  const errorPointer = '/components/schemas/Error'

  return (operation: Operation | null, { status, body, headers }: AppResponse): string[] => {
    const pointer = operation === null ? errorPointer : pointerOf(raw, operation, status)
    if (pointer === undefined) return [`${status} is not in the document`]
    if (
      operation &&
      status < 300 &&
      (headers.etag !== undefined) !== 'ETag' in (operation.responses[status]?.headers ?? {})
    )
      return [`the ETag is ${headers.etag} and the document says otherwise`]
    if (pointer === null) return body === undefined ? [] : [`${status} has a body and the document shows none`]
    const [type = ''] = headers['content-type']?.split(';') ?? []
    // A download has other forms too.
    if (type !== 'application/json' && operation?.responses[status]?.content?.[type]) return []
    if (!headers['content-type']?.startsWith('application/json')) return [`sent as ${headers['content-type']}`]
    const validate = ajv.getSchema(`${ID}#${pointer}`)
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
