import { randomInt } from 'node:crypto'
import { connect } from 'node:net'
import type { ServerAddress } from './outcome.ts'
import { type Received, type Send, unreachable } from './transport.ts'

/** Each query has its own TCP connection. RFC 1035 section 4.2.2, RFC 7766 section 8. */
export function tcpTo(server: ServerAddress): Send {
  return (query, done) => {
    const id = randomInt(0x10000)
    query.writeUInt16BE(id, 0)
    const socket = connect({ host: server.ip, port: server.port, noDelay: true })
    const message = collectMessage()
    let isFinished = false

    function finish(received: Received): void {
      if (isFinished) return
      isFinished = true
      socket.destroy()
      done(received)
    }

    socket.on('connect', () => socket.write(framed(query)))
    socket.on('data', (chunk) => {
      const packet = message.add(chunk as Buffer) // a Buffer, because no encoding is set
      if (packet) finish(checkId(id, packet))
    })
    socket.on('error', (error) => finish(unreachable(error)))
    socket.on('close', () => finish(message.isEmpty() ? CLOSED_EARLY : INCOMPLETE))
    return () => {
      isFinished = true
      socket.destroy()
      return undefined
    }
  }
}

const CLOSED_EARLY: Received = { kind: 'unreachable', reason: 'the connection was closed without an answer' }
const INCOMPLETE: Received = { kind: 'malformed', reason: 'the connection was closed in the middle of the answer' }

// Length and message in one write: some servers do not read them separately.
function framed(query: Buffer): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(query.length)
  return Buffer.concat([length, query])
}

function checkId(id: number, packet: Buffer): Received {
  if (packet.length >= 2 && packet.readUInt16BE(0) === id) return { kind: 'packet', packet }
  return { kind: 'malformed', reason: 'the id differs from that of the query' }
}

/** Joins chunks of any size to one message of at most 65,535 bytes. */
function collectMessage() {
  const chunks: Buffer[] = []
  let received = 0
  let expected: number | undefined
  return {
    isEmpty: () => received === 0,
    add(chunk: Buffer): Buffer | undefined {
      chunks.push(chunk)
      received += chunk.length
      if (expected === undefined && received >= 2) expected = Buffer.concat(chunks).readUInt16BE(0) + 2
      return expected === undefined || received < expected ? undefined : Buffer.concat(chunks).subarray(2, expected)
    },
  }
}
