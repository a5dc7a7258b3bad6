/**
 * The values of `X-Error-Code`: a stable code for each kind of error. Codes are in a header because the body of an error has exactly
 * the fields of the specification.
 */
export const ERROR_CODES = {
  invalid_request: '400. Fields are invalid. `errors` names them, and `X-Error-Fields` has a code for each.',
  invalid_json: '400. The body is not JSON.',
  unauthorized: '401. The API key or session is missing, unknown, revoked or expired.',
  plan_limit_reached: '402. The limit of the plan is reached. `error` says which one.',
  forbidden: '403. The role of the key or agent does not allow this.',
  not_found: '404. The resource does not exist in this organization.',
  method_not_allowed: '405. `Allow` lists the methods of the path.',
  request_timeout: '408. The request was not complete in time.',
  conflict: '409. The state of the resource does not allow this. `error` says why.',
  limit_reached:
    '400 or 409. A fixed limit is reached. `error` or `errors` says which one. Not stored for an `Idempotency-Key`.',
  slug_taken: '409. Another group or organization has this slug.',
  external_id_taken: '409. Another monitor, or another group, has this external id.',
  default_group: '409. The default group cannot be deleted.',
  last_owner: '409. An organization needs an owner.',
  monitor_disabled: '409. The monitor is disabled. Enable it first.',
  idempotency_key_in_use: '409. The first request with this `Idempotency-Key` is still running.',
  version_mismatch: '412. The resource has changed since the `ETag` in `If-Match` was read.',
  body_too_large: '413. The body is too large.',
  uri_too_long: '414. The URL is too long.',
  unsupported_media_type: '415. Send `application/json` without compression.',
  unsupported_expectation: '417. `Expect` takes only `100-continue`.',
  idempotency_key_reused: '422. This `Idempotency-Key` belongs to another request.',
  rate_limited: '429. Wait for `Retry-After` seconds.',
  headers_too_large: '431. The request headers are too large.',
  internal_error: '500. An internal error. Report the `request_id`.',
  unavailable:
    '503. The server is starting or stopping, or its database is unavailable. Try again after `Retry-After`.',
} as const
export type ErrorCode = keyof typeof ERROR_CODES
