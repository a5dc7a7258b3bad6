import { pino } from 'pino'
import { expect, test } from 'vitest'
import { insertOrganization } from '../accounts/organizations.ts'
import { systemContext } from '../context.ts'
import { insertEach } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import type { DnsClient } from '../dns/client.ts'
import { LoopHealth } from '../loop-health.ts'
import { insertMonitors } from '../monitors/insert.ts'
import { parseMonitor } from '../monitors/parse-monitor.ts'
import { createWakeUps } from '../queue/wake-up.ts'
import { onBothEngines } from '../testing/database.ts'
import { createManualClock, type ManualClock } from '../testing/manual-clock.ts'
import { MAX_FAST_IN_FLIGHT, MAX_IN_FLIGHT, SLOW_AFTER_MS } from './in-flight.ts'
import { runQueuedChecks } from './queued-checks.ts'

const WAITING = 12_000
/** What one claim may add to the share of an organization. */
const CLAIM = 500

/** One organization with first checks at servers that never answer, in a loop whose clock the test advances. */
async function givenSilentServers(db: Database) {
  const clock = createManualClock()
  const organization = async (name: string) =>
    (await insertOrganization(db, { name, email: `${name}@example.com`, passwordHash: '' }, clock.now())).id
  const [attacker, other] = [await organization('attacker'), await organization('other')]
  await insertSilent(db, clock, attacker)
  const begun = { attacker: 0, other: 0 }
  const waiting: { what: (begun: { attacker: number; other: number }) => boolean; resolve: () => void }[] = []
  const abandon = new AbortController()
  const query: DnsClient['query'] = (_question, options) => {
    begun[options?.group === other ? 'other' : 'attacker']++
    for (const { what, resolve } of waiting) if (what(begun)) resolve()
    return new Promise((_, reject) => abandon.signal.addEventListener('abort', () => reject(abandon.signal.reason)))
  }
  const dns: DnsClient = { servers: [], query, statuses: () => [], close: async () => {} }
  const stop = new AbortController()
  const wakeUps = createWakeUps()
  const log = pino({ level: 'silent' })
  const deps = { db, clock, dns, log, wakeUps, loopHealth: new LoopHealth(), process: 7 }
  const running = runQueuedChecks(deps, { stop: stop.signal, abandon: abandon.signal })
  return {
    clock,
    begun,
    async create(name: string) {
      const parsed = parseMonitor({ full_domain: name, record_type: 'A', expected_value: '192.0.2.1' })
      if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors))
      await insertMonitors(db, systemContext(other, clock.now()), [parsed.draft])
      wakeUps.checks.send()
    },
    begin: (what: (begun: { attacker: number; other: number }) => boolean) =>
      new Promise<void>((resolve) => (what(begun) ? resolve() : void waiting.push({ what, resolve }))),
    async end() {
      stop.abort()
      abandon.abort(new Error('the test is over'))
      await running
    },
  }
}

/** Their rows in the queue, which is all that a check reads before it has an answer. */
async function insertSilent(db: Database, clock: ManualClock, organization_id: string): Promise<void> {
  const rows = Array.from({ length: WAITING }, (_, slot) => ({
    ...{ slot, monitor_id: `mon_${slot}`, organization_id, due_at: clock.now() - 1, owner: `n${slot}.silent.example` },
    ...{ record_type: 'A', is_exact_match: 1 as const, frequency: 5 },
  }))
  const columns = {
    ...({ slot: 'bigint', monitor_id: 'text', organization_id: 'text', due_at: 'bigint', owner: 'text' } as const),
    ...({ record_type: 'text', is_exact_match: 'bigint', frequency: 'bigint' } as const),
  }
  await insertEach(db, 'due_checks', columns, rows)
}

onBothEngines('first checks of several organizations', (fresh) => {
  test('12,000 checks at silent servers delay no first check of another organization, at no time', async () => {
    const { clock, begun, begin, create, end } = await givenSilentServers(await fresh())
    let inProgress = MAX_FAST_IN_FLIGHT / 2
    await begin(({ attacker }) => attacker >= inProgress)
    await create('www0.other.example')
    await begin(({ other }) => other === 1) // and no time has passed
    expect(begun.attacker).toBeLessThan(inProgress + CLAIM)

    for (let second = 1; second <= 8; second++) {
      inProgress = begun.attacker
      clock.moveTo(clock.now() + SLOW_AFTER_MS)
      await create(`www${second}.other.example`)
      await begin(({ other }) => other === second + 1)
      expect(begun.attacker).toBeLessThan(inProgress + MAX_FAST_IN_FLIGHT / 2 + CLAIM)
    }
    expect(begun.attacker).toBeLessThan(MAX_IN_FLIGHT / 2 + CLAIM)
    await end()
  })
})
