import { expect, onTestFinished, test } from 'vitest'
import { insertOrganization } from '../accounts/organizations.ts'
import { systemContext } from '../context.ts'
import type { DnsClient } from '../dns/client.ts'
import { createAuthoritativeClient } from '../dns/resolver/authoritative-client.ts'
import { insertMonitors } from '../monitors/insert.ts'
import { parseMonitor } from '../monitors/parse-monitor.ts'
import { claimDue } from '../queue/lease-queue.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenDnsClient, givenDnsServer } from '../testing/dns.ts'
import { startDnsTree } from '../testing/dns-server-tree.ts'
import { patientClock } from '../testing/patient-clock.ts'
import { monitorLoader } from './load-monitor.ts'
import { runCheck } from './run-check.ts'

onBothEngines('turns of organizations', (fresh) => {
  test('all queries of a check wait in the turn of its organization, at resolvers and at name servers', async () => {
    const db = await fresh()
    const tree = await startDnsTree()
    onTestFinished(() => tree.close())
    const [tld] = await tree.zone('test', ['a.nic.test'])
    const [zone] = await tree.zone('example.test', ['ns1.example.test'], [tld!])
    const resolver = await givenDnsServer()
    zone!.set('www.example.test', 'A', ['192.0.2.1'])
    resolver.set('www.example.test', 'A', ['192.0.2.9'])
    const groups: Record<'resolver' | 'authoritative', (string | undefined)[]> = { resolver: [], authoritative: [] }
    const recording = (kind: keyof typeof groups, client: DnsClient): DnsClient => ({
      ...client,
      query(question, options) {
        // The queries for the root servers are the server's own.
        if (question.name !== '') groups[kind].push(options?.group)
        return client.query(question, options)
      },
    })
    const dns = recording('resolver', givenDnsClient([resolver]))
    const authoritativeDns = recording('authoritative', givenDnsClient([]))
    const authoritativeClient = createAuthoritativeClient({
      ...{ dns: authoritativeDns, clock: patientClock, roots: [tree.root.address] },
    })
    const now = patientClock.now()
    const { id } = await insertOrganization(db, { name: 'Test', email: 'a@example.com', passwordHash: '' }, now)
    const parsed = parseMonitor({ full_domain: 'www.example.test', record_type: 'A', expected_value: '192.0.2.1' })
    if (!parsed.ok) throw new Error('The monitor is invalid.')
    await insertMonitors(db, systemContext(id, now), [parsed.draft])
    const [claim] = await claimDue(db, 'due_checks', { now: now + 60_000, process: 1, limit: 1 })
    const deps = { dns, clock: patientClock, authoritativeClient }

    await runCheck(claim!, deps, monitorLoader(db, patientClock), new AbortController().signal)

    expect(groups.resolver.length).toBeGreaterThan(0)
    expect(groups.authoritative.length).toBeGreaterThan(1)
    expect(new Set([...groups.resolver, ...groups.authoritative])).toEqual(new Set([id]))
  })
})
