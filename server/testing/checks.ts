import { onTestFinished } from 'vitest'
import type { NewMonitor } from '#contract/monitors.ts'
import { insertOrganization } from '../accounts/organizations.ts'
import { observeChecks } from '../checks/check-metrics.ts'
import { monitorLoader } from '../checks/load-monitor.ts'
import { recordChecks } from '../checks/record-checks.ts'
import { beginRound, claimRounds, finishRound } from '../checks/round-store.ts'
import { type CheckClaim, runCheck } from '../checks/run-check.ts'
import type { Clock } from '../clock.ts'
import { systemContext } from '../context.ts'
import type { Database } from '../database/database.ts'
import { createDnsClient } from '../dns/client.ts'
import { createNetworkCheck } from '../dns/network-check.ts'
import { listEvents } from '../events/store.ts'
import { createKeyring } from '../keyring.ts'
import { Metrics } from '../metrics/metrics.ts'
import { insertMonitors } from '../monitors/insert.ts'
import { INCLUDE_EVERYTHING, toMonitor } from '../monitors/monitor.ts'
import { parseMonitor } from '../monitors/parse-monitor.ts'
import { getMonitor } from '../monitors/store.ts'
import { type ClaimOptions, claimDue } from '../queue/lease-queue.ts'
import { RDATA_FORMATS } from '../record-types/record-types.ts'
import { type DnsServer, startDnsServer } from './dns-server.ts'
import { patientClock } from './patient-clock.ts'

const MINUTE_MS = 60_000

/** Claims the due checks, those of the queue and those of rounds. The rounds count as finished. */
export async function claimChecks(db: Database, options: ClaimOptions): Promise<CheckClaim[]> {
  const checks: CheckClaim[] = await claimDue(db, 'due_checks', options)
  for (const claim of await claimRounds(db, options)) {
    const round = await beginRound(db, claim, options.now)
    if (!round) continue
    checks.push(...round.checks)
    await finishRound(db, claim, round)
  }
  return checks
}

/** Monitors, real DNS servers and a canary name. The test advances the time from check to check. */
export async function givenChecks(
  db: Database,
  { resolvers = 1, canary }: { resolvers?: number; canary?: string } = {},
) {
  let now = Date.UTC(2026, 10, 21, 9, 30)
  let pausedMs = 0
  // Pauses end at once. The deadlines of network requests are real.
  const clock: Clock = {
    now: () => now,
    elapsed: () => now + pausedMs,
    sleep: async (ms) => {
      pausedMs += ms
    },
  }
  const servers: DnsServer[] = []
  for (let count = 0; count < resolvers; count++) servers.push(await startDnsServer())
  const addresses = servers.map(({ address }) => address)
  const dns = createDnsClient({
    formats: RDATA_FORMATS,
    servers: addresses,
    clock: patientClock,
    timeoutMs: 150,
    attempts: 2,
  })
  onTestFinished(async () => {
    await dns.close()
    for (const server of servers) await server.close()
  })
  const organization = await insertOrganization(db, { name: 'Test', email: 'a@example.com', passwordHash: '' }, now)
  const notices: string[] = []
  const notifications = { onOutage: () => notices.push('outage'), onRecovery: () => notices.push('recovery') }
  const networkCheck =
    canary === undefined ? undefined : createNetworkCheck({ dns, clock, canaries: [canary], ...notifications })
  const keyring = createKeyring('x'.repeat(32))
  const metrics = new Metrics()

  return {
    organizationId: organization.id,
    servers,
    metrics,
    /** The notices to the operator about the network of Zonewatch. */
    notices,
    /** Sets a record on every resolver. */
    set: (...record: Parameters<DnsServer['set']>) => {
      for (const server of servers) server.set(...record)
    },
    each: (change: (server: DnsServer) => void) => servers.forEach(change),
    async monitor(input: Partial<NewMonitor> & Pick<NewMonitor, 'record_type' | 'expected_value'>): Promise<string> {
      const parsed = parseMonitor({ full_domain: 'www.example.com', ...input })
      if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors))
      const [monitor] = await insertMonitors(db, systemContext(organization.id, now), [parsed.draft])
      return monitor!.id
    },
    /** Advances the time and runs the due checks once. Returns the number of new events. */
    async check({ afterMs = 6 * MINUTE_MS }: { afterMs?: number } = {}): Promise<number> {
      now += afterMs
      const { signal } = new AbortController()
      const load = monitorLoader(db, clock)
      const run = (claims: readonly CheckClaim[]) =>
        Promise.all(claims.map((claim) => runCheck(claim, { dns, clock, networkCheck }, load, signal)))
      const results = await run(await claimChecks(db, { now, process: 1, limit: 100 }))
      const events = await recordChecks(db, results, now)
      observeChecks(metrics, results, events)
      return events
    },
    read: async (id: string) =>
      toMonitor(await getMonitor(db, { organizationId: organization.id }, id), INCLUDE_EVERYTHING),
    events: async (id: string) =>
      (await listEvents(db, keyring, { organizationId: organization.id }, { monitor_id: id, limit: 100 })).data,
  }
}
