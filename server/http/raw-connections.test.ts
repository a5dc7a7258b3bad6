import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { systemClock } from '../clock.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'

/** Everything that the server sends until it closes the connection, or for `forMs`. */
async function exchange(port: number, text: string, forMs = 3_000): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let response = ''
  await new Promise<void>((resolve) => {
    socket.setTimeout(forMs, () => socket.destroy())
    socket.on('data', (part) => {
      response += part
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve())
    socket.write(text)
  })
  return response
}

const bodyOf = (response: string) => JSON.parse(response.slice(response.indexOf('\r\n\r\n') + 4))

async function givenPort({ app }: TestApp): Promise<number> {
  return Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port)
}

test.each([
  ['headers too large', `GET / HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(40_000)}\r\n\r\n`, 431],
  ['an address too long', `GET /${'x'.repeat(40_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 414],
  ['no HTTP at all', '\u0016\u0003\u0001 hello\r\n\r\n', 400],
  ['a wrong chunk', 'POST /groups HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', 400],
  ['two lengths', 'POST /groups HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', 400],
  ['no host', 'GET /groups HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
  ['two hosts', 'GET /groups HTTP/1.1\r\nHost: x\r\nhost: y\r\nConnection: close\r\n\r\n', 400],
  ['an expectation', 'GET /groups HTTP/1.1\r\nHost: x\r\nExpect: magic\r\nConnection: close\r\n\r\n', 417],
  ['an unknown method', 'BREW /groups HTTP/1.1\r\nHost: x\r\n\r\n', 400],
  ['a header with NUL', 'GET /groups HTTP/1.1\r\nHost: x\r\nX-Api-Key: a\0b\r\n\r\n', 400],
])('%s gets an error in the usual shape', async (_what, text, status) => {
  const response = await exchange(await givenPort(await givenApp('sqlite')), text, 1_000)
  expect(response).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  expect(bodyOf(response)).toMatchObject({ code: status, error: expect.any(String) })
  expect(response.toLowerCase()).toContain('x-request-id: ')
  expect(response.toLowerCase()).toMatch(/x-ratelimit-limit: \d+/)
})

test('a body above 1 MiB is a 413, and a wrong Content-Length a 400', async () => {
  const world = await givenApp('sqlite')
  const response = await world.call('/groups', { method: 'POST', body: { name: 'x'.repeat(1_100_000) } })
  expect([response.status, response.body.code]).toEqual([413, 413])
})

test('a stopping server completes open requests, answers further ones, and closes their connections', async () => {
  const world = await givenApp('sqlite')
  const port = await givenPort(world)
  const { key } = await world.organization()
  const socket = connect(port, '127.0.0.1')
  let response = ''
  socket.on('error', () => {})
  socket.on('data', (part) => {
    response += part
  })
  const ended = once(socket, 'close')
  const head = `Host: x\r\nX-Api-Key: ${key}\r\n`
  const length = 'Content-Type: application/json\r\nContent-Length: 12\r\nExpect: 100-continue\r\n'
  socket.write(`POST /groups HTTP/1.1\r\n${head}${length}\r\n`)
  await expect.poll(() => response).toBe('HTTP/1.1 100 Continue\r\n\r\n') // the server has the request
  response = ''
  const closed = world.close()
  await systemClock.sleep(50)
  socket.write(`{"name":"x"}GET /groups HTTP/1.1\r\n${head}\r\n`)
  await Promise.all([closed, ended])
  const [first = '', second = ''] = response.split(/(?<=\})(?=HTTP)/)
  expect(first).toMatch(/^HTTP\/1.1 201 /)
  expect(second).toMatch(/^HTTP\/1.1 200 /)
  expect(second.toLowerCase()).toContain('connection: close')
})

test('only pages of the configured origins may call the API', async () => {
  const page = 'https://status.example.com'
  const world = await givenApp('sqlite', { CORS_ORIGINS: `${page},https://other.example` })
  const preflightRequest = {
    method: 'OPTIONS',
    key: null,
    headers: { origin: page, 'access-control-request-method': 'POST' },
  }
  const preflight = await world.call('/monitors', preflightRequest)
  expect([preflight.status, preflight.headers['access-control-allow-origin']]).toEqual([204, page])
  expect(preflight.headers['access-control-allow-headers']).toContain('X-Api-Key')
  const response = await world.call('/groups', { headers: { origin: page } })
  expect([response.status, response.headers['access-control-allow-origin']]).toEqual([200, page])
  expect(response.headers['access-control-expose-headers']).toContain('X-RateLimit-Remaining')
  expect(response.headers['access-control-expose-headers']).toContain('WWW-Authenticate')
  expect(response.headers.vary).toBe('Origin')
  const foreign = await world.call('/groups', { headers: { origin: 'https://evil.example' } })
  expect(foreign.headers['access-control-allow-origin']).toBeUndefined()
  const plain = await givenApp('sqlite')
  expect((await plain.call('/monitors', preflightRequest)).status).toBe(405)
})

test('an upload that the client aborts is not reported as an unavailable database', async () => {
  const world = await givenApp('sqlite')
  const port = await givenPort(world)
  const { key } = await world.organization()
  const aborted = new Promise((resolve) => world.app.server.on('request', (request) => request.on('close', resolve)))
  const socket = connect(port, '127.0.0.1')
  const head = `Host: x\r\nX-Api-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: 5000`
  socket.write(`POST /groups HTTP/1.1\r\n${head}\r\n\r\n{"name": "half`, () => socket.resetAndDestroy())
  await aborted
  await world.close()
  expect(world.logged).toEqual([])
})
