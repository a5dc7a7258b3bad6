import { createSocket, Socket } from 'node:dgram'
import { once } from 'node:events'
import { encode } from 'dns-packet'
import { expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../clock.ts'
import { givenDnsServer } from '../testing/dns.ts'
import { createDeadlines } from './deadlines.ts'
import type { Received } from './transport.ts'
import { createUdpPool } from './udp.ts'

const question = { name: 'www.example.com', type: 'A' } as const
const TRUE_ANSWER = '192.0.2.1'

function answerTo(query: Buffer, address: string): Buffer {
  const answers = [{ ...question, ttl: 60, data: address }]
  return encode({ type: 'response', id: query.readUInt16BE(0), questions: [question], answers })
}

/** A query whose socket has its port, but is not connected to the server before `connect`. */
async function givenUnconnectedQuery() {
  const dns = await givenDnsServer()
  dns.respond('*', (query) => answerTo(query, TRUE_ANSWER))
  const deadlines = createDeadlines(systemClock)
  const pool = createUdpPool(dns.address, systemClock, deadlines)
  onTestFinished(() => {
    vi.restoreAllMocks()
    pool.close()
    deadlines.close()
  })
  const unconnected = new Promise<Socket>((resolve) => {
    vi.spyOn(Socket.prototype, 'connect').mockImplementationOnce(function (this: Socket) {
      this.bind(0, '127.0.0.1', () => resolve(this))
    })
  })
  const query = encode({ type: 'query', questions: [question] })
  const received = new Promise<Received>((resolve) => void pool.send(query, resolve))
  const socket = await unconnected
  return { query, socket, received, connect: () => socket.connect(dns.address.port, dns.address.ip), dns }
}

/** `port`: 0 is any. It is connected, so that `send` passes the packet to the kernel before it returns. */
async function givenForger(target: Socket, ip: string, port = 0) {
  const forger = createSocket('udp4')
  onTestFinished(() => void forger.close())
  forger.bind(port, ip)
  await once(forger, 'listening')
  forger.connect(target.address().port, '127.0.0.1')
  await once(forger, 'connect')
  return forger
}

const isTrue = (query: Buffer) => ({ kind: 'packet', packet: answerTo(query, TRUE_ANSWER) })

test('a forged answer that arrives before the socket is connected is ignored', async () => {
  const { query, socket, received, connect } = await givenUnconnectedQuery()
  const forger = await givenForger(socket, '127.0.0.1')
  forger.send(answerTo(query, '198.51.100.1'))
  await once(socket, 'message')
  connect()
  expect(await received).toEqual(isTrue(query))
})

test.each(['another port', 'another address'])(
  'a forged answer from %s that the kernel accepted before the socket was connected is ignored',
  async (from) => {
    const { query, socket, received, connect, dns } = await givenUnconnectedQuery()
    const forger =
      from === 'another port'
        ? await givenForger(socket, '127.0.0.1')
        : await givenForger(socket, '127.0.0.9', dns.address.port)
    forger.send(answerTo(query, '198.51.100.1'))
    connect()
    await Promise.all([once(socket, 'message'), received])
    expect(await received).toEqual(isTrue(query))
  },
)
