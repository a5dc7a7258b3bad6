import { type Static, Type } from 'typebox'
import { Nullable, StrictObject } from './common.ts'

/** Counts of the backlog stop here, so this number means this many or more. */
export const MAX_COUNTED_BACKLOG = 10_000

/**
 * `ok`: a canary name resolves, and a name below it that is in no cache is answered. `captive_portal`: the canary names resolve to the same as a name that cannot exist, as in a network
 * with a login page, so no answer counts. `offline`: none does, so failures and denials do not count.
 */
export const NETWORK_STATES = ['ok', 'captive_portal', 'offline'] as const
export type NetworkState = (typeof NETWORK_STATES)[number]

const Instant = Type.String()
const Bytes = Type.Integer()
const Ms = Type.Number()

/** `GET /dashboard/api/server`, for operators. */
export const ServerStatus = StrictObject({
  version: Type.String(),
  node: Type.String(),
  at: Instant,
  /** Processes that share the database, newest first. `alive`: reported within 8 seconds. */
  instances: Type.Array(
    StrictObject({
      id: Type.Integer(),
      machine: Type.String(),
      pid: Type.Integer(),
      alive: Type.Boolean(),
      roles: Type.Array(Type.String()),
      version: Nullable(Type.String()),
      started_at: Instant,
      seen_at: Instant,
      /** The result of the canary names; null if there are none. */
      network: Nullable(Type.Enum(NETWORK_STATES)),
      memory: Nullable(Bytes),
      /** In the last minute, as is `most_late_ms`. */
      checks: Type.Integer(),
      most_late_ms: Nullable(Ms),
    }),
  ),
  checks: StrictObject({ due: Type.Integer(), overdue: Type.Integer(), oldest_ms: Ms }),
  deliveries: StrictObject({
    due_webhooks: Type.Integer(),
    pending: Type.Integer(),
    paused_webhooks: Type.Integer(),
    oldest_ms: Ms,
  }),
  alerts: StrictObject({ due: Type.Integer(), oldest_ms: Ms }),
  mails: StrictObject({ pending: Type.Integer(), oldest_ms: Ms }),
  /** All instances in the last minute. `failed`: without a readable response. */
  upstreams: Type.Array(
    StrictObject({
      address: Type.String(),
      queries: Type.Integer(),
      failed: Type.Integer(),
      average_ms: Nullable(Ms),
      /** The number of instances that query it last, because it failed too often. */
      set_aside: Type.Integer(),
      /** Asked every hour; null until then. `validates`: DNSSEC. Null in it: it did not answer. */
      traits: Nullable(
        StrictObject({
          validates: Nullable(Type.Boolean()),
          rewrites_nxdomain: Nullable(Type.Boolean()),
          observed_at: Instant,
        }),
      ),
      /** When it last said that its answer had expired (RFC 8767). */
      stale_at: Nullable(Instant),
    }),
  ),
  database: StrictObject({
    engine: Type.Enum(['sqlite', 'postgres']),
    octets: Bytes,
    /** The size of SQLite's write-ahead log. */
    log: Nullable(Bytes),
    /** One for each day, oldest first. */
    sizes: Type.Array(StrictObject({ at: Instant, octets: Bytes })),
  }),
  /** The last backup; null if there was none. */
  backup: Nullable(
    StrictObject({
      tried_at: Instant,
      error: Nullable(Type.String()),
      made_at: Nullable(Instant),
      octets: Nullable(Bytes),
    }),
  ),
  /** The settings of the process that responds. Secrets are hidden. */
  settings: Type.Array(
    StrictObject({ name: Type.String(), value: Type.String(), is_default: Type.Boolean(), about: Type.String() }),
  ),
})
export type ServerStatus = Static<typeof ServerStatus>
