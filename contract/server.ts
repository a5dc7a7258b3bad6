import { type Static, Type } from 'typebox'
import { Nullable, StrictObject } from './common.ts'

/** Counts of the backlog stop here: this number stands for that many or more. */
export const BACKLOG_COUNTED = 10_000

const Instant = Type.String()
const Octets = Type.Integer()
const Ms = Type.Number()

/** `GET /dashboard/api/server`, for operators. */
export const ServerStatus = StrictObject({
  version: Type.String(),
  node: Type.String(),
  at: Instant,
  /** Processes that share the database, newest first. `alive`: seen within 8 seconds. */
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
      /** Of the canary names; null without any. */
      network: Nullable(Type.Enum(['well', 'captive', 'gone'])),
      memory: Nullable(Octets),
      /** Of the last minute. */
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
  /** The last minute of all instances. `failed`: without a readable response. */
  upstreams: Type.Array(
    StrictObject({
      address: Type.String(),
      queries: Type.Integer(),
      failed: Type.Integer(),
      average_ms: Nullable(Ms),
      /** On how many instances it is queried last because it keeps failing. */
      set_aside: Type.Integer(),
    }),
  ),
  database: StrictObject({
    engine: Type.Enum(['sqlite', 'postgres']),
    octets: Octets,
    /** SQLite's write-ahead log. */
    log: Nullable(Octets),
    /** One a day, oldest first. */
    sizes: Type.Array(StrictObject({ at: Instant, octets: Octets })),
  }),
  /** Null: none was ever tried. */
  backup: Nullable(
    StrictObject({
      tried_at: Instant,
      error: Nullable(Type.String()),
      made_at: Nullable(Instant),
      octets: Nullable(Octets),
    }),
  ),
  /** Of the process that answers; values of secrets are hidden. */
  settings: Type.Array(
    StrictObject({ name: Type.String(), value: Type.String(), is_default: Type.Boolean(), about: Type.String() }),
  ),
})
export type ServerStatus = Static<typeof ServerStatus>
