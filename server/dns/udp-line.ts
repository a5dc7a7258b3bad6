import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import type { ServerAddress } from './outcome.ts'
import { type Received, type Send, unreachable } from './transport.ts'

/** One UDP socket on a port of its own, connected to one server, with many questions in flight told apart by their ids. */
export type UdpLine = {
  send: Send
  /** Questions sent so far. */
  asked(): number
  /** False once the socket failed or was retired: no further question may be sent. */
  isOpen(): boolean
  /** Closes the socket as soon as nothing is in flight. */
  retire(): void
}

export function openUdpLine(server: ServerAddress): UdpLine {
  const socket = createSocket(isIPv6(server.ip) ? 'udp6' : 'udp4')
  const inFlight = new Map<number, (received: Received) => void>()
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
    const done = inFlight.get(id)
    forget(id)
    done?.({ kind: 'packet', packet })
  })
  socket.connect(server.port, server.ip)

  function onSent(error: Error | null): void {
    if (error) fail(error)
  }

  // A connected socket hears of ICMP errors without being told for which question: the port is closed for all of them.
  function fail(error: Error): void {
    open = false
    const failed = [...inFlight.values()]
    inFlight.clear()
    unsent.clear()
    closeWhenDone()
    for (const done of failed) done(unreachable(error))
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
    send(query, done) {
      let id = randomInt(0x10000)
      while (inFlight.has(id)) id = randomInt(0x10000)
      query.writeUInt16BE(id, 0)
      asked++
      inFlight.set(id, done)
      if (peer) socket.send(query, onSent)
      else unsent.set(id, query)
      return () => forget(id)
    },
    asked: () => asked,
    isOpen: () => open,
    retire() {
      open = false
      closeWhenDone()
    },
  }
}
