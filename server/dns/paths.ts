import type { Clock } from '../clock.ts'
import type { Deadlines } from './deadlines.ts'
import type { QuestionType, ServerAddress } from './outcome.ts'
import { createPace, type Pace } from './pace.ts'
import { formatServer } from './servers.ts'
import { createSlots, type Slots } from './slots.ts'
import { tcpTo } from './tcp.ts'
import type { Send } from './transport.ts'
import { createUdpPool, type UdpPool } from './udp.ts'

/** All that is kept about one server. `troubles`: by question type, of those that did not go well lately. */
export type Path = {
  /** `ip:port`, IPv6 in brackets. */
  address: string
  slots: Slots
  pace: Pace
  udp: UdpPool
  tcp: Send
  troubles: Map<QuestionType, Trouble>
}

/** `failures`: exchanges in a row without a usable answer; `retryAt`: see `takeTurn`. */
type Trouble = { failures: number; retryAt: number }

export type PathLimits = { inFlightPerServer: number; waitingPerServer: number; perSecond: number }

export type Paths = { to(server: ServerAddress): Path; close(reason: Error): void }

/** So many times as many questions may stand unanswered as may be under way: they are not what keeps a server busy. */
const SILENT = 8
const MAX_PATHS = 2_000
const FAILURES = 8
const RETRY_MS = 5_000

/** `kept`: those that are never forgotten. */
export function createPaths(
  kept: readonly ServerAddress[],
  clock: Clock,
  deadlines: Deadlines,
  limits: PathLimits,
): Paths {
  const paths = new Map<string, Path>() // the least recently used first
  const keptPaths = new Map<string, Path>()
  const byObject = new Map<ServerAddress, Path>() // found without making the text of an address
  for (const server of kept) {
    const address = formatServer(server)
    const path = keptPaths.get(address) ?? open(server, address)
    keptPaths.set(address, path)
    byObject.set(server, path)
  }

  function open(server: ServerAddress, address: string): Path {
    const slots = createSlots(limits.inFlightPerServer, limits.waitingPerServer, SILENT * limits.inFlightPerServer)
    const udp = createUdpPool(server, clock, deadlines)
    const pace = createPace(limits.perSecond, clock)
    return { address, slots, pace, udp, tcp: tcpTo(server), troubles: new Map() }
  }

  // A busy path is kept beyond the bound: those are as many as there are callers.
  function forgetOldest(): void {
    const oldest = paths.entries().next().value
    if (paths.size <= MAX_PATHS || !oldest?.[1].slots.isIdle()) return
    oldest[1].udp.close()
    paths.delete(oldest[0])
  }

  return {
    to(server) {
      const known = byObject.get(server)
      if (known) return known
      const address = formatServer(server)
      const keptPath = keptPaths.get(address)
      if (keptPath) return keptPath
      const path = paths.get(address) ?? open(server, address)
      paths.delete(address)
      paths.set(address, path)
      forgetOldest()
      return path
    },
    close(reason) {
      for (const path of [...keptPaths.values(), ...paths.values()]) {
        path.slots.close(reason)
        path.udp.close()
      }
    },
  }
}

export function noteExchange(path: Path, type: QuestionType, isUsable: boolean): void {
  if (isUsable) {
    path.troubles.delete(type)
    return
  }
  const trouble = path.troubles.get(type)
  if (trouble) trouble.failures++
  else path.troubles.set(type, { failures: 1, retryAt: 0 })
}

/**
 * Whether a server may be asked in its turn. One that has long been silent or failing for a type is asked last for it, so
 * that questions do not wait there for their deadlines, but from time to time one question finds out whether it is back.
 */
export function takeTurn({ troubles }: Path, type: QuestionType, now: number): boolean {
  if (troubles.size === 0) return true
  const trouble = troubles.get(type)
  if (!trouble || trouble.failures < FAILURES) return true
  if (now < trouble.retryAt) return false
  trouble.retryAt = now + RETRY_MS
  return true
}
