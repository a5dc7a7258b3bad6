import { randomFillSync, randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import type { Clock } from '../clock.ts'
import type { Deadlines } from './deadlines.ts'
import type { ServerAddress } from './outcome.ts'
import { type Received, type Send, unreachable } from './transport.ts'

/** The UDP sockets to one server. `close` lets queries in flight finish. */
export type UdpPool = { send: Send; close(): void }

// A forger must guess the id and the port, so a port is used for few queries. RFC 5452 section 9.
const SOCKETS = 4
const QUERIES_PER_SOCKET = 4
/** Opening a socket costs as much as a check, so under load a port is used for at least this long. */
const MIN_SOCKET_AGE_MS = 50
const MAX_SOCKET_AGE_MS = 10_000
/** A server that does not repeat mixed case is tried again after this. */
const LOWER_CASE_FOR_MS = 10 * 60_000

type PooledSocket = { socket: UdpSocket; openedAt: number; retire: () => void }

export function createUdpPool(server: ServerAddress, clock: Clock, deadlines: Deadlines): UdpPool {
  // Whether the server repeats mixed case; then other responses are forged. False until `lowerUntil`.
  let repeatsCase: boolean | undefined
  let lowerUntil = 0
  const sockets: (PooledSocket | undefined)[] = Array.from({ length: SOCKETS })

  function pickSocket(): UdpSocket {
    const index = randomInt(SOCKETS)
    const current = sockets[index]
    if (current?.socket.isOpen() && !isWornOut(current)) return current.socket
    current?.retire()
    return open(index)
  }

  function isWornOut({ socket, openedAt }: PooledSocket): boolean {
    return socket.queryCount() >= QUERIES_PER_SOCKET && clock.elapsed() - openedAt >= MIN_SOCKET_AGE_MS
  }

  function open(index: number): UdpSocket {
    const socket = openUdpSocket(server)
    const retire = () => {
      cancelDeadline()
      sockets[index] = undefined
      socket.retire()
    }
    const openedAt = clock.elapsed()
    const cancelDeadline = deadlines.add(openedAt + MAX_SOCKET_AGE_MS, retire)
    sockets[index] = { socket, openedAt, retire }
    return socket
  }

  function useLowerCase(): void {
    repeatsCase = false
    lowerUntil = clock.elapsed() + LOWER_CASE_FOR_MS
  }

  /** Whether to accept a response. `isSame`: its name has the letter case of the query. */
  function acceptsCase(isSame: boolean): boolean {
    if (isSame) repeatsCase = true
    else if (repeatsCase === undefined) useLowerCase()
    return isSame || !repeatsCase
  }

  const send: Send = (query, done, mixesCase = false) => {
    if (repeatsCase === false && clock.elapsed() >= lowerUntil) repeatsCase = undefined
    if (!mixesCase || repeatsCase === false || !mixCase(query)) return pickSocket().send(query, done, always)
    const cancel = pickSocket().send(query, done, acceptsCase)
    return () => {
      const mismatched = cancel()
      // Some servers do not answer mixed case at all, and servers behind one address may differ.
      if (repeatsCase === undefined || (mismatched && compareQuestion(query, mismatched) === 'otherCase'))
        useLowerCase()
      return mismatched
    }
  }

  return {
    send,
    close() {
      for (const pooled of sockets) pooled?.retire()
    },
  }
}

const always = () => true

/** One UDP socket with its own port, connected to one server. Several queries may be in flight; their ids distinguish them. */
type UdpSocket = {
  /** `acceptsCase`: called for each response, with whether it has the letter case of the query. */
  send(query: Buffer, done: (received: Received) => void, acceptsCase: (isSame: boolean) => boolean): ReturnType<Send>
  /** Queries sent so far. */
  queryCount(): number
  /** False after the socket failed or was retired: no more queries may be sent. */
  isOpen(): boolean
  /** Closes the socket when no query is in flight. */
  retire(): void
}

type InFlightQuery = {
  query: Buffer
  done: (received: Received) => void
  acceptsCase: (isSame: boolean) => boolean
  mismatched: Buffer | undefined
  isOtherCase: boolean
}

function openUdpSocket(server: ServerAddress): UdpSocket {
  const socket = createSocket(isIPv6(server.ip) ? 'udp6' : 'udp4')
  const inFlight = new Map<number, InFlightQuery>()
  const unsent = new Map<number, Buffer>()
  let peer: { address: string; port: number } | undefined
  let queryCount = 0
  let isOpen = true
  let isClosed = false

  socket.unref() // the deadlines of queries in flight keep the process alive
  socket.on('error', fail)
  socket.on('connect', () => {
    if (isClosed) return
    peer = socket.remoteAddress()
    sendAll()
  })
  socket.on('message', (packet, sender) => {
    // Before it is connected, the socket receives packets from anyone.
    if (packet.length < 2 || sender.address !== peer?.address || sender.port !== peer.port) return
    const id = packet.readUInt16BE(0)
    const sent = inFlight.get(id)
    if (!sent) return
    const match = compareQuestion(sent.query, packet)
    if (match === 'other' || !sent.acceptsCase(match === 'same')) {
      // A packet that differs only in letter case is the most informative mismatch.
      if (match !== 'other' || !sent.isOtherCase) sent.mismatched = packet
      sent.isOtherCase ||= match !== 'other'
      return
    }
    remove(id)
    sent.done({ kind: 'packet', packet })
  })
  socket.connect(server.port, server.ip)

  /** Sends all queries of one turn of the event loop together: one system wake-up for each would cost a fifth of a check. */
  function sendAll(): void {
    if (!peer) return
    for (const query of unsent.values()) socket.send(query, onSent)
    unsent.clear()
  }

  function onSent(error: Error | null): void {
    if (error) fail(error)
  }

  // An ICMP error does not say which query caused it, so all queries of the socket fail.
  function fail(error: Error): void {
    isOpen = false
    const failed = [...inFlight.values()]
    inFlight.clear()
    unsent.clear()
    closeWhenDone()
    for (const { done } of failed) done(unreachable(error))
  }

  function remove(id: number): void {
    inFlight.delete(id)
    unsent.delete(id)
    closeWhenDone()
  }

  function closeWhenDone(): void {
    if (isOpen || isClosed || inFlight.size > 0) return
    isClosed = true
    socket.close()
  }

  return {
    send(query, done, acceptsCase) {
      let id = randomInt(0x10000)
      while (inFlight.has(id)) id = randomInt(0x10000)
      query.writeUInt16BE(id, 0)
      queryCount++
      const sent: InFlightQuery = { query, done, acceptsCase, mismatched: undefined, isOtherCase: false }
      inFlight.set(id, sent)
      unsent.set(id, query)
      if (unsent.size === 1) setImmediate(sendAll)
      return () => {
        remove(id)
        return sent.mismatched
      }
    },
    queryCount: () => queryCount,
    isOpen: () => isOpen,
    retire() {
      isOpen = false
      closeWhenDone()
    },
  }
}

// Matching a response to its query

const HEADER_LENGTH = 12
const QR_AND_OPCODE = 0xf8
const RESPONSE_TO_QUERY = 0x80
const FORMERR = 1
const NXDOMAIN = 3
const NOTIMP = 4

const random = Buffer.alloc(4_096)
let used = random.length

/** Gives each letter of the query's name a random case, which a forger must guess. Returns whether the name has capitals now. */
export function mixCase(query: Buffer): boolean {
  if (used + 4 > random.length) {
    randomFillSync(random)
    used = 0
  }
  const bits = random.readUInt32LE(used)
  used += 4
  let letter = 0
  let hasCapitals = false
  for (let at = HEADER_LENGTH + 1; query[at - 1] !== 0; at++) {
    const end = at + query[at - 1]! // of the label
    for (; at < end; at++) {
      if (!isLower(query[at]!) || ((bits >>> (letter++ & 31)) & 1) === 0) continue
      query[at]! -= 0x20
      hasCapitals = true
    }
  }
  return hasCapitals
}

/**
 * Whether a packet with the query's id has the query's question. RFC 5452 section 9.1. `otherCase`: it differs only in letter case.
 * A failure may omit the question.
 */
export function compareQuestion(query: Buffer, packet: Buffer): 'same' | 'otherCase' | 'other' {
  if (packet.length < HEADER_LENGTH || (packet[2]! & QR_AND_OPCODE) !== RESPONSE_TO_QUERY) return 'other'
  const rcode = packet[3]! & 0x0f
  // Servers that cannot read the query may return only its header.
  if ((rcode === FORMERR || rcode === NOTIMP) && packet.length === HEADER_LENGTH) return 'same'
  if (packet.readUInt16BE(4) === 0) return rcode === 0 || rcode === NXDOMAIN ? 'other' : 'same'
  let match: 'same' | 'otherCase' = 'same'
  const end = endOfQuestion(query)
  if (packet.length < end || packet.readUInt16BE(4) !== 1) return 'other'
  for (let at = HEADER_LENGTH; at < end; at++) {
    const queried = query[at]!
    const returned = packet[at]!
    if (queried === returned) continue
    // The length of a label is never a letter, so this bit can differ only in letters.
    if ((queried ^ returned) !== 0x20 || !isLower(queried | 0x20) || at >= end - 4) return 'other'
    match = 'otherCase'
  }
  return match
}

function endOfQuestion(query: Buffer): number {
  let at = HEADER_LENGTH
  while (query[at] !== 0) at += query[at]! + 1
  return at + 5
}

const isLower = (octet: number): boolean => octet >= 0x61 && octet <= 0x7a
