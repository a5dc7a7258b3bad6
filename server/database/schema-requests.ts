import type { ColumnType } from 'kysely'

type Once<T> = ColumnType<T, T, never>

/** One row for each counted request, numbered within its bucket, so that two processes cannot count the same place twice. */
export type RateLogTable = {
  /** An API key or a client address, and the class of request. */
  bucket: Once<string>
  number: Once<number>
  counted_at: Once<number>
}

/** A POST that carried an `Idempotency-Key` and its answer, written in the transaction of what it changed. */
export type IdempotentRequestsTable = {
  organization_id: Once<string>
  /** Whose key it is: the organization's id, of people the agent's. The version before wrote the API key's id. */
  key_id: Once<string>
  /** SHA-256 of the caller's `Idempotency-Key`. */
  name: Once<string>
  /** SHA-256 of path, body and role. */
  fingerprint: string
  created_at: number
  /** Only the version before wrote it, while a request was running. */
  leased_until: number
  /** Null where the request works in steps and is not done. */
  status: number | null
  headers: string | null
  /** Sealed, because answers can hold secrets; null without a body, or when it was too large to keep. */
  body: Buffer | null
  /** JSON, sealed: what to answer from where the body is not kept, or how far the steps came. */
  made: Buffer | null
  /** What the row takes, as `idempotency_usage` counts it. */
  octets: number
}

/** What the answers that are kept for an organization take together. */
export type IdempotencyUsageTable = {
  organization_id: Once<string>
  octets: number
}
