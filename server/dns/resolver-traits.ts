import { randomBytes } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { ResolverTraits } from '../metrics/metrics.ts'
import type { DnsClient } from './client.ts'
import type { ServerAddress } from './outcome.ts'
import { OverloadError } from './semaphore.ts'
import { formatServer } from './server-address.ts'

const FIRST_MS = 60_000
const AGAIN_MS = 3_600_000

/** Asks each resolver every hour. The first time a minute after the start. */
export async function runResolverTraits(
  { dns, clock }: { dns: DnsClient; clock: Clock },
  note: (address: string, traits: ResolverTraits) => void,
  signal: AbortSignal,
): Promise<void> {
  for (let waitMs = FIRST_MS; ; waitMs = AGAIN_MS) {
    await clock.sleep(waitMs, signal)
    if (signal.aborted) return
    for (const server of dns.servers) {
      const traits = await findTraits(dns, server, clock).catch((error: unknown) => {
        // Checks come first, and at the stop the client is closed.
        if (error instanceof OverloadError || signal.aborted) return undefined
        throw error
      })
      if (traits) note(formatServer(server), traits)
    }
  }
}

export async function findTraits(dns: DnsClient, server: ServerAddress, clock: Clock): Promise<ResolverTraits> {
  const options = { servers: [server], attempts: 2 }
  const missing = `zonewatch-${randomBytes(10).toString('hex')}.com`
  const [root, denied] = await Promise.all([
    dns.query({ name: '', type: 'NS' }, options),
    dns.query({ name: missing, type: 'A' }, options),
  ])
  return {
    validates: root.outcome.kind === 'answer' ? (root.evidence.at(-1)?.flags.includes('ad') ?? false) : null,
    rewrites_nxdomain: REWRITTEN[denied.outcome.kind] ?? null,
    observed_at: clock.now(),
  }
}

const REWRITTEN: Readonly<Record<string, boolean>> = { nxdomain: false, answer: true }
