import type { ColumnType } from 'kysely'

type Once<T> = ColumnType<T, T, never>

/** One row for each counted request, numbered within its bucket, so that two processes cannot count the same place twice. */
export type RateLogTable = {
  /** An API key or a client address, and the class of request. */
  bucket: Once<string>
  number: Once<number>
  counted_at: Once<number>
}

/** A POST that carried an `Idempotency-Key`: reserved while it runs, then its answer. */
export type IdempotentRequestsTable = {
  organization_id: Once<string>
  /** The API key's id: an answer is given only to the key that it was made for. */
  key_id: Once<string>
  /** SHA-256 of the caller's `Idempotency-Key`. */
  name: Once<string>
  /** SHA-256 of path and body. */
  fingerprint: string
  created_at: number
  /** Until then the request is taken to be running; a process that died does not hold it for ever. */
  leased_until: number
  /** Null while it runs. */
  status: number | null
  headers: string | null
  /** Sealed, because answers can hold secrets; null without a body, or when it was too large to keep. */
  body: Buffer | null
}
