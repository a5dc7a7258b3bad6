import type { Clock } from '../clock.ts'
import type { Deadlines } from './deadlines.ts'
import { interpret } from './interpret.ts'
import { decodeResponse } from './messages.ts'
import type { Evidence, Outcome, Question, ServerAddress } from './outcome.ts'
import { encodeQuery, type QueryOptions } from './query.ts'
import { formatServer } from './servers.ts'
import type { Received, Send } from './transport.ts'

/** One query to one server and what came back. */
export type Exchange = {
  server: ServerAddress
  transport: Evidence['transport']
  send: Send
  question: Question
  query: QueryOptions
  timeoutMs: number
  signal: AbortSignal | undefined
  /** Called once when no answer came for so long that others need not wait for it. */
  onSilence: () => void
}

/** Nearly every answer is here by then, and the server waits for somebody else. */
const SILENCE_MS = 250

/** Resolves within `timeoutMs`. Rejects only with the signal's reason. */
export function exchange(clock: Clock, deadlines: Deadlines, one: Exchange): Promise<Evidence> {
  const { signal, timeoutMs, send } = one
  if (signal?.aborted) return Promise.reject(signal.reason) // while it waited for its turn
  return new Promise((resolve, reject) => {
    const packet = encodeQuery(one.question, one.query)
    const sentAt = clock.elapsed()
    const finish = (received: Received | Timeout) => {
      takeBack()
      signal?.removeEventListener('abort', abort)
      try {
        resolve(evidenceOf(one, received, clock.elapsed() - sentAt))
      } catch (error) {
        reject(error)
      }
    }
    const abort = () => {
      takeBack()
      giveUp()
      reject(signal?.reason)
    }
    const end = () => {
      giveUp()
      finish({ kind: 'timeout' })
    }
    const waitOn = () => {
      takeBack = deadlines.add(sentAt + timeoutMs, end)
      one.onSilence()
    }
    let takeBack =
      timeoutMs > SILENCE_MS ? deadlines.add(sentAt + SILENCE_MS, waitOn) : deadlines.add(sentAt + timeoutMs, end)
    signal?.addEventListener('abort', abort, { once: true })
    const giveUp = send(packet, finish)
  })
}

type Timeout = Extract<Outcome, { kind: 'timeout' }>

function evidenceOf(
  { server, transport, question }: Exchange,
  received: Received | Timeout,
  elapsedMs: number,
): Evidence {
  const place = { server: formatServer(server), transport, ms: Math.round(elapsedMs * 10) / 10 }
  if (received.kind !== 'packet') return { ...place, rcode: null, flags: [], ede: [], outcome: received }

  const decoded = decodeResponse(received.packet, question)
  if (!decoded.ok) {
    const { rcode = null, flags = [] } = decoded.header ?? {}
    return { ...place, rcode, flags, ede: [], outcome: { kind: 'malformed', reason: decoded.reason } }
  }
  const { rcode, flags, ede } = decoded.message
  if (!flags.includes('tc')) return { ...place, rcode, flags, ede, outcome: interpret(decoded.message, question) }
  const outcome: Outcome | null = transport === 'udp' ? null : { kind: 'malformed', reason: 'truncated over TCP' }
  return { ...place, rcode, flags, ede, outcome }
}
