import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, isIPv6, type Socket } from 'node:net'

export type Transport = 'udp' | 'tcp'

/** Called for each query; `send` takes the packets that go back, over TCP each behind its length. */
export type OnQuery = (query: Buffer, transport: Transport, fromPort: number, send: (packets: Buffer[]) => void) => void

export type Sockets = { port: number; close(): Promise<void> }

/** Listens for DNS queries on UDP and TCP, on the same port; 0 = one that is free for both. */
export async function listenForQueries(ip: string, port: number, onQuery: OnQuery): Promise<Sockets> {
  for (let tries = 1; ; tries++) {
    const tcp = await listenTcp(ip, port, onQuery)
    try {
      const udp = await listenUdp(ip, tcp.port, onQuery)
      const close = async () => void (await Promise.all([tcp.close(), udp.close()]))
      return { port: tcp.port, close }
    } catch (error) {
      await tcp.close()
      if (port !== 0 || tries === 20) throw error // else the port was taken for UDP only
    }
  }
}

async function listenUdp(ip: string, port: number, onQuery: OnQuery): Promise<Sockets> {
  const socket = createSocket({ type: isIPv6(ip) ? 'udp6' : 'udp4', recvBufferSize: 1 << 20 })
  socket.on('message', (query, from) => {
    onQuery(query, 'udp', from.port, (packets) => {
      for (const packet of packets) socket.send(packet, from.port, from.address, () => {}) // the asker may be gone
    })
  })
  socket.bind(port, ip)
  await once(socket, 'listening')
  return { port, close: async () => void (await new Promise<void>((resolve) => socket.close(resolve))) }
}

async function listenTcp(ip: string, port: number, onQuery: OnQuery): Promise<Sockets> {
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    socket.on('error', () => {}) // the asker may go at any time
    let received = Buffer.alloc(0)
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk as Buffer]) // no encoding is set, so it is no string
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE()) {
        const end = 2 + received.readUInt16BE()
        onQuery(received.subarray(2, end), 'tcp', socket.remotePort ?? 0, (packets) => {
          for (const packet of packets) if (socket.writable) socket.write(framed(packet))
        })
        received = received.subarray(end)
      }
    })
  })
  server.listen(port, ip)
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port, // it listens on TCP, not on a pipe
    async close() {
      for (const socket of open) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function framed(packet: Buffer): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(packet.length)
  return Buffer.concat([length, packet])
}
