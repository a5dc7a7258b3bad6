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
export async function exchange(clock: Clock, deadlines: Deadlines, one: Exchange): Promise<Evidence> {
  one.signal?.throwIfAborted() // while it waited for its turn
  const packet = encodeQuery(one.question, one.query)
  const sentAt = clock.elapsed()
  const received = await receive(deadlines, sentAt + one.timeoutMs, packet, one)
  const ms = Math.round((clock.elapsed() - sentAt) * 10) / 10
  const place = { server: formatServer(one.server), transport: one.transport, ms }
  if (received.kind !== 'packet') return { ...place, rcode: null, flags: [], ede: [], outcome: received }

  const decoded = decodeResponse(received.packet, one.question)
  if (!decoded.ok) {
    const { rcode = null, flags = [] } = decoded.header ?? {}
    return { ...place, rcode, flags, ede: [], outcome: { kind: 'malformed', reason: decoded.reason } }
  }
  const { rcode, flags, ede } = decoded.message
  if (!flags.includes('tc')) return { ...place, rcode, flags, ede, outcome: interpret(decoded.message, one.question) }
  const outcome: Outcome | null = one.transport === 'udp' ? null : { kind: 'malformed', reason: 'truncated over TCP' }
  return { ...place, rcode, flags, ede, outcome }
}

type Timeout = Extract<Outcome, { kind: 'timeout' }>

function receive(
  deadlines: Deadlines,
  at: number,
  packet: Buffer,
  { send, signal, timeoutMs, onSilence }: Exchange,
): Promise<Received | Timeout> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      takeBack()
      signal?.removeEventListener('abort', abort)
    }
    const finish = (received: Received | Timeout) => {
      leave()
      resolve(received)
    }
    const abort = () => {
      leave()
      giveUp()
      reject(signal?.reason)
    }
    const end = () => {
      giveUp()
      finish({ kind: 'timeout' })
    }
    const waitOn = () => {
      takeBack = deadlines.add(at, end)
      onSilence()
    }
    let takeBack = timeoutMs > SILENCE_MS ? deadlines.add(at - timeoutMs + SILENCE_MS, waitOn) : deadlines.add(at, end)
    signal?.addEventListener('abort', abort, { once: true })
    const giveUp = send(packet, finish)
  })
}
