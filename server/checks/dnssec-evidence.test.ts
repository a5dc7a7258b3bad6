import { expect, onTestFinished, test } from 'vitest'
import { adviceFor } from '#contract/advice.ts'
import { shownWarning } from '#contract/warnings.ts'
import { createChainOfTrust } from '../dns/dnssec/chain-of-trust.ts'
import { createServerValidator } from '../dns/dnssec/server-validator.ts'
import { createAuthoritativeClient } from '../dns/resolver/authoritative-client.ts'
import { recordTypeOf } from '../record-types/record-types.ts'
import { givenDnsClient } from '../testing/dns.ts'
import { startDnsTree } from '../testing/dns-server-tree.ts'
import { patientClock } from '../testing/patient-clock.ts'
import type { Response } from '../testing/signed-zone.ts'
import { createZoneSigner, dsValue, serveSigned } from '../testing/zone-signer.ts'
import { checkOnce } from './run-check.ts'
import { evaluate } from './verdict.ts'

const ZONE = 'example.com'
const signer = createZoneSigner(ZONE)
const wires = (records: readonly { wire: Buffer }[]) => records.map(({ wire }) => wire)
const KEYS: Response = { question: [ZONE, 'DNSKEY'], answer: wires(signer.keys()) }
const A = 'www.example.com. 300 IN A 192.0.2.1'
const VALID: Response = { question: ['www.example.com', 'A'], answer: wires(signer.signRrset(A)) }
const EXPIRED = { ...VALID, answer: wires(signer.signRrset(A, { from: '20260101000000', until: '20260201000000' })) }
const UNSIGNED = { ...VALID, answer: VALID.answer!.slice(0, 1) }

/** Does not wait. */
function pausedClock() {
  let pausedMs = 0
  return {
    ...patientClock,
    elapsed: () => patientClock.elapsed() + pausedMs,
    sleep: async (ms: number) => {
      pausedMs += ms
    },
  }
}

/** A resolver that refuses the answers of four servers, of which two have expired signatures. */
async function givenBogusZone() {
  const tree = await startDnsTree()
  onTestFinished(() => tree.close())
  const parents = await tree.zone('com', ['a.nic.com'])
  const servers = await tree.zone(
    ZONE,
    ['ns1', 'ns2', 'ns3', 'ns4'].map((name) => `${name}.example.com`),
    parents,
  )
  parents[0]!.set(ZONE, 'DS', [dsValue(signer.ds)])
  for (const [index, answer] of [VALID, EXPIRED, EXPIRED, UNSIGNED].entries())
    serveSigned(servers[index]!, [KEYS, answer])
  const resolver = await tree.server()
  resolver.set('www.example.com', 'A', ['192.0.2.1'])
  resolver.validate('www.example.com', { code: 6, text: '' })
  const clock = pausedClock()
  const authoritativeDns = givenDnsClient([])
  const roots = [tree.root.address]
  const authoritativeClient = createAuthoritativeClient({ dns: authoritativeDns, clock: patientClock, roots })
  const common = { sender: authoritativeDns, clock: patientClock }
  const chainOfTrust = createChainOfTrust({ ...common, authoritativeClient, anchors: [] })
  const deps = { ...common, chainOfTrust, port: roots[0]!.port }
  return { dns: givenDnsClient([resolver]), clock, authoritativeClient, serverValidator: createServerValidator(deps) }
}

test('the diagnosis of a failed validation names the cause and the servers', async () => {
  const deps = await givenBogusZone()
  const monitored = {
    owner: 'www.example.com',
    recordType: recordTypeOf('A'),
    expectedValues: ['192.0.2.1'],
    isExactMatch: true,
  }

  const decision = await checkOnce(monitored, deps, new AbortController().signal)

  if (decision.kind !== 'verdict') throw new Error(decision.kind)
  const { state, reason } = evaluate(monitored, decision.outcome)
  expect([state, reason.code]).toEqual(['INVALID', 'dnssec_failed'])
  const found = decision.warnings!.filter(({ code }) => code.startsWith('dnssec_'))
  const expired =
    'The signature of www.example.com A expired at 2026-02-01 00:00 UTC (ns2.example.com and ns3.example.com).'
  const missing = 'The signature of www.example.com A is missing (ns4.example.com).'
  expect(found.map((warning) => shownWarning(warning).text)).toEqual([
    'The signatures of ns1.example.com match the DS records of the parent zone and are valid until 2040-01-01 00:00 UTC.',
    expired,
    missing,
  ])
  expect(adviceFor(reason, found)!.text).toContain(`${expired} ${missing} Compare the DS record`)
  expect(adviceFor(reason)!.params).toEqual({ name: 'www.example.com' })
})

test('the queries of the evidence are within the budget of the check', async () => {
  const tree = await startDnsTree()
  onTestFinished(() => tree.close())
  const nameServers = (zone: string, count: number) => Array.from({ length: count }, (_, index) => `ns${index}.${zone}`)
  const parents = await tree.zone('com', nameServers('nic.com', 13))
  const zones = ['one.com', 'two.com', 'three.com']
  const all = [tree.root, ...parents]
  for (const [index, zone] of zones.entries()) {
    const ofZone = createZoneSigner(zone)
    const servers = await tree.zone(zone, nameServers(zone, 13), parents)
    all.push(...servers)
    for (const parent of parents) parent.set(zone, 'DS', [dsValue(ofZone.ds)])
    const name = `www.${zone}`
    const target = zones[index + 1]
    const record = target ? `${name}. 300 IN CNAME www.${target}.` : `${name}. 300 IN A 192.0.2.1`
    const [unsigned] = wires(ofZone.signRrset(record))
    const [key, signature] = wires(ofZone.keys())
    // Over TCP only.
    const keys: Response = { question: [zone, 'DNSKEY'], answer: [key!, ...Array(30).fill(signature)] }
    const answer: Response = { question: [name, 'A'], answer: Array(60).fill(unsigned) }
    const soa: Response = { question: [name, 'SOA'], authority: Array(60).fill(unsigned) }
    for (const server of servers) serveSigned(server, [keys, answer, soa])
  }
  const resolver = await tree.server()
  for (const [index, zone] of zones.entries())
    resolver.set(`www.${zone}`, zones[index + 1] ? 'CNAME' : 'A', [
      zones[index + 1] ? `www.${zones[index + 1]}` : '192.0.2.1',
    ])
  resolver.validate('www.one.com', { code: 6, text: '' })
  const authoritativeDns = givenDnsClient([])
  const roots = [tree.root.address]
  const authoritativeClient = createAuthoritativeClient({ dns: authoritativeDns, clock: patientClock, roots })
  const common = { sender: authoritativeDns, clock: patientClock }
  const chainOfTrust = createChainOfTrust({ ...common, authoritativeClient, anchors: [] })
  const serverValidator = createServerValidator({ ...common, chainOfTrust, port: roots[0]!.port })
  const monitored = {
    owner: 'www.one.com',
    recordType: recordTypeOf('A'),
    expectedValues: ['192.0.2.1'],
    isExactMatch: true,
  }
  const before = all.reduce((sum, { queries }) => sum + queries.total, 0)
  const deps = { dns: givenDnsClient([resolver]), clock: pausedClock(), authoritativeClient, serverValidator }

  const decision = await checkOnce(monitored, deps, new AbortController().signal)

  expect(decision.kind).toBe('verdict')
  const sent = all.reduce((sum, { queries }) => sum + queries.total, 0) - before

  expect(sent).toBeGreaterThan(190)
  expect(sent).toBeLessThanOrEqual(201) // one to a root server, which all checks share
})
