import type { Clock } from '../clock.ts'
import type { Deadlines } from './deadlines.ts'
import type { ServerAddress } from './outcome.ts'
import { formatServer } from './servers.ts'
import { createSlots, type Slots } from './slots.ts'
import { tcpTo } from './tcp.ts'
import type { Send } from './transport.ts'
import { createUdpPool, type UdpPool } from './udp.ts'

/** All that is kept about one server. `silences`: exchanges in a row without a packet; `retryAt`: see `takeTurn`. */
export type Path = { server: ServerAddress; slots: Slots; udp: UdpPool; tcp: Send; silences: number; retryAt: number }

export type PathLimits = { inFlightPerServer: number; waitingPerServer: number }

export type Paths = { to(server: ServerAddress): Path; close(reason: Error): void }

const MAX_PATHS = 2_000
const SILENCES = 8
const RETRY_MS = 5_000

export function createPaths(clock: Clock, deadlines: Deadlines, limits: PathLimits): Paths {
  const paths = new Map<string, Path>() // the least recently used first

  function open(server: ServerAddress): Path {
    const slots = createSlots(limits.inFlightPerServer, limits.waitingPerServer)
    const udp = createUdpPool(server, clock, deadlines)
    return { server, slots, udp, tcp: tcpTo(server), silences: 0, retryAt: 0 }
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
      const address = formatServer(server)
      const path = paths.get(address) ?? open(server)
      paths.delete(address)
      paths.set(address, path)
      forgetOldest()
      return path
    },
    close(reason) {
      for (const path of paths.values()) {
        path.slots.close(reason)
        path.udp.close()
      }
    },
  }
}

export function noteExchange(path: Path, heard: boolean): void {
  path.silences = heard ? 0 : path.silences + 1
}

/**
 * Whether a server may be asked in its turn. One that has long been silent is asked last, so that questions do not wait
 * there for their deadlines, but from time to time one question finds out whether it is back.
 */
export function takeTurn(path: Path, now: number): boolean {
  if (path.silences < SILENCES) return true
  if (now < path.retryAt) return false
  path.retryAt = now + RETRY_MS
  return true
}
