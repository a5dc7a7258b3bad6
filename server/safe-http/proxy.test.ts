import { readFileSync } from 'node:fs'
import net from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { systemClock } from '../clock.ts'
import { startReceiver } from '../testing/receiver.ts'
import { parseNetworks } from './address-policy.ts'
import { createSafeFetch, type SafeFetchOptions } from './safe-fetch.ts'

const body = Buffer.from('{"id":"req_1"}')
const open: (() => Promise<void> | void)[] = []
const fixture = (name: string) => readFileSync(new URL(`../testing/fixtures/${name}.pem`, import.meta.url), 'utf8')

afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

/** A proxy that connects wherever it is told to, or answers what the test says. It notes what it was asked. */
async function givenProxy(answer?: string) {
  const asked: string[] = []
  const sockets = new Set<net.Socket>()
  const server = net.createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', (head) => {
      asked.push(head.toString())
      if (answer !== undefined) return void socket.end(answer)
      const [, host, port] = /^CONNECT \[?([^\]\s]+?)\]?:(\d+) /.exec(head.toString()) ?? []
      const onward = net.connect(Number(port), host)
      sockets.add(onward)
      onward.on('error', () => socket.destroy())
      onward.once('connect', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
        socket.pipe(onward).pipe(socket)
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  open.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as net.AddressInfo
  return { asked, url: (user = '') => new URL(`http://${user}127.0.0.1:${port}`) }
}

async function givenReceiver(tls?: { key: string; cert: string }) {
  const receiver = await startReceiver(tls ? { tls } : {})
  open.push(receiver.close)
  return receiver
}

function givenSafeFetch(options: Partial<SafeFetchOptions>) {
  const loopback = parseNetworks('127.0.0.0/8')
  const safeFetch = createSafeFetch({
    clock: systemClock,
    lookup: async () => ['127.0.0.1'],
    allowedNetworks: loopback.ok ? loopback.networks : [],
    ...options,
  })
  open.push(safeFetch.close)
  return safeFetch
}

test('a request goes through the proxy, which receives the vetted address and never the name', async () => {
  const proxy = await givenProxy()
  const receiver = await givenReceiver()
  const safeFetch = givenSafeFetch({ proxy: proxy.url() })

  const result = await safeFetch.post(`http://receiver.test:${receiver.port}/hook`, {}, body)

  expect(result).toMatchObject({ kind: 'response', status: 200 })
  expect(proxy.asked).toEqual([
    `CONNECT 127.0.0.1:${receiver.port} HTTP/1.1\r\nHost: 127.0.0.1:${receiver.port}\r\n\r\n`,
  ])
  expect(receiver.received).toMatchObject([
    { body, path: '/hook', headers: { host: `receiver.test:${receiver.port}` } },
  ])
})

test('the connection through the proxy is kept for the next request', async () => {
  const proxy = await givenProxy()
  const receiver = await givenReceiver()
  const safeFetch = givenSafeFetch({ proxy: proxy.url() })

  for (let count = 0; count < 3; count++) await safeFetch.post(`http://receiver.test:${receiver.port}/`, {}, body)

  expect(receiver.received).toHaveLength(3)
  expect(proxy.asked).toHaveLength(1)
})

test('over HTTPS the certificate is verified for the name, end to end', async () => {
  const cert = fixture('receiver.cert')
  const proxy = await givenProxy()
  const receiver = await givenReceiver({ key: fixture('receiver.key'), cert })
  const safeFetch = givenSafeFetch({ proxy: proxy.url(), authorities: cert })

  expect(await safeFetch.post(`https://receiver.test:${receiver.port}/`, {}, body)).toMatchObject({ status: 200 })
  expect(await safeFetch.post(`https://other.test:${receiver.port}/`, {}, body)).toMatchObject({
    kind: 'failed',
    reason: 'the certificate is for a different name',
  })
})

test('a private address is refused before the proxy is asked', async () => {
  const proxy = await givenProxy()
  const safeFetch = givenSafeFetch({ proxy: proxy.url(), lookup: async () => ['10.0.0.1'] })

  expect(await safeFetch.post('http://inside.test/', {}, body)).toMatchObject({ kind: 'refused' })
  expect(proxy.asked).toEqual([])
})

test('the proxy itself may be anywhere', async () => {
  const proxy = await givenProxy('HTTP/1.1 403 Forbidden\r\n\r\n')
  const safeFetch = givenSafeFetch({ proxy: proxy.url(), allowedNetworks: [], lookup: async () => ['2606:4700::1111'] })

  expect(await safeFetch.post('https://receiver.test/', {}, body)).toMatchObject({
    kind: 'failed',
    reason: 'the proxy answered 403 to CONNECT [2606:4700::1111]:443',
  })
})

test('user and password are for the proxy alone', async () => {
  const proxy = await givenProxy()
  const receiver = await givenReceiver()
  const safeFetch = givenSafeFetch({ proxy: proxy.url('someone:s%40cret@') })

  await safeFetch.post(`http://receiver.test:${receiver.port}/`, {}, body)

  const credentials = Buffer.from('someone:s@cret').toString('base64')
  expect(proxy.asked[0]).toContain(`\r\nProxy-Authorization: Basic ${credentials}\r\n`)
  expect(receiver.received[0]!.headers).not.toHaveProperty('proxy-authorization')
})

test.each([
  ['HTTP/1.1 403 Forbidden\r\n\r\n', 'the proxy answered 403 to CONNECT 127.0.0.1:8'],
  ['SSH-2.0-x\r\n\r\n', 'the response of the proxy is not valid HTTP'],
  ['', 'the proxy closed the connection without a response'],
  ['x'.repeat(20_000), 'the response of the proxy is not valid HTTP'],
])('a proxy that answers %j fails the attempt and is named', async (answer, reason) => {
  const proxy = await givenProxy(answer)
  const safeFetch = givenSafeFetch({ proxy: proxy.url() })

  expect(await safeFetch.post('http://receiver.test:8/', {}, body)).toMatchObject({ kind: 'failed', reason })
})

test('an unreachable proxy fails the attempt and is named', async () => {
  const safeFetch = givenSafeFetch({ proxy: new URL('http://127.0.0.1:1') })

  expect(await safeFetch.post('http://receiver.test:8/', {}, body)).toMatchObject({
    kind: 'failed',
    reason: 'the proxy cannot be reached (ECONNREFUSED)',
  })
})

test('a proxy that never answers is a timeout', async () => {
  const silent = net.createServer(() => {})
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  open.push(() => void silent.close())
  const { port } = silent.address() as net.AddressInfo
  const safeFetch = givenSafeFetch({ proxy: new URL(`http://127.0.0.1:${port}`), timeoutMs: 200 })

  expect(await safeFetch.post('http://receiver.test:8/', {}, body)).toMatchObject({ kind: 'timeout', phase: 'connect' })
})

test('ports that are denied are a setting', async () => {
  const receiver = await givenReceiver()
  const safeFetch = givenSafeFetch({ deniedPorts: [receiver.port] })

  expect(await safeFetch.post(receiver.url, {}, body)).toMatchObject({ kind: 'refused' })
  expect((await safeFetch.refusalOf(receiver.url))?.text).toContain(
    `Port ${receiver.port} is reserved for another protocol`,
  )
})

test('the name of a URL is judged before it is saved, as far as it can be', async () => {
  const lookup = async (name: string) => {
    if (name === 'none.test') return []
    if (name === 'away.test') throw new Error('no name server answered in time')
    return name === 'inside.test' ? ['192.0.2.1', '10.0.0.1'] : ['127.0.0.1']
  }
  const safeFetch = givenSafeFetch({ lookup })

  expect(await safeFetch.refusalOf('https://fine.test/')).toBeNull()
  expect(await safeFetch.refusalOf('https://none.test/')).toBeNull()
  expect(await safeFetch.refusalOf('https://away.test/')).toBeNull()
  expect((await safeFetch.refusalOf('https://inside.test/'))?.text).toMatch(
    /^inside\.test has an address that is not public. /,
  )
  expect((await safeFetch.refusalOf('ftp://fine.test/'))?.text).toBe('The URL must begin with https:// or http://.')
})
