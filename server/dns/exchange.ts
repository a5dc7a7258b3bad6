import type { Clock } from '../clock.ts'
import { classifyResponse } from './classify-response.ts'
import type { Deadlines } from './deadlines.ts'
import { decodeResponse, encodeQuery, type QueryFlags } from './messages.ts'
import type { Evidence, Outcome, Question } from './outcome.ts'
import type { RdataTypes } from './rdata.ts'
import type { Semaphore } from './semaphore.ts'
import type { Received, Send } from './transport.ts'

type Deps = { clock: Clock; deadlines: Deadlines; types: RdataTypes }

/** One query to one server and what came back. */
export type Exchange = {
  server: string // `ip:port`, IPv6 in brackets
  transport: Evidence['transport']
  send: Send
  semaphore: Semaphore
  question: Question
  query: QueryFlags
  timeoutMs: number
  signal: AbortSignal | undefined
  /** Whether it gave up its slot of the semaphore, because no answer came for so long that others need not wait for it. */
  hasReleasedSlot: boolean
  /** Whether letters of the name may be sent in mixed case. */
  mixesCase: boolean
  /** Whether all that came until the time limit were packets that are no response to the query. */
  isMismatched: boolean
}

/** Nearly every answer is here by then, and the server waits for somebody else. */
const SLOT_RELEASE_MS = 250

/** With a place among the semaphore, which the caller gives back. Resolves within `timeoutMs`. Rejects only with the signal's reason. */
export function exchange({ clock, deadlines, types }: Deps, one: Exchange): Promise<Evidence> {
  return new Promise((resolve, reject) => {
    const { signal, timeoutMs } = one
    if (signal?.aborted) throw signal.reason // while it waited for its turn
    const packet = encodeQuery(one.question, one.query, types)
    const sentAt = clock.elapsed()
    let takeBack =
      timeoutMs > SLOT_RELEASE_MS
        ? deadlines.add(sentAt + SLOT_RELEASE_MS, waitOn)
        : deadlines.add(sentAt + timeoutMs, end)
    signal?.addEventListener('abort', abort, { once: true })
    const giveUp = one.send(packet, finish, one.mixesCase)

    function finish(received: Received | Timeout): void {
      takeBack()
      signal?.removeEventListener('abort', abort)
      try {
        resolve(evidenceOf(one, received, clock.elapsed() - sentAt, types))
      } catch (error) {
        reject(error)
      }
    }

    function waitOn(): void {
      takeBack = deadlines.add(sentAt + timeoutMs, end)
      one.hasReleasedSlot = one.semaphore.releaseEarly()
    }

    // A packet that answers another question may be a forger's, so that the true one is awaited. RFC 5452 section 9.1.
    function end(): void {
      const mismatched = giveUp()
      one.isMismatched = mismatched !== undefined
      finish(mismatched ? { kind: 'packet', packet: mismatched } : { kind: 'timeout' })
    }

    function abort(): void {
      takeBack()
      giveUp()
      reject(signal?.reason)
    }
  })
}

type Timeout = Extract<Outcome, { kind: 'timeout' }>

function evidenceOf(
  { server, transport, question }: Exchange,
  received: Received | Timeout,
  elapsedMs: number,
  types: RdataTypes,
): Evidence {
  const place = { server, transport, ms: Math.round(elapsedMs * 10) / 10 }
  if (received.kind !== 'packet') return { ...place, rcode: null, flags: [], ede: [], outcome: received }

  const decoded = decodeResponse(received.packet, question, types)
  if (!decoded.ok) {
    const { rcode = null, flags = [] } = decoded.header ?? {}
    return { ...place, rcode, flags, ede: [], outcome: { kind: 'malformed', reason: decoded.reason } }
  }
  const { rcode, flags, ede } = decoded.message
  if (!flags.includes('tc'))
    return { ...place, rcode, flags, ede, outcome: classifyResponse(decoded.message, question) }
  const outcome: Outcome | null = transport === 'udp' ? null : { kind: 'malformed', reason: 'truncated over TCP' }
  return { ...place, rcode, flags, ede, outcome }
}
