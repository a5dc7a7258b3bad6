import type { Clock } from '../clock.ts'
import type { Deadlines } from './deadlines.ts'
import type { ServerAddress } from './outcome.ts'
import type { Upstream } from './upstreams.ts'

/** Sends packets that the client does not read itself, within the same limits as its own queries. */
export type PacketSender = {
  /**
   * The response of one server, undefined if none came in time. Rejects with the signal's reason when aborted, and with
   * `OverloadError` when the wait for a busy server would be too long.
   */
  sendPacket(query: Buffer, server: ServerAddress, options: SendOptions): Promise<Buffer | undefined>
}

/** `group`: of the organization for which it is sent: packets that wait for a server take turns by group. */
export type SendOptions = {
  transport: 'udp' | 'tcp'
  timeoutMs: number
  signal?: AbortSignal | undefined
  group?: string | undefined
}

const MAX_WAIT_MS = 5_000

/** The caller gives a packet of its own: the id is written into it. */
export async function sendPacket(
  { clock, deadlines }: { clock: Clock; deadlines: Deadlines },
  { rateLimiter, semaphore, udp, tcp }: Upstream,
  query: Buffer,
  { transport, timeoutMs, signal, group }: SendOptions,
): Promise<Buffer | undefined> {
  await rateLimiter.wait(MAX_WAIT_MS, signal, group)
  await semaphore.acquire(signal, group)
  try {
    return await exchangePacket(clock, deadlines, transport === 'udp' ? udp.send : tcp, query, timeoutMs, signal)
  } finally {
    semaphore.release()
  }
}

function exchangePacket(
  clock: Clock,
  deadlines: Deadlines,
  send: Upstream['tcp'],
  query: Buffer,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    let cancelSend = () => undefined as unknown
    const cancelDeadline = deadlines.add(clock.elapsed() + timeoutMs, () => {
      cancelSend()
      finish(undefined)
    })
    signal?.addEventListener('abort', abort, { once: true })
    cancelSend = send(query, (received) => finish(received.kind === 'packet' ? received.packet : undefined))

    function finish(packet: Buffer | undefined): void {
      cancelDeadline()
      signal?.removeEventListener('abort', abort)
      resolve(packet)
    }

    function abort(): void {
      cancelDeadline()
      cancelSend()
      reject(signal?.reason)
    }
  })
}
