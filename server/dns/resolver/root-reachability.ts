import type { Clock } from '../../clock.ts'
import type { DnsClient } from '../client.ts'
import type { ServerAddress } from '../outcome.ts'

/** `queries_intercepted`: another server answers in place of the root servers. */
export type RootProblem = 'root_servers_unreachable' | 'queries_intercepted'

/** Whether name servers outside can be queried at all. Many networks open port 53 to their own resolvers only. */
export type RootReachability = {
  /** Undefined while they can. At most one probe at a time, and ever fewer while it fails. */
  findProblem(): Promise<RootProblem | undefined>
}

const VALID_FOR_MS = 60_000
const FIRST_RETRY_MS = 60_000
const MAX_RETRY_MS = 15 * 60_000
const PROBED_ROOTS = 4

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
  let known: { trouble: RootProblem | undefined; until: number } | undefined
  let probing: Promise<RootProblem | undefined> | undefined
  let retryMs = FIRST_RETRY_MS

  async function probe(): Promise<RootProblem | undefined> {
    const found = await Promise.all(pickRoots(roots).map((server) => probeRoot(dns, server, timeoutMs)))
    const trouble = found.includes('authority')
      ? undefined
      : found.includes('other')
        ? 'queries_intercepted'
        : 'root_servers_unreachable'
    known = { trouble, until: clock.elapsed() + (trouble === undefined ? VALID_FOR_MS : retryMs) }
    retryMs = trouble === undefined ? FIRST_RETRY_MS : Math.min(2 * retryMs, MAX_RETRY_MS)
    return trouble
  }

  return {
    async findProblem() {
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
  const { evidence } = await dns.query({ name: '', type: 'SOA' }, options)
  const last = evidence.at(-1)
  if (last === undefined || last.rcode === null) return 'nothing'
  return last.outcome?.kind === 'answer' && last.flags.includes('aa') ? 'authority' : 'other'
}

/** Some of both families: one of them may not be routed here. The list holds one family after the other. */
function pickRoots(roots: readonly ServerAddress[]): ServerAddress[] {
  const step = Math.max(1, Math.floor(roots.length / PROBED_ROOTS))
  return roots.filter((_, at) => at % step === 0).slice(0, PROBED_ROOTS)
}
