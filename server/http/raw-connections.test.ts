import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { systemClock } from '../clock.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'

/** What a connection is answered, as text, until the server or `forMs` ends it. */
async function exchange(port: number, text: string, forMs = 3_000): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let answer = ''
  await new Promise<void>((resolve) => {
    socket.setTimeout(forMs, () => socket.destroy())
    socket.on('data', (part) => {
      answer += part
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve())
    socket.write(text)
  })
  return answer
}

const bodyOf = (answer: string) => JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))

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
])('%s is answered as every other error', async (_what, text, status) => {
  const answer = await exchange(await givenPort(await givenApp('sqlite')), text, 1_000)
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  expect(bodyOf(answer)).toMatchObject({ code: status, error: expect.any(String) })
  expect(answer.toLowerCase()).toContain('x-request-id: ')
  expect(answer.toLowerCase()).toMatch(/x-ratelimit-limit: \d+/)
})

test('a body that is larger than a mebibyte is 413, one with a wrong length 400', async () => {
  const world = await givenApp('sqlite')
  const answer = await world.call('/groups', { method: 'POST', body: { name: 'x'.repeat(1_100_000) } })
  expect([answer.status, answer.body.code]).toEqual([413, 413])
})

test('while the server stops it finishes what is in progress, answers what comes then, and closes the connection', async () => {
  const world = await givenApp('sqlite')
  const port = await givenPort(world)
  const { key } = await world.organization()
  const socket = connect(port, '127.0.0.1')
  let answer = ''
  socket.on('error', () => {})
  socket.on('data', (part) => {
    answer += part
  })
  const ended = once(socket, 'close')
  const head = `Host: x\r\nX-Api-Key: ${key}\r\n`
  const length = 'Content-Type: application/json\r\nContent-Length: 12\r\nExpect: 100-continue\r\n'
  socket.write(`POST /groups HTTP/1.1\r\n${head}${length}\r\n`)
  await expect.poll(() => answer).toBe('HTTP/1.1 100 Continue\r\n\r\n') // the server has the request
  answer = ''
  const closed = world.close()
  await systemClock.sleep(50)
  socket.write(`{"name":"x"}GET /groups HTTP/1.1\r\n${head}\r\n`)
  await Promise.all([closed, ended])
  const [first = '', second = ''] = answer.split(/(?<=\})(?=HTTP)/)
  expect(first).toMatch(/^HTTP\/1.1 201 /)
  expect(second).toMatch(/^HTTP\/1.1 200 /)
  expect(second.toLowerCase()).toContain('connection: close')
})

test('pages of the origins that are set, and only these, may call the API', async () => {
  const page = 'https://status.example.com'
  const world = await givenApp('sqlite', { CORS_ORIGINS: `${page},https://other.example` })
  const ask = { method: 'OPTIONS', key: null, headers: { origin: page, 'access-control-request-method': 'POST' } }
  const preflight = await world.call('/monitors', ask)
  expect([preflight.status, preflight.headers['access-control-allow-origin']]).toEqual([204, page])
  expect(preflight.headers['access-control-allow-headers']).toContain('X-Api-Key')
  const answer = await world.call('/groups', { headers: { origin: page } })
  expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([200, page])
  expect(answer.headers['access-control-expose-headers']).toContain('X-RateLimit-Remaining')
  expect(answer.headers['access-control-expose-headers']).toContain('WWW-Authenticate')
  expect(answer.headers.vary).toBe('Origin')
  const foreign = await world.call('/groups', { headers: { origin: 'https://evil.example' } })
  expect(foreign.headers['access-control-allow-origin']).toBeUndefined()
  const plain = await givenApp('sqlite')
  expect((await plain.call('/monitors', ask)).status).toBe(405)
})

test('an upload that its client breaks off is no failure of the database', async () => {
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
