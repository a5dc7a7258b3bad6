import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import type { ServerAddress } from './outcome.ts'
import { compareQuestion } from './question-bytes.ts'
import { type Received, type Send, unreachable } from './transport.ts'

/** One UDP socket on a port of its own, connected to one server, with many questions in flight told apart by their ids. */
export type UdpSocket = {
  /** `onCase`: told whether a response has the letters as they were sent. It says whether one that has not may be the answer. */
  send(query: Buffer, done: (received: Received) => void, onCase: (isSame: boolean) => boolean): ReturnType<Send>
  /** Questions sent so far. */
  asked(): number
  /** False once the socket failed or was retired: no further question may be sent. */
  isOpen(): boolean
  /** Closes the socket as soon as nothing is in flight. */
  retire(): void
}

type Waiting = {
  query: Buffer
  done: (received: Received) => void
  onCase: (isSame: boolean) => boolean
  mismatched: Buffer | undefined
  isOtherCase: boolean
}

export function openUdpSocket(server: ServerAddress): UdpSocket {
  const socket = createSocket(isIPv6(server.ip) ? 'udp6' : 'udp4')
  const inFlight = new Map<number, Waiting>()
  const unsent = new Map<number, Buffer>()
  let peer: { address: string; port: number } | undefined
  let asked = 0
  let open = true
  let closed = false

  socket.unref() // what is in flight has a deadline, and that keeps the process alive
  socket.on('error', fail)
  socket.on('connect', () => {
    if (closed) return
    peer = socket.remoteAddress()
    for (const query of unsent.values()) socket.send(query, onSent)
    unsent.clear()
  })
  socket.on('message', (packet, sender) => {
    // Before it was connected the socket heard anyone.
    if (packet.length < 2 || sender.address !== peer?.address || sender.port !== peer.port) return
    const id = packet.readUInt16BE(0)
    const waiting = inFlight.get(id)
    if (!waiting) return
    const found = compareQuestion(waiting.query, packet)
    if (found === 'other' || !waiting.onCase(found === 'same')) {
      // Of those that are none, one that differs by the case of its letters says most.
      if (found !== 'other' || !waiting.isOtherCase) waiting.mismatched = packet
      waiting.isOtherCase ||= found !== 'other'
      return
    }
    forget(id)
    waiting.done({ kind: 'packet', packet })
  })
  socket.connect(server.port, server.ip)

  function onSent(error: Error | null): void {
    if (error) fail(error)
  }

  // A connected socket gets ICMP errors without the question they belong to: the port is closed for all of them.
  function fail(error: Error): void {
    open = false
    const failed = [...inFlight.values()]
    inFlight.clear()
    unsent.clear()
    closeWhenDone()
    for (const { done } of failed) done(unreachable(error))
  }

  function forget(id: number): void {
    inFlight.delete(id)
    unsent.delete(id)
    closeWhenDone()
  }

  function closeWhenDone(): void {
    if (open || closed || inFlight.size > 0) return
    closed = true
    socket.close()
  }

  return {
    send(query, done, onCase) {
      let id = randomInt(0x10000)
      while (inFlight.has(id)) id = randomInt(0x10000)
      query.writeUInt16BE(id, 0)
      asked++
      const waiting: Waiting = { query, done, onCase, mismatched: undefined, isOtherCase: false }
      inFlight.set(id, waiting)
      if (peer) socket.send(query, onSent)
      else unsent.set(id, query)
      return () => {
        forget(id)
        return waiting.mismatched
      }
    },
    asked: () => asked,
    isOpen: () => open,
    retire() {
      open = false
      closeWhenDone()
    },
  }
}
