import type { Socket } from 'node:net'

/** Octets of the header of an interim response. Longer ones are passed on, and fail. */
const MAX_HEADER = 8_192
/** For one request. Further ones are passed on, and fail. */
const MAX_RESPONSES = 16

/**
 * Removes unrequested `100 Continue` responses from what is read of the socket: a client must ignore them (RFC 9110 section 15.2), and
 * undici closes the connection. The socket carries one request at a time.
 */
export function skipContinue(socket: Socket): Socket {
  const read = socket.read.bind(socket)
  const write = socket.write.bind(socket) as (...values: unknown[]) => boolean
  let isBeginning = true
  let count = 0
  let held = Buffer.alloc(0)

  socket.write = (...values: unknown[]) => {
    isBeginning = true
    count = 0
    return write(...values)
  }
  socket.read = (size?: number) => {
    for (;;) {
      const chunk: Buffer | null = read(size)
      if (!isBeginning || chunk === null) return chunk
      held = Buffer.concat([held, chunk])
      for (let end = endOfContinue(held); end > 0 && count < MAX_RESPONSES; end = endOfContinue(held)) {
        held = held.subarray(end)
        count++
      }
      const isIncomplete = count < MAX_RESPONSES && held.length < MAX_HEADER && mayBeContinue(held)
      if (isIncomplete) continue
      const rest = held
      held = Buffer.alloc(0)
      isBeginning = false
      return rest
    }
  }
  return socket
}

const CONTINUE = /^HTTP\/1\.[01] 100[ \r]/

function endOfContinue(octets: Buffer): number {
  const end = octets.indexOf('\r\n\r\n')
  return end >= 0 && CONTINUE.test(octets.toString('latin1', 0, 16)) ? end + 4 : 0
}

/** Whether more octets are needed to know. */
function mayBeContinue(octets: Buffer): boolean {
  const begin = octets.toString('latin1', 0, 13)
  return 'HTTP/1.1 100 '.startsWith(begin) || 'HTTP/1.0 100 '.startsWith(begin) || CONTINUE.test(begin)
}
