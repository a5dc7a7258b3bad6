import { ErrorBody } from '#contract/common.ts'
import { failures, type HeaderName, headerRefs, headers, parameters, responses, securitySchemes } from './components.ts'
import { webhooks } from './deliveries.ts'
import { errorStatusesOf, type Shape } from './failures.ts'
import { hoistTitled } from './hoist.ts'

/** The parts of a document and of an operation that are looked at or changed here. */
export type Operation = {
  operationId?: string
  summary?: string
  description?: string
  tags?: string[]
  /** Empty: no key is needed. */
  security?: unknown[]
  parameters?: Parameter[]
  'x-takes-if-match'?: boolean
  'x-writes-nothing'?: boolean
  'x-takes-idempotency-key'?: boolean
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

/** What the route schemas do not say, the same for every route: shared headers, conditions and errors. */
export function complete(document: Document): Document {
  const versioned = versionedTitles(document)
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      if (operation.security) completeOpen(operation)
      else completeOperation(method, path, operation, versioned)
    }
  }
  const schemas = hoistTitled(document.paths)
  document.webhooks = webhooks
  document.components = {
    ...document.components,
    schemas: { ...document.components.schemas, ...schemas, Error: plain(ErrorBody) },
    responses,
    headers,
    parameters,
    securitySchemes,
  }
  return document
}

/** The titles of what is changed or deleted with `If-Match`: resources that carry an ETag in whichever answer they come. */
function versionedTitles({ paths }: Document): Set<string | undefined> {
  const isVersioned = (path: Record<string, Operation>) =>
    Object.values(path).some((operation) => operation['x-takes-if-match'])
  const operations = Object.values(paths)
    .filter(isVersioned)
    .flatMap((path) => path.get ?? [])
  return new Set(
    operations.flatMap(({ responses }) => responses['200']?.content?.['application/json']?.schema?.title ?? []),
  )
}

/** An operation that needs no key, and describes its answers itself. */
function completeOpen(operation: Operation): void {
  delete operation['x-takes-if-match']
  delete operation['x-writes-nothing']
  delete operation['x-takes-idempotency-key']
  for (const [status, response] of Object.entries(operation.responses)) {
    response.headers = headerRefs(status === '503' ? ['Retry-After'] : [])
  }
  for (const status of [400, 405, 414, 431, 500, 503]) {
    operation.responses[status] ??= { $ref: `#/components/responses/${failures[status]!.name}` } as never
  }
}

function completeOperation(
  method: string,
  path: string,
  operation: Operation,
  versioned: Set<string | undefined>,
): void {
  correctBody(operation)
  for (const parameter of operation.parameters ?? []) listInclude(parameter)
  const answers = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'))
  const schema = answers[0]?.[1].content?.['application/json']?.schema
  const answersPage = 'has_more' in (schema?.properties ?? {})
  const answersOne = schema?.type === 'object' && !answersPage
  if (answersPage) {
    operation.description ??= 'Returns one page in the requested order. An item must match all filters.'
    operation.description += ' Returns 304 if the page is the one that the ETag in If-None-Match belongs to.'
  }
  if (answersOne && method === 'get') operation.description ??= 'Returns 304 if the ETag in If-None-Match is current.'

  const { 'x-takes-if-match': takesIfMatch, 'x-writes-nothing': writesNothing } = operation
  const isRepeatable = (method === 'post' && !writesNothing) || operation['x-takes-idempotency-key'] === true
  delete operation['x-takes-if-match']
  delete operation['x-writes-nothing']
  delete operation['x-takes-idempotency-key']
  const isRead = method === 'get' && (answersOne || answersPage)
  const conditions = { IfMatch: takesIfMatch, IfNoneMatch: isRead, IdempotencyKey: isRepeatable }
  for (const [name, isTaken] of Object.entries(conditions)) {
    if (isTaken) operation.parameters = [...(operation.parameters ?? []), { $ref: `#/components/parameters/${name}` }]
  }
  for (const answer of answers) {
    if (answer[1].description === 'Default Response') answer[1].description = 'Success.'
    const tagged = isRead || (answersOne && versioned.has(schema.title))
    const more: [HeaderName, boolean][] = [
      ['Location', answer[0] === '201' && answersOne],
      ['ETag', tagged],
      ['Idempotent-Replayed', isRepeatable],
    ]
    answer[1].headers = headerRefs(more.flatMap(([name, isSent]) => (isSent ? [name] : [])))
    if (tagged && method === 'get') {
      operation.responses['304'] = { description: 'Nothing changed.', headers: headerRefs(['ETag']) }
    }
  }
  completeFailures(operation, { method, path, isRepeatable, takesIfMatch: takesIfMatch === true })
}

function completeFailures(operation: Operation, shape: Shape): void {
  for (const status of ['4XX', '5XX']) delete operation.responses[status]
  for (const status of errorStatusesOf(shape)) {
    const failure = failures[status]
    if (failure) operation.responses[status] = { $ref: `#/components/responses/${failure.name}` } as never
  }
}

/** Several values, separated by commas. */
function listInclude(parameter: Parameter): void {
  if (parameter.name !== 'include') return
  const { description = '' } = parameter
  if ((parameter.schema as { enum?: unknown }).enum !== undefined) return
  const names = description.replace(/^Comma-separated: |\.$/g, '').split(', ')
  const schema = { type: 'array', items: { type: 'string', enum: names } }
  Object.assign(parameter, { description, schema, style: 'form', explode: false, example: names.slice(0, 2) })
}

/** A route that takes no body refuses one with fields; the document shows none. A body that may be null can be left out. */
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

/** Schemas are made with hidden properties that are no part of the document. */
const plain = (schema: unknown): unknown => JSON.parse(JSON.stringify(schema))
