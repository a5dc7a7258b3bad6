import { createSocket } from 'node:dgram'

/**
 * The DNS server of the benchmarks, in its own process. It answers every query at once with one A record, so that Zonewatch
 * is what is measured. RFC 1035 section 4.1.
 */
export type Order =
  | { kind: 'cpu' }
  /** Stops answering every fourth name, by the number at the end of its first label. */
  | { kind: 'silence' }
  /** Sets the address of the names with this first label to 192.0.2.<last>. Null: SERVFAIL. */
  | { kind: 'set'; records: [label: string, last: number | null][] }
  /** Drops this share of the queries at random. */
  | { kind: 'lose'; share: number }
export type Report = { port?: number; cpu: number }

const socket = createSocket({
  type: 'udp4',
  recvBufferSize: 8 * 1024 * 1024,
  sendBufferSize: 8 * 1024 * 1024,
  lookup: (address, _, done) => done(null, address, 4), // the destinations are always addresses
})
const answer = Buffer.from('c00c000100010000012c0004c0000201', 'hex')
const changed = new Map<string, number | null>()
let isSilent = false
let lossShare = 0

socket.on('message', (query, { port, address }) => {
  if (lossShare > 0 && Math.random() < lossShare) return
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
socket.bind(0, '127.0.0.1', () => report({ port: socket.address().port }))

function report(details: { port?: number } = {}): void {
  const { user, system } = process.cpuUsage()
  process.send?.({ ...details, cpu: (user + system) / 1e6 } satisfies Report)
}

process.on('message', (order: Order) => {
  if (order.kind === 'silence') isSilent = true
  if (order.kind === 'lose') lossShare = order.share
  if (order.kind === 'set') for (const [label, last] of order.records) changed.set(label, last)
  report()
})
process.on('disconnect', () => process.exit(0))
