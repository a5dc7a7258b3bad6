import { createSocket } from 'node:dgram'

/**
 * The name server that the benchmark asks: answers every question at once with the A record 192.0.2.1, and does nothing
 * else, so that what is measured is Zonewatch. A process of its own. RFC 1035 section 4.1.
 */
const socket = createSocket({ type: 'udp4', recvBufferSize: 8 * 1024 * 1024, sendBufferSize: 8 * 1024 * 1024 })
const answer = Buffer.from('c00c00010001000001 2c0004c0000201'.replaceAll(' ', ''), 'hex')

socket.on('message', (query, { port, address }) => {
  let end = 12
  while (query[end] !== 0 && end < query.length) end += query[end]! + 1
  const reply = Buffer.concat([query.subarray(0, end + 5), answer])
  reply.writeUInt16BE(0x8180, 2) // QR, RD, RA, NOERROR
  reply.writeUInt32BE(0x0001_0001, 4)
  reply.writeUInt32BE(0, 8)
  socket.send(reply, port, address)
})
socket.bind(0, '127.0.0.1', () => process.send?.({ port: socket.address().port }))
process.on('message', () => process.send?.({ cpu: process.cpuUsage() }))
process.on('disconnect', () => process.exit(0))
