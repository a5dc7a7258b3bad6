import type { ErrorBody } from '#contract/common.ts'
import { ERROR_CODES } from '#contract/error-codes.ts'
import { FIELD_ERRORS } from '#contract/field-errors.ts'

const integer = (description: string) => ({ description, schema: { type: 'integer' } })
const text = (description: string) => ({ description, schema: { type: 'string' } })

const listOf = (codes: Record<string, string>) =>
  Object.entries(codes)
    .map(([code, about]) => `- \`${code}\`: ${about}`)
    .join('\n')
const FIELD_ABOUT = Object.fromEntries(Object.entries(FIELD_ERRORS).map(([code, { about }]) => [code, about]))
const codeList = (description: string, codes: Record<string, string>) => ({
  description: `${description}\n\n${listOf(codes)}`,
  schema: { type: 'string', enum: Object.keys(codes) },
})

export const headers = {
  'X-Request-Id': text('The id of this request. The one that the client sent, or a generated one.'),
  'X-RateLimit-Limit': integer('Requests per minute; 2147483647 where there is no limit.'),
  'X-RateLimit-Remaining': integer('Requests left in the window.'),
  'X-RateLimit-Reset': integer('Unix time in seconds at which the oldest counted request leaves the window.'),
  'Retry-After': integer('Seconds to wait.'),
  'X-Error-Code': codeList('A stable code for the error.', ERROR_CODES),
  'X-Error-Fields': text(
    `A code with parameters for each invalid field, as a dictionary of RFC 9651: \`frequency=out_of_range;min=5;max=120\`. It lists at most 50 fields, and only those with plain names. Codes:\n\n${listOf(FIELD_ABOUT)}`,
  ),
  Allow: text('The allowed methods.'),
  Location: text('The URL of the new resource.'),
  ETag: text('The version of this representation, for If-None-Match and If-Match.'),
  'WWW-Authenticate': text('How to send a key: `ApiKey realm="zonewatch", header="X-Api-Key"`.'),
  'Idempotent-Replayed': text(
    '`true` if this is the stored response to an earlier request with the same Idempotency-Key.',
  ),
}
export type HeaderName = keyof typeof headers

const header = (name: string, description: string, maxLength: number) => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: { type: 'string', maxLength },
})

export const parameters = {
  MetadataFilter: {
    name: 'metadata',
    in: 'query',
    required: false,
    style: 'deepObject',
    explode: true,
    description:
      'Only objects whose metadata has these values: `metadata[plan]=big`. `metadata.plan=big` means the same.',
    schema: { type: 'object', additionalProperties: { type: 'string', maxLength: 255 } },
  },
  IdempotencyKey: header(
    'Idempotency-Key',
    'A unique text of 1 to 255 visible ASCII characters for each operation. A repeated request with the same key returns the first response, for 24 hours.',
    255,
  ),
  IfMatch: header('If-Match', 'The ETag that you read. Returns 412 if the resource has changed since.', 4_096),
  IfNoneMatch: header('If-None-Match', 'The ETag that you know. Returns 304 if the resource has not changed.', 4_096),
}

export const securitySchemes = {
  ApiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Api-Key',
    description: 'An API key: `zw_` followed by 43 letters and digits. A key with the role `read` can only read.',
  },
} as const

type ErrorResponse = {
  name: string
  description: string
  headers?: HeaderName[]
  /** A body, without `code`. */
  example: Omit<ErrorBody, 'code'>
}

export const errorResponses: Record<number, ErrorResponse> = {
  400: {
    name: 'BadRequest',
    description: 'The input is invalid. `errors` has a message for each wrong field.',
    example: {
      error: 'The request is invalid. See errors.',
      errors: { frequency: 'must be from 5 to 120, not 1.' },
    },
  },
  401: {
    name: 'Unauthorized',
    description: 'The API key is missing, unknown, revoked or expired.',
    headers: ['WWW-Authenticate'],
    example: { error: 'Unauthorized' },
  },
  402: {
    name: 'PaymentRequired',
    description: "The plan's limit is reached.",
    example: {
      error:
        'Plan limit reached: 10 of 10 monitors are in use on the plan Small, and this request adds 1. Delete monitors or change the plan.',
    },
  },
  403: {
    name: 'Forbidden',
    description: "The key's role does not allow this.",
    example: { error: 'This API key is read-only. Use a key with the role write or admin.' },
  },
  404: {
    name: 'NotFound',
    description: 'There is no such resource in this organization.',
    example: { error: 'Not found' },
  },
  405: {
    name: 'MethodNotAllowed',
    description: 'The path does not support this method.',
    headers: ['Allow'],
    example: { error: 'GET is not allowed here. Use POST.' },
  },
  409: {
    name: 'Conflict',
    description:
      'The state of the resource does not allow this. `error` says why. Has Retry-After while the first request with the same Idempotency-Key is still running.',
    headers: ['Retry-After'],
    example: { error: 'The default group cannot be deleted.' },
  },
  412: {
    name: 'PreconditionFailed',
    description: 'The resource has changed since you read the ETag in If-Match.',
    example: {
      error:
        'The resource has changed since you read it, or the ETag in If-Match is not one of its own. Read it again, then retry.',
    },
  },
  413: {
    name: 'ContentTooLarge',
    description: 'The body is too large.',
    example: { error: 'The request body is too large. The limit is 1 MiB, and 16 MiB for bulk requests.' },
  },
  414: {
    name: 'UriTooLong',
    description: 'The URL is too long.',
    example: { error: 'The URL is too long.' },
  },
  415: {
    name: 'UnsupportedMediaType',
    description: 'The body is not sent as application/json.',
    example: { error: 'Send JSON, with the header Content-Type: application/json.' },
  },
  422: {
    name: 'UnprocessableContent',
    description: 'The Idempotency-Key belongs to another request.',
    example: {
      error: 'This Idempotency-Key was used for another request. Use a new key.',
      errors: {
        'Idempotency-Key':
          'was used with another path, another body or by a caller with another role within the last 24 hours.',
      },
    },
  },
  429: {
    name: 'TooManyRequests',
    description: 'The rate limit is reached. Wait for Retry-After.',
    headers: ['Retry-After'],
    example: {
      error:
        'The rate limit for reads (GET, HEAD) is reached: 600 per minute for each API key. The operator of the server can raise READ_LIMIT. Try again in 12 seconds.',
    },
  },
  431: {
    name: 'RequestHeaderFieldsTooLarge',
    description: 'The headers are too large.',
    example: { error: 'The request headers are too large.' },
  },
  500: {
    name: 'InternalServerError',
    description: 'An error of the server. `request_id` identifies it in the log.',
    example: {
      error: 'Internal server error. Report the request_id to the operator of the server.',
      request_id: '8f14e45f-ceea-467f-9a3e-1c2d3b4a5968',
    },
  },
  503: {
    name: 'ServiceUnavailable',
    description: 'The server is starting or stopping, or its database is unavailable.',
    headers: ['Retry-After'],
    example: { error: 'The server is starting. Try again in 2 seconds.' },
  },
}

const ALWAYS: HeaderName[] = ['X-Request-Id', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']

export const headerRefs = (more: HeaderName[] = []) =>
  Object.fromEntries([...ALWAYS, ...more].map((name) => [name, { $ref: `#/components/headers/${name}` }]))

export const responses = Object.fromEntries(
  Object.entries(errorResponses).map(([status, { name, description, headers, example }]) => [
    name,
    {
      description,
      headers: headerRefs([
        'X-Error-Code',
        ...('errors' in example ? (['X-Error-Fields'] as const) : []),
        ...(headers ?? []),
      ]),
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/Error' },
          example: { code: Number(status), ...example },
        },
      },
    },
  ]),
)
