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
export type Parameter = {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  schema: Schema
  example?: unknown
}
type Media = { schema: Schema; example?: unknown; examples?: Record<string, { value: unknown }> }
type Response = { $ref?: string; headers?: Record<string, unknown>; content?: Record<string, Media> }

/** One operation of `/openapi.json`, with its references to shared parameters followed. */
export type Operation = {
  id: string
  method: string
  path: string
  parameters: Parameter[]
  /** `required`: it must be present and not null. */
  body: { schema: Schema; example: unknown; required: boolean } | undefined
  responses: Record<string, Response>
}

/** The API description as a client reads it. `open` are the operations without authentication. */
export type Document = {
  operations: Operation[]
  open: Operation[]
  validate(operation: Operation | null, answer: AppResponse): string[]
  /** The examples of every body and of every schema that has some. */
  examples: Example[]
  /** The keys that only the response or only its example has. */
  differencesFromExample(operation: Operation, answer: AppResponse): string[]
}

/** `problems`: why the examples do not match their schema. `pointer` is a JSON pointer. */
export type Example = { pointer: string; values: unknown[]; problems: string[] }

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

/** By their text: reading one costs more than most tests, and every server has the same. */
const documents = new Map<string, Document>()

export async function readDocument({ call }: TestApp): Promise<Document> {
  const { text, body } = await call('/openapi.json', { key: null })
  const document = documents.get(text) ?? toDocument(body)
  documents.set(text, document)
  return document
}

function toDocument(raw: Raw): Document {
  const operationsThat = (isIncluded: (operation: RawOperation) => boolean) =>
    Object.entries(raw.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, operation]) =>
        isIncluded(operation) ? [toOperation(raw, path, method, operation)] : [],
      ),
    )
  const operations = operationsThat(({ security }) => security === undefined)
  const open = operationsThat(({ security }) => security !== undefined)
  return {
    operations,
    open,
    validate: validatorOf(raw),
    examples: examplesOf(raw),
    differencesFromExample: comparerOf(raw),
  }
}

function examplesOf(raw: Raw): Example[] {
  const ajv = ajvOf(raw)
  const { paths, webhooks, components } = raw
  const allExamples: Example[] = []
  const add = (pointer: string, values: unknown[]) => {
    const validate = ajv.getSchema(`${ID}#${pointer}`)!
    const problems = values.flatMap((value) => (validate(value) ? [] : (validate.errors ?? []).map(sentenceOf)))
    allExamples.push({ pointer, values, problems })
  }
  const addMedia = (pointer: string, media: Media | undefined) => {
    if (media) add(`${pointer}/content/application~1json/schema`, valuesOf(raw, media))
  }
  for (const [kind, all] of Object.entries({ paths, webhooks })) {
    for (const [path, methods] of Object.entries(all)) {
      for (const [method, { requestBody, responses }] of Object.entries(methods)) {
        const pointer = `/${kind}/${escaped(path)}/${method}`
        addMedia(`${pointer}/requestBody`, requestBody?.content['application/json'])
        for (const [status, { content }] of Object.entries(responses)) {
          addMedia(`${pointer}/responses/${status}`, content?.['application/json'])
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
  return allExamples
}

/** The examples of a body, or those of its schema. */
function valuesOf({ components }: Raw, { schema, example, examples }: Media): unknown[] {
  if (example !== undefined) return [example]
  if (examples) return Object.values(examples).map(({ value }) => value)
  return (schema.$ref ? components.schemas[nameOf(schema.$ref)]! : schema).examples ?? []
}

function comparerOf(raw: Raw) {
  // Only named properties are compared, not the keys of maps such as the headers of a webhook.
  const named = new Set([...JSON.stringify(raw.components.schemas).matchAll(/"(\w+)":\{/g)].map(([, name]) => name!))
  return ({ responses }: Operation, { status, body }: AppResponse): string[] => {
    const response = responses[status]
    const { content } = response?.$ref ? raw.components.responses[nameOf(response.$ref)]! : (response ?? {})
    const json = content?.['application/json']
    const [example] = json ? valuesOf(raw, json) : []
    return differences(body, example, named)
  }
}

/** Compares only the first items of lists. */
function differences(answer: unknown, example: unknown, named: Set<string>, path = ''): string[] {
  if (Array.isArray(answer) && Array.isArray(example)) {
    return answer.length > 0 && example.length > 0 ? differences(answer[0], example[0], named, `${path}[0]`) : []
  }
  if (!isObject(answer) || !isObject(example)) return []
  const keys = new Set([...Object.keys(answer), ...Object.keys(example)].filter((key) => named.has(key)))
  return [...keys].flatMap((key) => {
    if (!(key in example)) return [`${path}.${key} is not in the example`]
    if (!(key in answer)) return [`${path}.${key} is only in the example`]
    return differences(answer[key], example[key], named, `${path}.${key}`)
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

/** Replaces references by the named schemas. */
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

/** Why a response does not match the document: its status, its ETag, or a body with other fields than the schema. */
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
      return [`the ETag is ${headers.etag} and the document differs`]
    if (pointer === null) return body === undefined ? [] : [`${status} has a body and the document shows none`]
    const [type = ''] = headers['content-type']?.split(';') ?? []
    // Downloads have other media types too.
    if (type !== 'application/json' && operation?.responses[status]?.content?.[type]) return []
    if (!headers['content-type']?.startsWith('application/json')) return [`sent as ${headers['content-type']}`]
    const validate = ajv.getSchema(`${ID}#${pointer}`)
    if (!validate) throw new Error(`no schema at ${pointer}`)
    return validate(body) ? [] : (validate.errors ?? []).map(sentenceOf)
  }
}

/** Whether a path matches this template. Ignores the query. */
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

/** Adds `additionalProperties: false` to every object with named properties, so that undocumented fields are errors. */
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
