import type { Clock } from '../../clock.ts'
import type { DnsClient } from '../client.ts'
import type { ServerAddress } from '../outcome.ts'

/** `queries_intercepted`: another server answers in place of the root servers. */
export type RootTrouble = 'root_servers_unreachable' | 'queries_intercepted'

/** Whether name servers outside can be queried at all. Many networks open port 53 to their own resolvers only. */
export type RootReachability = {
  /** Undefined while they can. At most one probe at a time, and ever fewer while it fails. */
  trouble(): Promise<RootTrouble | undefined>
}

const GOOD_FOR_MS = 60_000
const FIRST_REST_MS = 60_000
const LONGEST_REST_MS = 15 * 60_000
const PROBED_AT_ONCE = 4

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
  let known: { trouble: RootTrouble | undefined; until: number } | undefined
  let probing: Promise<RootTrouble | undefined> | undefined
  let restMs = FIRST_REST_MS

  async function probe(): Promise<RootTrouble | undefined> {
    const found = await Promise.all(someOf(roots).map((server) => probeRoot(dns, server, timeoutMs)))
    const trouble = found.includes('authority')
      ? undefined
      : found.includes('other')
        ? 'queries_intercepted'
        : 'root_servers_unreachable'
    known = { trouble, until: clock.elapsed() + (trouble === undefined ? GOOD_FOR_MS : restMs) }
    restMs = trouble === undefined ? FIRST_REST_MS : Math.min(2 * restMs, LONGEST_REST_MS)
    return trouble
  }

  return {
    async trouble() {
      if (known && clock.elapsed() < known.until) return known.trouble
      probing ??= probe().finally(() => {
        probing = undefined
      })
      return await probing
    },
  }
}

/** A root server answers for the root with authority; what steps in between does not. */
async function probeRoot(dns: DnsClient, server: ServerAddress, timeoutMs: number) {
  const options = { servers: [server], recursionDesired: false, timeoutMs, tries: 1, accept: () => true }
  const { evidence } = await dns.ask({ name: '', type: 'SOA' }, options)
  const last = evidence.at(-1)
  if (last === undefined || last.rcode === null) return 'nothing'
  return last.outcome?.kind === 'answer' && last.flags.includes('aa') ? 'authority' : 'other'
}

/** Some of both families: one of them may not be routed here. The list holds one family after the other. */
function someOf(roots: readonly ServerAddress[]): ServerAddress[] {
  const step = Math.max(1, Math.floor(roots.length / PROBED_AT_ONCE))
  return roots.filter((_, at) => at % step === 0).slice(0, PROBED_AT_ONCE)
}
