import { once } from 'node:events'
import { connect } from 'node:net'
import { fastify } from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { Problem } from '../problem.ts'
import { limitLargeBodies } from './large-bodies.ts'

const MEBIBYTE = 1024 * 1024

test('an organization has 4 requests with large bodies at a time, a process 16, and small ones are not limited', async () => {
  const send = await givenServer()
  const waiting = []
  for (let count = 0; count < 4; count++) waiting.push(await send('one'))
  expect(waiting.map(({ status }) => status)).toEqual(Array(4).fill('pending'))
  expect((await send('one')).status).toBe(429)
  expect((await send('one', { length: MEBIBYTE })).status).toBe('pending')

  waiting[0]!.leave()
  await waiting[0]!.isOver
  expect((await send('one')).status).toBe('pending')
  for (const other of ['two', 'three', 'four'])
    for (let count = 0; count < 4; count++) expect((await send(other)).status).toBe('pending')
  expect((await send('five')).status).toBe(503)
})

/** Returns a function that sends the headers of a request, and returns its status, or `pending` if its body is read. */
async function givenServer() {
  const app = fastify({ forceCloseConnections: true })
  const isRead = new Map<string, () => void>()
  const isOver = new Map<string, Promise<unknown>>()
  app.addHook('onRequest', async (request, reply) => {
    request.context = { organizationId: request.headers['x-organization'] } as never
    isOver.set(`${request.headers['x-id']}`, once(reply.raw, 'close'))
  })
  limitLargeBodies(app)
  app.addHook('preParsing', async ({ headers }) => isRead.get(`${headers['x-id']}`)!())
  app.setErrorHandler((error, _request, reply) => reply.code(error instanceof Problem ? error.status : 400).send(''))
  app.post('/bulk', { bodyLimit: 16 * MEBIBYTE }, async () => '')
  await app.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(() => app.close())
  const { port } = app.server.address() as { port: number }
  let sent = 0
  return async (organization: string, { length = 2 * MEBIBYTE } = {}) => {
    const id = `${++sent}`
    const socket = connect({ port, host: '127.0.0.1' }).on('error', () => {})
    onTestFinished(() => void socket.destroy())
    const pending = new Promise<'pending'>((resolve) => isRead.set(id, () => resolve('pending')))
    const answered = once(socket, 'data').then(([data]) => Number(String(data).split(' ')[1]))
    const headers = ['Host: localhost', `X-Organization: ${organization}`, `X-Id: ${id}`, `Content-Length: ${length}`]
    socket.write(['POST /bulk HTTP/1.1', 'Content-Type: application/json', ...headers, '', ''].join('\r\n'))
    const status = await Promise.race([pending, answered])
    return { status, leave: () => socket.destroy(), isOver: isOver.get(id) }
  }
}
