import { ErrorBody } from '#contract/common.ts'
import {
  errorResponses,
  type HeaderName,
  headerRefs,
  headers,
  parameters,
  responses,
  securitySchemes,
} from './components.ts'
import { webhooks } from './deliveries.ts'
import { hoistTitled } from './hoist.ts'

/** Only the properties that are read or changed here. */
export type Operation = {
  operationId?: string
  summary?: string
  description?: string
  tags?: string[]
  /** Empty for an operation that needs no key. */
  security?: unknown[]
  parameters?: Parameter[]
  'x-takes-if-match'?: boolean
  'x-writes-nothing'?: boolean
  'x-takes-idempotency-key'?: boolean
  'x-takes-metadata'?: boolean
  requestBody?: { required?: boolean; content: Record<string, { schema?: AnySchema }> }
  responses: Record<
    string,
    { description?: string; headers?: object; content?: Record<string, { schema?: AnySchema }> }
  >
}
/** A parameter, or a reference to a shared one. */
export type Parameter = { name?: string; in?: string; description?: string; schema?: unknown; $ref?: string }
type AnySchema = { type?: string; title?: string; properties?: object; anyOf?: AnySchema[] }
export type Document = {
  paths: Record<string, Record<string, Operation>>
  webhooks?: unknown
  components: Record<string, Record<string, unknown>>
  tags?: { name: string; description?: string }[]
}

/** Adds what the route schemas do not contain: shared headers, conditional requests and errors. */
export function completeDocument(document: Document): Document {
  const versioned = versionedTitles(document)
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      if (operation.security) completePublicOperation(operation)
      else completeOperation(method, path, operation, versioned)
      delete operation['x-takes-if-match']
      delete operation['x-writes-nothing']
      delete operation['x-takes-idempotency-key']
      delete operation['x-takes-metadata']
    }
  }
  const schemas = hoistTitled(document.paths)
  document.webhooks = webhooks
  document.components = {
    ...document.components,
    // The schema has hidden properties that JSON leaves out.
    schemas: { ...document.components.schemas, ...schemas, Error: JSON.parse(JSON.stringify(ErrorBody)) },
    responses,
    headers,
    parameters,
    securitySchemes,
  }
  return document
}

/** The titles of resources that take `If-Match`. Every response with one of them has an ETag. */
function versionedTitles({ paths }: Document): Set<string | undefined> {
  const operations = Object.values(paths)
    .filter((path) => Object.values(path).some((operation) => operation['x-takes-if-match']))
    .flatMap((path) => path.get ?? [])
  return new Set(
    operations.flatMap(({ responses }) => responses['200']?.content?.['application/json']?.schema?.title ?? []),
  )
}

/** An operation that needs no key. Its schema has all its responses. */
function completePublicOperation(operation: Operation): void {
  for (const [status, response] of Object.entries(operation.responses)) {
    response.headers = headerRefs(status === '503' ? ['Retry-After'] : [])
  }
  for (const status of [400, 405, 414, 431, 500, 503]) operation.responses[status] ??= errorRef(status)
}

function completeOperation(
  method: string,
  path: string,
  operation: Operation,
  versioned: Set<string | undefined>,
): void {
  correctBody(operation)
  for (const parameter of operation.parameters ?? []) listInclude(parameter)
  const successes = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'))
  const schema = successes[0]?.[1].content?.['application/json']?.schema
  const returnsPage = 'has_more' in (schema?.properties ?? {})
  const returnsResource = schema?.type === 'object' && !returnsPage
  if (returnsPage) {
    operation.description ??= 'Returns one page in the requested order. An item must match all filters.'
    operation.description += ' Returns 304 if the page is the one that the ETag in If-None-Match belongs to.'
  }
  if (returnsResource && method === 'get') {
    operation.description ??= 'Returns 304 if the ETag in If-None-Match is current.'
  }
  const takesIfMatch = operation['x-takes-if-match'] === true
  const takesIdempotencyKey =
    (method === 'post' && !operation['x-writes-nothing']) || operation['x-takes-idempotency-key'] === true
  const isRead = method === 'get' && (returnsResource || returnsPage)
  const takesMetadata = operation['x-takes-metadata'] === true
  const shared = {
    MetadataFilter: takesMetadata,
    IfMatch: takesIfMatch,
    IfNoneMatch: isRead,
    IdempotencyKey: takesIdempotencyKey,
  }
  for (const [name, isTaken] of Object.entries(shared)) {
    if (isTaken) operation.parameters = [...(operation.parameters ?? []), { $ref: `#/components/parameters/${name}` }]
  }
  for (const [status, response] of successes) {
    if (response.description === 'Default Response') response.description = 'Success.'
    const hasTag = isRead || (returnsResource && versioned.has(schema.title))
    const optional: [HeaderName, boolean][] = [
      ['Location', status === '201' && returnsResource],
      ['ETag', hasTag],
      ['Idempotent-Replayed', takesIdempotencyKey],
    ]
    response.headers = headerRefs(optional.flatMap(([name, isSent]) => (isSent ? [name] : [])))
    if (hasTag && method === 'get') {
      operation.responses['304'] = { description: 'Nothing changed.', headers: headerRefs(['ETag']) }
    }
  }
  for (const status of ['4XX', '5XX']) delete operation.responses[status]
  for (const status of errorStatuses({ method, path, takesIdempotencyKey, takesIfMatch })) {
    operation.responses[status] = errorRef(status)
  }
}

const errorRef = (status: number) =>
  ({ $ref: `#/components/responses/${errorResponses[status]!.name}` }) as Operation['responses'][string]

type OperationTraits = { method: string; path: string; takesIdempotencyKey: boolean; takesIfMatch: boolean }

function errorStatuses({ method, path, takesIdempotencyKey, takesIfMatch }: OperationTraits): number[] {
  const isWrite = method !== 'get'
  const statuses: [number, boolean][] = [
    [400, true],
    [401, true],
    [402, ['post', 'put', 'patch'].includes(method)],
    [403, isWrite],
    [404, path.includes('{')],
    [405, true],
    [409, isWrite],
    [412, method === 'patch' || method === 'delete' || takesIfMatch],
    // Also of operations without a body, because a client can send one.
    [413, isWrite],
    [414, true],
    [415, isWrite],
    [422, takesIdempotencyKey || method === 'post'],
    [429, true],
    [431, true],
    [500, true],
    [503, true],
  ]
  return statuses.flatMap(([status, isPossible]) => (isPossible ? [status] : []))
}

/** Describes `include` as a comma-separated list. */
function listInclude(parameter: Parameter): void {
  if (parameter.name !== 'include') return
  const { description = '' } = parameter
  if ((parameter.schema as { enum?: unknown }).enum !== undefined) return
  const names = description.replace(/^Comma-separated: |\.$/g, '').split(', ')
  const schema = { type: 'array', items: { type: 'string', enum: names } }
  Object.assign(parameter, { description, schema, style: 'form', explode: false, example: names.slice(0, 2) })
}

/** Removes the body of operations that take none. A body that can be null is optional. */
function correctBody(operation: Operation): void {
  const { requestBody } = operation
  const json = requestBody?.content['application/json']
  if (!requestBody || !json?.schema) return
  const [object] = json.schema.anyOf ?? [json.schema]
  if (Object.keys(object?.properties ?? {}).length === 0) delete operation.requestBody
  else {
    requestBody.required = object === json.schema
    json.schema = object!
  }
}
