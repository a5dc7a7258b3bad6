import type { Clock } from '../clock.ts'
import { classifyResponse } from './classify-response.ts'
import type { Deadlines } from './deadlines.ts'
import { decodeResponse, encodeQuery, type QueryFlags } from './messages.ts'
import type { Exchange, Outcome, Question } from './outcome.ts'
import type { RdataTypes } from './rdata.ts'
import type { Semaphore } from './semaphore.ts'
import { MAX_UDP_OCTETS, type Received, type Send } from './transport.ts'

type Deps = { clock: Clock; deadlines: Deadlines; types: RdataTypes }

/** A query to one server, until it has answered. */
export type OpenExchange = {
  server: string // `ip:port`, IPv6 in brackets
  transport: Exchange['transport']
  send: Send
  semaphore: Semaphore
  question: Question
  flags: QueryFlags
  timeoutMs: number
  signal: AbortSignal | undefined
  /** Set when the exchange releases its slot of the semaphore before it ends. */
  hasReleasedSlot: boolean
  /** Whether the name may be sent in mixed case. */
  mixesCase: boolean
  /** Set when only packets that do not match the query arrived before the timeout. */
  isMismatched: boolean
}

/** Nearly every response arrives sooner. A slower exchange releases its slot, so that it does not delay others. */
const SLOT_RELEASE_MS = 250

/** The caller acquires and releases the slot of the semaphore. Resolves within `timeoutMs`. Rejects only with the signal's reason. */
export function exchange({ clock, deadlines, types }: Deps, current: OpenExchange): Promise<Exchange> {
  return new Promise((resolve, reject) => {
    const { signal, timeoutMs } = current
    if (signal?.aborted) throw signal.reason // while it waited for the slot
    const packet = encodeQuery(current.question, current.flags, types)
    const sentAt = clock.elapsed()
    let cancelDeadline =
      timeoutMs > SLOT_RELEASE_MS
        ? deadlines.add(sentAt + SLOT_RELEASE_MS, releaseSlot)
        : deadlines.add(sentAt + timeoutMs, onTimeout)
    signal?.addEventListener('abort', abort, { once: true })
    const cancelSend = current.send(packet, finish, current.mixesCase)

    function finish(received: Received | Timeout): void {
      cancelDeadline()
      signal?.removeEventListener('abort', abort)
      try {
        resolve(toExchange(current, received, clock.elapsed() - sentAt, types))
      } catch (error) {
        reject(error)
      }
    }

    function releaseSlot(): void {
      cancelDeadline = deadlines.add(sentAt + timeoutMs, onTimeout)
      current.hasReleasedSlot = current.semaphore.releaseEarly()
    }

    // A packet that does not match may be forged, so it ends the exchange only at the timeout. RFC 5452 section 9.1.
    function onTimeout(): void {
      const mismatched = cancelSend()
      current.isMismatched = mismatched !== undefined
      finish(mismatched ? { kind: 'packet', packet: mismatched } : { kind: 'timeout' })
    }

    function abort(): void {
      cancelDeadline()
      cancelSend()
      reject(signal?.reason)
    }
  })
}

type Timeout = Extract<Outcome, { kind: 'timeout' }>

function toExchange(
  { server, transport, question }: OpenExchange,
  received: Received | Timeout,
  elapsedMs: number,
  types: RdataTypes,
): Exchange {
  const exchanged = { server, transport, question, ms: Math.round(elapsedMs * 10) / 10 }
  if (received.kind !== 'packet') return { ...exchanged, rcode: null, flags: [], ede: [], outcome: received }

  const decoded = decodeResponse(received.packet, question, types)
  if (!decoded.ok) {
    const { rcode = null, flags = [] } = decoded.header ?? {}
    return { ...exchanged, rcode, flags, ede: [], outcome: { kind: 'malformed', reason: decoded.reason } }
  }
  const { rcode, flags, ede } = decoded.message
  if (transport === 'udp' && received.packet.length > MAX_UDP_OCTETS)
    return { ...exchanged, rcode, flags, ede, outcome: null }
  if (!flags.includes('tc'))
    return { ...exchanged, rcode, flags, ede, outcome: classifyResponse(decoded.message, question) }
  const outcome: Outcome | null = transport === 'udp' ? null : { kind: 'malformed', reason: 'truncated over TCP' }
  return { ...exchanged, rcode, flags, ede, outcome }
}
