import { connect, type Socket } from 'node:net'
import { fastify } from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { limitUnreadResponses, responsesToClose } from './unread-responses.ts'

const MEBIBYTE = 1024 * 1024

const response = (client: string, writableLength: number) => ({
  client,
  response: { writableLength, destroy: () => ({}) as never },
})

test('the client with the most unread bytes loses its oldest responses', () => {
  const [a, b, c, d] = [response('one', 30), response('two', 40), response('one', 30), response('two', 0)]
  expect(responsesToClose([a!, b!, c!, d!], 100)).toEqual([])
  expect(responsesToClose([a!, b!, c!, d!], 99)).toEqual([a])
  expect(responsesToClose([a!, b!, c!, d!], 50)).toEqual([a, c])
})

test('many responses that nobody reads take a bounded amount of memory, and a client that reads receives its response', async () => {
  const app = fastify()
  const max = 40 * MEBIBYTE
  limitUnreadResponses(app, max)
  const sizes: number[] = []
  app.get('/large', async (_request, reply) => {
    reply.type('text/plain')
    return 'x'.repeat(12 * MEBIBYTE)
  })
  app.addHook(
    'onSend',
    async () => void sizes.push(pending().reduce((sum, { writableLength }) => sum + writableLength, 0)),
  )
  const sockets = new Set<Socket>()
  app.server.on('connection', (socket) => sockets.add(socket))
  const pending = () => [...sockets].filter(({ destroyed }) => !destroyed)
  await app.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(() => app.close())
  const { port } = app.server.address() as { port: number }

  const readers: Socket[] = []
  onTestFinished(() => readers.forEach((socket) => void socket.destroy()))
  for (let number = 0; number < 12; number++) {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.on('error', () => {})
    readers.push(socket.pause())
    const sent = sizes.length
    socket.write('GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n')
    while (sizes.length === sent) await new Promise(setImmediate)
  }
  expect(Math.max(...sizes)).toBeLessThanOrEqual(max)
  expect(pending().length).toBeLessThan(12)
  const read = await fetch(`http://127.0.0.1:${port}/large`)
  expect((await read.text()).length).toBe(12 * MEBIBYTE)
})
