import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import type { Clock } from '../clock.ts'
import type { Deadlines } from './deadlines.ts'
import type { ServerAddress } from './outcome.ts'
import { compareQuestion, mixCase } from './question-bytes.ts'
import { type Received, type Send, unreachable } from './transport.ts'

/** The UDP sockets towards one server. `close` lets what is in flight finish. */
export type UdpPool = { send: Send; close(): void }

// A forger must guess id and port, and a port lives for few questions: RFC 5452 section 9.
const SOCKETS = 4
const QUERIES_PER_SOCKET = 4
/** Opening a socket costs as much as a check: where very much is asked, a port serves what is sent within this. */
const MIN_SOCKET_AGE_MS = 50
const MAX_SOCKET_AGE_MS = 10_000
/** When a server that does not repeat mixed case is tried again. */
const LOWER_CASE_FOR_MS = 10 * 60_000

type PooledSocket = { socket: UdpSocket; openedAt: number; retire: () => void }

export function createUdpPool(server: ServerAddress, clock: Clock, deadlines: Deadlines): UdpPool {
  // Whether the server repeats mixed case, so that an answer that does not is not its own; false until `lowerUntil`.
  let repeatsCase: boolean | undefined
  let lowerUntil = 0
  const sockets: (PooledSocket | undefined)[] = Array.from({ length: SOCKETS })

  function pickSocket(): UdpSocket {
    const place = randomInt(SOCKETS)
    const current = sockets[place]
    if (current?.socket.isOpen() && !isWornOut(current)) return current.socket
    current?.retire()
    return open(place)
  }

  function isWornOut({ socket: line, openedAt }: PooledSocket): boolean {
    return line.queryCount() >= QUERIES_PER_SOCKET && clock.elapsed() - openedAt >= MIN_SOCKET_AGE_MS
  }

  function open(place: number): UdpSocket {
    const line = openUdpSocket(server)
    const retire = () => {
      takeBack()
      sockets[place] = undefined
      line.retire()
    }
    const openedAt = clock.elapsed()
    const takeBack = deadlines.add(openedAt + MAX_SOCKET_AGE_MS, retire)
    sockets[place] = { socket: line, openedAt, retire }
    return line
  }

  function useLowerCase(): void {
    repeatsCase = false
    lowerUntil = clock.elapsed() + LOWER_CASE_FOR_MS
  }

  /** Whether a response may be the answer, by whether its name has the letter case of the query. */
  function onCase(isSame: boolean): boolean {
    if (isSame) repeatsCase = true
    else if (repeatsCase === undefined) useLowerCase()
    return isSame || !repeatsCase
  }

  const send: Send = (query, done, mixesCase = false) => {
    if (repeatsCase === false && clock.elapsed() >= lowerUntil) repeatsCase = undefined
    if (!mixesCase || repeatsCase === false || !mixCase(query)) return pickSocket().send(query, done, always)
    const giveUp = pickSocket().send(query, done, onCase)
    return () => {
      const mismatched = giveUp()
      // Some servers do not answer mixed case at all, and a farm of servers may be of two minds.
      if (repeatsCase === undefined || (mismatched && compareQuestion(query, mismatched) === 'otherCase'))
        useLowerCase()
      return mismatched
    }
  }

  return {
    send,
    close() {
      for (const current of sockets) current?.retire()
    },
  }
}

const always = () => true

/** One UDP socket on a port of its own, connected to one server, with many questions in flight told apart by their ids. */
type UdpSocket = {
  /** `onCase`: told whether a response has the letters as they were sent. It says whether one that has not may be the answer. */
  send(query: Buffer, done: (received: Received) => void, acceptsCase: (isSame: boolean) => boolean): ReturnType<Send>
  /** Questions sent so far. */
  queryCount(): number
  /** False once the socket failed or was retired: no further question may be sent. */
  isOpen(): boolean
  /** Closes the socket as soon as nothing is in flight. */
  retire(): void
}

type Waiting = {
  query: Buffer
  done: (received: Received) => void
  acceptsCase: (isSame: boolean) => boolean
  mismatched: Buffer | undefined
  isOtherCase: boolean
}

function openUdpSocket(server: ServerAddress): UdpSocket {
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
    sendAll()
  })
  socket.on('message', (packet, sender) => {
    // Before it was connected the socket heard anyone.
    if (packet.length < 2 || sender.address !== peer?.address || sender.port !== peer.port) return
    const id = packet.readUInt16BE(0)
    const waiting = inFlight.get(id)
    if (!waiting) return
    const found = compareQuestion(waiting.query, packet)
    if (found === 'other' || !waiting.acceptsCase(found === 'same')) {
      // Of those that are none, one that differs by the case of its letters says most.
      if (found !== 'other' || !waiting.isOtherCase) waiting.mismatched = packet
      waiting.isOtherCase ||= found !== 'other'
      return
    }
    forget(id)
    waiting.done({ kind: 'packet', packet })
  })
  socket.connect(server.port, server.ip)

  /** The questions of one turn of the event loop leave together: a wake-up of the network for each costs a fifth of a check. */
  function sendAll(): void {
    if (!peer) return
    for (const query of unsent.values()) socket.send(query, onSent)
    unsent.clear()
  }

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
      const waiting: Waiting = { query, done, acceptsCase: onCase, mismatched: undefined, isOtherCase: false }
      inFlight.set(id, waiting)
      unsent.set(id, query)
      if (unsent.size === 1) setImmediate(sendAll)
      return () => {
        forget(id)
        return waiting.mismatched
      }
    },
    queryCount: () => asked,
    isOpen: () => open,
    retire() {
      open = false
      closeWhenDone()
    },
  }
}
