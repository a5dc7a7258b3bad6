import type { ServerStatus } from '#contract/server.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { findLastBackup } from '../backup/last-backup.ts'
import { isFile } from '../database/dialect.ts'

import type { Deps } from '../deps.ts'
import { toIso, toIsoOrNull } from '../times.ts'
import { readBacklog } from './backlog.ts'
import { readDatabaseSize, readSizes } from './database-size.ts'
import { type Instance, isInstanceAlive, readInstances } from './instances.ts'

/** The state of all nodes, and the settings of this one. The cost does not depend on the number of monitors. */
export async function readServerStatus({
  db,
  clock,
  config,
}: Pick<Deps, 'db' | 'clock' | 'config'>): Promise<ServerStatus> {
  const now = clock.now()
  const instances = await readInstances(db)
  const backlog = await readBacklog(db, now)
  const size = await readDatabaseSize(db, config.databaseUrl)
  const sizes = await readSizes(db)
  const alive = instances.filter((instance) => isInstanceAlive(instance, now))
  return {
    version: packageJson.version,
    node: process.versions.node,
    at: toIso(now),
    instances: instances.map((instance) => toInstance(instance, now)),
    checks: { due: backlog.due_checks, overdue: backlog.overdue_checks, oldest_ms: backlog.check_age },
    deliveries: {
      due_webhooks: backlog.due_webhooks,
      pending: backlog.pending_requests,
      paused_webhooks: backlog.paused_webhooks,
      oldest_ms: backlog.webhook_age,
    },
    alerts: { due: backlog.due_alerts, oldest_ms: backlog.alert_age },
    mails: { pending: backlog.pending_mails, oldest_ms: backlog.mail_age },
    upstreams: upstreamsOf(alive),
    database: {
      engine: isFile(db) ? 'sqlite' : 'postgres',
      octets: size.bytes,
      log: size.walBytes,
      sizes: sizes.map(({ measured_at, octets }) => ({ at: toIso(measured_at), octets })),
    },
    backup: await findBackup(db),
    settings: config.lines.map(({ isDefault, ...line }) => ({ ...line, is_default: isDefault })),
  }
}

function toInstance(instance: Instance, now: number): ServerStatus['instances'][number] {
  const { id, machine, pid, network, report } = instance
  return {
    id,
    machine,
    pid,
    alive: isInstanceAlive(instance, now),
    roles: report?.roles ?? [],
    version: report?.version ?? null,
    started_at: toIso(instance.started_at),
    seen_at: toIso(instance.seen_at),
    network,
    memory: report?.memory ?? null,
    checks: report?.checks.count ?? 0,
    most_late_ms: report && report.checks.count > 0 ? report.checks.most_late_ms : null,
  }
}

const NO_QUERIES = { queries: 0, failed: 0, average_ms: null, set_aside: 0, ms: 0, traits: null, stale_at: null }

/** Sums the reports of the instances, each of which has its own DNS_SERVERS. */
function upstreamsOf(instances: readonly Instance[]): ServerStatus['upstreams'] {
  const byAddress = new Map<string, ServerStatus['upstreams'][number] & { ms: number }>()
  for (const { report } of instances) {
    for (const { address, queries, failed, average_ms, set_aside, traits, stale_at } of report?.upstreams ?? []) {
      const sum = byAddress.get(address) ?? { address, ...NO_QUERIES }
      sum.queries += queries
      sum.failed += failed
      sum.ms += queries * (average_ms ?? 0)
      sum.set_aside += set_aside ? 1 : 0
      // Other machines may have another resolver at this address. The newest report counts.
      const observedAt = traits && toIso(traits.observed_at)
      if (observedAt && observedAt > (sum.traits?.observed_at ?? ''))
        sum.traits = { ...traits, observed_at: observedAt }
      const staleAt = toIsoOrNull(stale_at ?? null)
      if (staleAt && staleAt > (sum.stale_at ?? '')) sum.stale_at = staleAt
      byAddress.set(address, sum)
    }
  }
  return [...byAddress.values()].map(({ ms, ...sum }) => ({
    ...sum,
    average_ms: sum.queries === 0 ? null : Math.round((ms / sum.queries) * 10) / 10,
  }))
}

async function findBackup(db: Deps['db']): Promise<ServerStatus['backup']> {
  const last = await findLastBackup(db)
  if (!last) return null
  const { triedAt, error, made } = last
  return { tried_at: toIso(triedAt), error, made_at: toIsoOrNull(made?.at ?? null), octets: made?.bytes ?? null }
}
