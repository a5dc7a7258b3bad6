import { createSocket } from 'node:dgram'

/**
 * The name server that the benchmarks ask: answers every question at once with one A record and does nothing else, so that
 * what is measured is Zonewatch. A process of its own. RFC 1035 section 4.1.
 */
export type Order =
  | { kind: 'cpu' }
  /** From now on every fourth name, by the number that its first label ends in, gets no answer. */
  | { kind: 'silence' }
  /** From now on the names of this first label have the address 192.0.2.<last>; null: they fail with SERVFAIL. */
  | { kind: 'set'; records: [label: string, last: number | null][] }
  /** From now on so large a share of the questions is lost, at random. */
  | { kind: 'lose'; share: number }
export type Report = { port?: number; cpu: number }

const socket = createSocket({
  type: 'udp4',
  recvBufferSize: 8 * 1024 * 1024,
  sendBufferSize: 8 * 1024 * 1024,
  lookup: (address, _, done) => done(null, address, 4), // only addresses are sent to
})
const answer = Buffer.from('c00c000100010000012c0004c0000201', 'hex')
const changed = new Map<string, number | null>()
let isSilent = false
let lost = 0

socket.on('message', (query, { port, address }) => {
  if (lost > 0 && Math.random() < lost) return
  let end = 12
  while (query[end] !== 0 && end < query.length) end += query[end]! + 1
  const name = isSilent || changed.size > 0 ? query.toString('latin1', 13, 13 + query[12]!).toLowerCase() : ''
  if (isSilent && Number.parseInt(name.slice(1), 10) % 4 === 0) return
  const last = changed.get(name)
  const reply = Buffer.allocUnsafe(end + 5 + (last === null ? 0 : answer.length))
  query.copy(reply, 0, 0, end + 5)
  if (last !== null) answer.copy(reply, end + 5)
  reply.writeUInt16BE(last === null ? 0x8182 : 0x8180, 2) // QR, RD, RA, SERVFAIL or NOERROR
  reply.writeUInt32BE(last === null ? 0x0001_0000 : 0x0001_0001, 4)
  reply.writeUInt32BE(0, 8)
  if (last) reply[reply.length - 1] = last
  socket.send(reply, port, address)
})
socket.bind(0, '127.0.0.1', () => tell({ port: socket.address().port }))

function tell(more: { port?: number } = {}): void {
  const { user, system } = process.cpuUsage()
  process.send?.({ ...more, cpu: (user + system) / 1e6 } satisfies Report)
}

process.on('message', (order: Order) => {
  if (order.kind === 'silence') isSilent = true
  if (order.kind === 'lose') lost = order.share
  if (order.kind === 'set') for (const [label, last] of order.records) changed.set(label, last)
  tell()
})
process.on('disconnect', () => process.exit(0))
