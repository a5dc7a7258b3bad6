import type { CheckDeps } from '#server/checks/run-check.ts'
import type { Clock } from '#server/clock.ts'
import { createDnsClient } from '#server/dns/client.ts'
import { createChainOfTrust } from '#server/dns/dnssec/chain-of-trust.ts'
import { parseDsText } from '#server/dns/dnssec/dnssec-records.ts'
import { createServerValidator, validatorForRules } from '#server/dns/dnssec/server-validator.ts'
import { createNetworkCheck } from '#server/dns/network-check.ts'
import type { QuestionType } from '#server/dns/outcome.ts'
import { createAuthoritativeClient } from '#server/dns/resolver/authoritative-client.ts'
import { RDATA_FORMATS } from '#server/record-types/record-types.ts'
import type { DnsServer } from '#server/testing/dns-server.ts'
import { type DnsTree, startDnsTree } from '#server/testing/dns-server-tree.ts'
import { patientClock } from '#server/testing/patient-clock.ts'

export const NAME = 'www.example.test'
export const ADDRESS = '192.0.2.1'
export const CANARY = 'canary.test'

/** Real time. Short, because everything is on one machine, but long enough for a busy one. */
const TIMEOUT_MS = 400

/** `roots`: Zonewatch queries the authoritative servers too. `canaries`: there is a canary name. `trustAnchor`: a DS record of the root zone. */
export type LabOptions = { roots?: boolean; canaries?: boolean; resolvers?: number; trustAnchor?: string }

/** A small DNS: a root, a top-level domain, a zone on two servers, a zone of a CDN, and recursive servers. */
export type Lab = {
  tree: DnsTree
  root: DnsServer
  tld: DnsServer
  ns1: DnsServer
  ns2: DnsServer
  cdn: DnsServer
  resolvers: DnsServer[]
  /** Both name servers of the zone. */
  zone: DnsServer[]
  /** The authoritative servers of the zone and the recursive servers. */
  allServers: DnsServer[]
  set(name: string, type: QuestionType, values: string[]): void
  remove(name: string, type: QuestionType): void
  /** Removes all faults. */
  restore(): void
  deps: CheckDeps
  /** The notices to the operator about the network of Zonewatch. */
  notices: string[]
  clock: Clock & { advance(ms: number): void }
  random: () => number
  close(): Promise<void>
}

/** `seed` of all random numbers. */
export async function startLab(
  { roots = true, canaries = false, resolvers = 2, trustAnchor }: LabOptions,
  seed: number,
): Promise<Lab> {
  const tree = await startDnsTree()
  const tld = await tree.server(['test'])
  const [ns1, ns2] = [await tree.server(['example.test']), await tree.server(['example.test'])]
  const cdn = await tree.server(['cdn.test'])
  const recursive: DnsServer[] = []
  for (let count = 0; count < resolvers; count++) recursive.push(await tree.server())
  const clock = labClock()
  const servers = recursive.map(({ address }) => address)
  const dns = createDnsClient({
    formats: RDATA_FORMATS,
    servers,
    clock: patientClock,
    timeoutMs: TIMEOUT_MS,
    attempts: 2,
  })
  const authoritativeDns = createDnsClient({ formats: RDATA_FORMATS, servers: [], clock: patientClock })
  const notices: string[] = []
  const onOutage = () => notices.push('outage')
  const onRecovery = () => notices.push('recovery')
  // Exchanges take real time; what is known of zones grows old with the clock of the checks.
  const zoneClock = { ...patientClock, now: clock.now, elapsed: () => patientClock.elapsed() + clock.elapsed() }
  const authoritativeClient = roots
    ? createAuthoritativeClient({
        dns: authoritativeDns,
        clock: zoneClock,
        roots: [tree.root.address],
        timeoutMs: TIMEOUT_MS,
      })
    : undefined
  const serverValidator =
    authoritativeClient && trustAnchor
      ? createServerValidator({
          sender: authoritativeDns,
          chainOfTrust: createChainOfTrust({
            sender: authoritativeDns,
            authoritativeClient,
            clock: zoneClock,
            anchors: [parseDsText(trustAnchor)!],
            timeoutMs: TIMEOUT_MS,
          }),
          clock: zoneClock,
          port: tree.root.address.port,
          timeoutMs: TIMEOUT_MS,
        })
      : undefined
  const deps: CheckDeps = {
    dns,
    clock,
    authoritativeClient,
    serverValidator,
    validator: serverValidator && validatorForRules(serverValidator),
    networkCheck: canaries ? createNetworkCheck({ dns, clock, canaries: [CANARY], onOutage, onRecovery }) : undefined,
  }
  const lab: Omit<Lab, 'restore'> = {
    tree,
    root: tree.root,
    tld,
    ns1,
    ns2,
    cdn,
    resolvers: recursive,
    zone: [ns1, ns2],
    allServers: [ns1, ns2, ...recursive],
    set: (...record) => {
      for (const server of lab.allServers) server.set(...record)
    },
    remove: (...record) => {
      for (const server of lab.allServers) server.remove(...record)
    },
    deps,
    notices,
    random: randomFrom(seed),
    clock,
    async close() {
      await Promise.all([dns.close(), authoritativeDns.close()])
      await tree.close()
    },
  }
  const restore = () => configureServers(lab)
  restore()
  return { ...lab, restore }
}

function configureServers({ root, tld, ns1, ns2, cdn, resolvers, allServers, set }: Omit<Lab, 'restore'>): void {
  for (const server of [root, tld, cdn, ...allServers]) server.reset()
  root.set('', 'SOA', ['root. hostmaster. 1 1800 900 604800 86400'])
  root.delegate('test', { 'a.nic.test': [tld.address.ip] })
  tld.set('test', 'NS', ['a.nic.test'])
  tld.delegate('example.test', { 'ns1.example.test': [ns1.address.ip], 'ns2.example.test': [ns2.address.ip] })
  tld.delegate('cdn.test', { 'ns.cdn.test': [cdn.address.ip] })
  set('example.test', 'NS', ['ns1.example.test', 'ns2.example.test'])
  set(NAME, 'A', [ADDRESS])
  for (const server of [cdn, ...resolvers]) server.set('edge.cdn.test', 'A', [ADDRESS])
  for (const server of resolvers) server.set(CANARY, 'A', ['192.0.2.200'])
}

/** Mulberry32: a small generator with the same numbers on every machine. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Pauses advance the time at once, so that cached knowledge expires. */
function labClock(): Lab['clock'] {
  let passed = 0
  const advance = (ms: number) => {
    passed += ms
  }
  return {
    now: () => Date.UTC(2026, 10, 21) + passed,
    elapsed: () => passed,
    sleep: async (ms) => advance(ms),
    advance,
  }
}
