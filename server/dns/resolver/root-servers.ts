import type { Clock } from '../../clock.ts'
import type { DnsClient } from '../client.ts'
import type { ServerAddress } from '../outcome.ts'

/** The root servers a to m from IANA's root hints (named.root): first IPv4, then IPv6. */
const ROOT_ADDRESSES = [
  '198.41.0.4',
  '170.247.170.2',
  '192.33.4.12',
  '199.7.91.13',
  '192.203.230.10',
  '192.5.5.241',
  '192.112.36.4',
  '198.97.190.53',
  '192.36.148.17',
  '192.58.128.30',
  '193.0.14.129',
  '199.7.83.42',
  '202.12.27.33',
  '2001:503:ba3e::2:30',
  '2801:1b8:10::b',
  '2001:500:2::c',
  '2001:500:2d::d',
  '2001:500:a8::e',
  '2001:500:2f::f',
  '2001:500:12::d0d',
  '2001:500:1::53',
  '2001:7fe::53',
  '2001:503:c27::2:30',
  '2001:7fd::1',
  '2001:500:9f::42',
  '2001:dc3::35',
]

export const ROOT_SERVERS: readonly ServerAddress[] = ROOT_ADDRESSES.map((ip) => ({ ip, port: 53 }))

/** `queries_intercepted`: another server answers in place of the root servers. */
export type RootProblem = 'root_servers_unreachable' | 'queries_intercepted'

/** Whether authoritative name servers can be queried. Many networks open port 53 to their own resolvers only. */
export type RootReachability = {
  /**
   * Undefined while they can. Probes one at a time, and less often while probes fail. `isAgain`: probes now if root servers answered
   * within the last 24 hours, because the outage may be over.
   */
  findProblem(isAgain?: boolean): Promise<RootProblem | undefined>
  /** Whether none of them answers now, although one did in the last 10 minutes. */
  areLost(): Promise<boolean>
}

const VALID_FOR_MS = 60_000
const FIRST_RETRY_MS = 60_000
const MAX_RETRY_MS = 15 * 60_000
const PROBED_ROOTS = 4
/** Root servers that answered within this time are expected to answer again: an outage ends at any moment. */
const EXPECTED_FOR_MS = 24 * 3_600_000
const EXPECTED_RETRY_MS = 10_000
/** After this, silence is taken for a firewall that was closed. */
const LOST_FOR_MS = 10 * 60_000

export function createRootReachability({
  dns,
  clock,
  roots,
  timeoutMs,
}: {
  dns: DnsClient
  clock: Clock
  roots: readonly ServerAddress[]
  timeoutMs: number
}): RootReachability {
  let last: { problem: RootProblem | undefined; validUntil: number } | undefined
  let probing: Promise<RootProblem | undefined> | undefined
  let retryMs = FIRST_RETRY_MS
  let probes = 0
  let answeredAt = Number.NEGATIVE_INFINITY

  const isExpected = () => clock.elapsed() - answeredAt <= EXPECTED_FOR_MS

  async function probe(): Promise<RootProblem | undefined> {
    const wasExpected = isExpected()
    const picked = pickRoots(roots)
    const probeEach = (servers: readonly ServerAddress[], attempts: number) =>
      Promise.all(servers.map((server) => probeRoot(dns, server, timeoutMs, attempts)))
    // Where they usually answer, one of them shows it, and silence may be a lost packet.
    let results = wasExpected ? await probeEach([picked[probes++ % picked.length]!], 1) : []
    if (!results.includes('authoritative')) results = await probeEach(picked, wasExpected ? 2 : 1)
    const problem = results.includes('authoritative')
      ? undefined
      : results.includes('other')
        ? 'queries_intercepted'
        : 'root_servers_unreachable'
    if (problem === undefined) answeredAt = clock.elapsed()
    const validForMs = problem === undefined ? VALID_FOR_MS : wasExpected ? EXPECTED_RETRY_MS : retryMs
    last = { problem, validUntil: clock.elapsed() + validForMs }
    retryMs = problem === undefined ? FIRST_RETRY_MS : Math.min(2 * retryMs, MAX_RETRY_MS)
    return problem
  }

  return {
    async findProblem(isAgain = false) {
      const mayBeOver = isAgain && last?.problem !== undefined && isExpected()
      if (last && !mayBeOver && clock.elapsed() < last.validUntil) return last.problem
      probing ??= probe().finally(() => {
        probing = undefined
      })
      return await probing
    },
    async areLost() {
      if (clock.elapsed() - answeredAt > LOST_FOR_MS) return false
      probing ??= probe().finally(() => {
        probing = undefined
      })
      return (await probing) === 'root_servers_unreachable'
    },
  }
}

/** A root server answers for the root with the AA bit. A server that intercepts the query does not. */
async function probeRoot(dns: DnsClient, server: ServerAddress, timeoutMs: number, attempts: number) {
  const { evidence } = await dns.query(
    { name: '', type: 'SOA' },
    { servers: [server], recursionDesired: false, timeoutMs, attempts, accept: () => true },
  )
  const response = evidence.at(-1)
  if (response === undefined || response.rcode === null) return 'none'
  return response.outcome?.kind === 'answer' && response.flags.includes('aa') ? 'authoritative' : 'other'
}

/** Some of both address families, because one may not be routed here. The list has one family after the other. */
function pickRoots(roots: readonly ServerAddress[]): ServerAddress[] {
  const step = Math.max(1, Math.floor(roots.length / PROBED_ROOTS))
  return roots.filter((_, index) => index % step === 0).slice(0, PROBED_ROOTS)
}
