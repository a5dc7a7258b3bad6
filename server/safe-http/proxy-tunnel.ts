import net from 'node:net'
import tls from 'node:tls'
import type { ConnectionAttempt } from './vetted-connect.ts'

/** The proxy cannot be reached or refuses to connect. The message says which. */
export class ProxyFailure extends Error {}

const MAX_HEAD_BYTES = 16_384

/**
 * Connects to one of the addresses through the proxy (CONNECT, RFC 9110 section 9.3.6). The proxy receives the vetted address,
 * never the name. Rejects with `ProxyFailure`.
 */
export async function tunnelTo(
  proxy: URL,
  addresses: readonly string[],
  port: number,
  exchange: ConnectionAttempt,
): Promise<net.Socket> {
  let failure: unknown
  for (const address of addresses) {
    try {
      return await tunnel(proxy, address, port, exchange)
    } catch (error) {
      failure = error
    }
    if (exchange.signal.aborted) break
  }
  throw failure
}

function tunnel(proxy: URL, address: string, port: number, exchange: ConnectionAttempt): Promise<net.Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<net.Socket>()
  const socket = connectTo(proxy)
  const fail = (reason: string) => {
    reject(new ProxyFailure(reason))
    socket.destroy()
  }
  const abandon = () => fail('the attempt is over')
  exchange.signal.addEventListener('abort', abandon)
  void promise.catch(() => {}).finally(() => exchange.signal.removeEventListener('abort', abandon))
  // This listener stays: an error without a listener would end the process.
  socket.on('error', (error: NodeJS.ErrnoException) => fail(`the proxy cannot be reached (${error.code})`))
  socket.once('close', () => reject(new ProxyFailure('the proxy closed the connection without a response')))

  const authority = `${net.isIPv6(address) ? `[${address}]` : address}:${port}`
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${authorizationFor(proxy)}\r\n`)
  let head = Buffer.alloc(0)
  const read = (chunk: Buffer) => {
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end < 0) {
      if (head.length > MAX_HEAD_BYTES) fail('the response of the proxy is not valid HTTP')
      return
    }
    socket.off('data', read)
    const status = /^HTTP\/1\.[01] (\d{3})/.exec(head.toString('latin1', 0, end))?.[1]
    if (status === undefined) return fail('the response of the proxy is not valid HTTP')
    if (!status.startsWith('2')) return fail(`the proxy answered ${status} to CONNECT ${authority}`)
    socket.pause()
    if (head.length > end + 4) socket.unshift(head.subarray(end + 4))
    resolve(socket)
  }
  socket.on('data', read)
  return promise
}

function connectTo(proxy: URL): net.Socket {
  const host = proxy.hostname.replace(/^\[|\]$/g, '')
  const isSecure = proxy.protocol === 'https:'
  const port = Number(proxy.port) || (isSecure ? 443 : 80)
  if (!isSecure) return net.connect({ host, port, noDelay: true })
  return tls.connect({ host, port, ...(net.isIP(host) === 0 ? { servername: host } : {}) })
}

function authorizationFor({ username, password }: URL): string {
  if (username === '') return ''
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`)
  return `Proxy-Authorization: Basic ${credentials.toString('base64')}\r\n`
}
