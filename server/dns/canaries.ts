import type { Clock } from '../clock.ts'
import type { DnsClient } from './client.ts'
import type { Outcome } from './outcome.ts'

/** Names that resolve as long as our own network and recursive servers work. One state for all checks of the process. */
export type Canaries = {
  /** False while none of the names resolves: what fails then is no fault of what is watched. */
  areWell(): Promise<boolean>
  /** To be told of an answer, so that the end of an outage is noticed without waiting for another failure. */
  noteAnswer(): void
}

/** How long a probe counts. Longer than many failures at once take to come in, shorter than the pause of a confirmation. */
const GOOD_FOR_MS = 2_000

export type CanaryOptions = {
  dns: DnsClient
  clock: Clock
  names: readonly string[]
  /** Each is called once for an outage. */
  onOutage(): void
  onRecovery(): void
}

export function createCanaries({ dns, clock, names, onOutage, onRecovery }: CanaryOptions): Canaries {
  let isOut = false
  let known: { isWell: boolean; until: number } | undefined
  let probing: Promise<boolean> | undefined

  async function probe(): Promise<boolean> {
    const isWell = await resolvesAny(dns, names)
    known = { isWell, until: clock.elapsed() + GOOD_FOR_MS }
    if (!isWell && !isOut) onOutage()
    if (isWell && isOut) onRecovery()
    isOut = !isWell
    return isWell
  }

  async function areWell(): Promise<boolean> {
    if (known && clock.elapsed() < known.until) return known.isWell
    probing ??= probe().finally(() => {
      probing = undefined
    })
    return await probing
  }

  return {
    areWell,
    noteAnswer() {
      if (isOut) void areWell().catch(() => {}) // the client is being closed
    },
  }
}

/** True as soon as one does. Rejects when the client is closed. */
async function resolvesAny(dns: DnsClient, names: readonly string[]): Promise<boolean> {
  const resolved = names.map(async (name) => isResolved((await dns.ask({ name, type: 'A' })).outcome))
  const good = resolved.map(async (one) => {
    if (!(await one)) throw new Error('it does not resolve')
  })
  return await Promise.any(good).then(
    () => true,
    async () => (await Promise.all(resolved)).some((each) => each),
  )
}

function isResolved({ kind }: Outcome): boolean {
  return kind === 'answer' || kind === 'nodata'
}
