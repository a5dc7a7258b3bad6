import { readFileSync } from 'node:fs'
import net from 'node:net'
import tls from 'node:tls'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../clock.ts'
import { startReceiver } from '../testing/receiver.ts'
import { parseNetworks } from './address-policy.ts'
import { createSafeFetch, type SafeFetchOptions } from './safe-fetch.ts'

const body = Buffer.from('{}')
const open: (() => Promise<void>)[] = []
const fixture = (name: string) => readFileSync(new URL(`../testing/fixtures/${name}.pem`, import.meta.url), 'utf8')
const key = fixture('receiver.key')
const valid = fixture('receiver.cert')
const expired = fixture('expired.cert')

afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

async function givenReceiver(cert: string) {
  const receiver = await startReceiver({ tls: { key, cert } })
  open.push(receiver.close)
  return receiver
}

function givenSafeFetch(options: Partial<SafeFetchOptions> = {}) {
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

test('the certificate is verified for the name, although the address is what is connected to', async () => {
  const receiver = await givenReceiver(valid)
  const safeFetch = givenSafeFetch({ authorities: valid })

  const result = await safeFetch.post(`https://receiver.test:${receiver.port}/hook`, {}, body)

  expect(result).toMatchObject({ kind: 'response', status: 200, timings: { tlsMs: expect.any(Number) } })
  expect(receiver.received[0]?.headers.host).toBe(`receiver.test:${receiver.port}`)
})

test('the name is sent in the handshake, without the dot at its end', async () => {
  const names: string[] = []
  const server = tls.createServer({
    key,
    cert: valid,
    SNICallback: (name, done) => {
      names.push(name)
      done(new Error('seen enough'))
    },
  })
  server.on('tlsClientError', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  open.push(async () => void server.close())
  const { port } = server.address() as net.AddressInfo

  await givenSafeFetch().post(`https://receiver.test.:${port}/`, {}, body)

  expect(names).toEqual(['receiver.test'])
})

test('further authorities are trusted beside the usual ones', async () => {
  const usual = tls.getCACertificates('default')
  onTestFinished(() => tls.setDefaultCACertificates(usual))
  tls.setDefaultCACertificates([valid])
  const receiver = await givenReceiver(valid)

  expect(await givenSafeFetch({ authorities: expired }).post(receiver.url, {}, body)).toMatchObject({ status: 200 })
})

test('HTTP/1.1 is what the handshake agrees on', async () => {
  let offered: string[] = []
  const server = tls.createServer({
    key,
    cert: valid,
    ALPNCallback: ({ protocols }) => {
      offered = protocols
      return undefined
    },
  })
  server.on('tlsClientError', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  open.push(async () => void server.close())
  const { port } = server.address() as net.AddressInfo

  await givenSafeFetch().post(`https://receiver.test:${port}/`, {}, body)

  expect(offered).toEqual(['http/1.1'])
})

test('a certificate must come with its intermediates', async () => {
  const issued = fixture('issued.cert')
  const [alone, whole] = [await givenReceiver(issued), await givenReceiver(issued + fixture('intermediate.cert'))]
  const safeFetch = givenSafeFetch({ authorities: fixture('root.cert') })

  expect(await safeFetch.post(`https://receiver.test:${whole.port}/`, {}, body)).toMatchObject({ status: 200 })
  expect(await safeFetch.post(`https://receiver.test:${alone.port}/`, {}, body)).toMatchObject({
    kind: 'failed',
    reason: 'the certificate cannot be verified; an intermediate certificate may be missing',
  })
})

test('a certificate can be for an address', async () => {
  const receiver = await givenReceiver(valid)

  expect(await givenSafeFetch({ authorities: valid }).post(receiver.url, {}, body)).toMatchObject({ status: 200 })
})

test.each([
  ['is self-signed', valid, {}, 'receiver.test', 'the certificate is self-signed'],
  ['is for another name', valid, { authorities: valid }, 'other.test', 'the certificate is for a different name'],
  ['has expired', expired, { authorities: expired }, 'receiver.test', 'the certificate has expired'],
])('a certificate that %s fails, and nothing is sent', async (_what, cert, options, name, reason) => {
  const receiver = await givenReceiver(cert)

  const result = await givenSafeFetch(options).post(`https://${name}:${receiver.port}/`, {}, body)

  expect(result).toMatchObject({ kind: 'failed', reason })
  expect(receiver.received).toEqual([])
})

test('a port that does not speak TLS fails', async () => {
  const receiver = await startReceiver()
  open.push(receiver.close)

  expect(await givenSafeFetch().post(`https://127.0.0.1:${receiver.port}/`, {}, body)).toMatchObject({
    kind: 'failed',
    reason: 'the port does not speak TLS',
  })
})

test('a handshake that does not end is a timeout', async () => {
  const sockets: net.Socket[] = []
  const server = net.createServer((socket) => sockets.push(socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  open.push(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as net.AddressInfo

  expect(await givenSafeFetch({ timeoutMs: 200 }).post(`https://receiver.test:${port}/`, {}, body)).toMatchObject({
    kind: 'timeout',
    phase: 'tls',
    reason: 'the TLS handshake did not complete within 0.2 s',
  })
})
