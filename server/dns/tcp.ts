import { randomInt } from 'node:crypto'
import { connect } from 'node:net'
import type { ServerAddress } from './outcome.ts'
import { type Received, type Send, unreachable } from './transport.ts'

/** One question on a TCP connection of its own. RFC 1035 section 4.2.2, RFC 7766 section 8. */
export function tcpTo(server: ServerAddress): Send {
  return (query, done) => {
    const id = randomInt(0x10000)
    query.writeUInt16BE(id, 0)
    const socket = connect({ host: server.ip, port: server.port, noDelay: true })
    const message = collectMessage()
    let over = false

    function finish(received: Received): void {
      if (over) return
      over = true
      socket.destroy()
      done(received)
    }

    socket.on('connect', () => socket.write(framed(query)))
    socket.on('data', (chunk) => {
      const packet = message.add(chunk as Buffer) // no encoding is set, so it is no string
      if (packet) finish(answerTo(id, packet))
    })
    socket.on('error', (error) => finish(unreachable(error)))
    socket.on('close', () => finish(message.isEmpty() ? closedEarly : cutShort))
    return () => {
      over = true
      socket.destroy()
      return undefined
    }
  }
}

const closedEarly: Received = { kind: 'unreachable', reason: 'the connection was closed without an answer' }
const cutShort: Received = { kind: 'malformed', reason: 'the connection was closed in the middle of the answer' }

// In one piece: some servers read the length and the message singleFlight or not at all.
function framed(query: Buffer): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(query.length)
  return Buffer.concat([length, query])
}

function answerTo(id: number, packet: Buffer): Received {
  if (packet.length >= 2 && packet.readUInt16BE(0) === id) return { kind: 'packet', packet }
  return { kind: 'malformed', reason: 'the id differs from that of the query' }
}

/** Joins what arrives, in whatever pieces, to one message of at most 65,535 octets. */
function collectMessage() {
  const chunks: Buffer[] = []
  let octets = 0
  let wanted: number | undefined
  return {
    isEmpty: () => octets === 0,
    add(chunk: Buffer): Buffer | undefined {
      chunks.push(chunk)
      octets += chunk.length
      if (wanted === undefined && octets >= 2) wanted = Buffer.concat(chunks).readUInt16BE(0) + 2
      return wanted === undefined || octets < wanted ? undefined : Buffer.concat(chunks).subarray(2, wanted)
    },
  }
}
