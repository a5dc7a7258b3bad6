import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, isIPv6, type Socket } from 'node:net'

export type Transport = 'udp' | 'tcp'

/** Called for each query. `send` returns the packets to the client, over TCP each with its length in front. */
export type OnQuery = (query: Buffer, transport: Transport, fromPort: number, send: (packets: Buffer[]) => void) => void

export type Sockets = { port: number; close(): Promise<void> }

/** Listens for DNS queries on UDP and TCP of the same port. 0 selects a port that is free for both. */
export async function listenForQueries(ip: string, port: number, onQuery: OnQuery): Promise<Sockets> {
  for (let attempt = 1; ; attempt++) {
    const tcp = await listenTcp(ip, port, onQuery)
    try {
      const udp = await listenUdp(ip, tcp.port, onQuery)
      const close = async () => void (await Promise.all([tcp.close(), udp.close()]))
      return { port: tcp.port, close }
    } catch (error) {
      await tcp.close()
      if (port !== 0 || attempt === 20) throw error // otherwise the port was in use for UDP only
    }
  }
}

async function listenUdp(ip: string, port: number, onQuery: OnQuery): Promise<Sockets> {
  const socket = createSocket({ type: isIPv6(ip) ? 'udp6' : 'udp4', recvBufferSize: 1 << 20 })
  socket.on('message', (query, from) => {
    onQuery(query, 'udp', from.port, (packets) => {
      for (const packet of packets) socket.send(packet, from.port, from.address, () => {}) // the client may have gone
    })
  })
  socket.bind(port, ip)
  await once(socket, 'listening')
  return { port, close: async () => void (await new Promise<void>((resolve) => socket.close(resolve))) }
}

async function listenTcp(ip: string, port: number, onQuery: OnQuery): Promise<Sockets> {
  const openSockets = new Set<Socket>()
  const server = createServer((socket) => {
    openSockets.add(socket)
    socket.on('close', () => openSockets.delete(socket))
    socket.on('error', () => {}) // the client may go at any time
    let received = Buffer.alloc(0)
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk as Buffer]) // a Buffer, because no encoding is set
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE()) {
        const end = 2 + received.readUInt16BE()
        onQuery(received.subarray(2, end), 'tcp', socket.remotePort ?? 0, (packets) => {
          for (const packet of packets) if (socket.writable) socket.write(withLength(packet))
        })
        received = received.subarray(end)
      }
    })
  })
  server.listen(port, ip)
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port, // a listening TCP server always has an AddressInfo
    async close() {
      for (const socket of openSockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function withLength(packet: Buffer): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(packet.length)
  return Buffer.concat([length, packet])
}
