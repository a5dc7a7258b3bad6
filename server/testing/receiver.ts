import http from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'

/** One received request. `at` in UTC epoch milliseconds. */
export type Received = {
  method: string
  path: string
  headers: http.IncomingHttpHeaders
  body: Buffer
  at: number
}

export type Answer = { status: number; headers?: Record<string, string | string[]>; body?: string | Buffer }

export type Receiver = {
  /** Without a trailing slash. */
  url: string
  port: number
  /** The requests since the start or the last `reset`, in order. */
  received: Received[]
  /** How many connections were opened since the start. */
  connections(): number
  /** Answers every request like this from now on. */
  answers(answer: number | Answer | ((request: Received) => number | Answer | Promise<number | Answer>)): void
  /** Reads requests and never answers from now on. */
  hang(): void
  /** Clears `received` and answers 200 again. */
  reset(): void
  /** Resolves with the requests once there are `count`. Throws after `timeoutMs`. */
  waitFor(count: number, timeoutMs?: number): Promise<Received[]>
  /** Also closes all connections. */
  close(): Promise<void>
}

type Reply = (request: Received) => number | Answer | 'hang' | Promise<number | Answer>

/** A real webhook receiver, on 127.0.0.1 by default, for tests and the demo. It records requests and does not verify them. */
export async function startReceiver(
  options: { port?: number; ip?: string; tls?: { key: string; cert: string } } = {},
): Promise<Receiver> {
  const { ip = '127.0.0.1' } = options
  const received: Received[] = []
  const waiting = new Set<() => void>()
  let reply: Reply = () => 200
  let connections = 0

  const handle: http.RequestListener = async (request, response) => {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request) chunks.push(chunk)
    } catch {
      return // the sender closed the connection during its request
    }
    const current = toReceived(request, Buffer.concat(chunks))
    received.push(current)
    for (const resolveIfComplete of waiting) resolveIfComplete()
    const answer = await reply(current)
    if (answer === 'hang') return
    const { status, headers = {}, body = '' } = typeof answer === 'number' ? { status: answer } : answer
    response.writeHead(status, headers).end(body)
  }

  const server = options.tls ? https.createServer(options.tls, handle) : http.createServer(handle)
  server.on('connection', () => connections++)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port ?? 0, ip, resolve)
  })
  const { port } = server.address() as AddressInfo // a listening TCP server always has an AddressInfo

  return {
    url: `${options.tls ? 'https' : 'http'}://${ip}:${port}`,
    port,
    received,
    connections: () => connections,
    answers(answer) {
      reply = typeof answer === 'function' ? answer : () => answer
    },
    hang() {
      reply = () => 'hang'
    },
    reset() {
      received.length = 0
      reply = () => 200
    },
    waitFor: (count, timeoutMs = 60_000) => waitForRequests(received, waiting, count, timeoutMs),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function toReceived(request: http.IncomingMessage, body: Buffer): Received {
  return { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body, at: Date.now() }
}

function waitForRequests(
  received: Received[],
  waiting: Set<() => void>,
  count: number,
  timeoutMs: number,
): Promise<Received[]> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      waiting.delete(resolveIfComplete)
    }
    const resolveIfComplete = () => {
      if (received.length < count) return
      end()
      resolve(received)
    }
    const timer = setTimeout(() => {
      end()
      reject(new Error(`${received.length} of ${count} requests arrived within ${timeoutMs} ms`))
    }, timeoutMs)
    waiting.add(resolveIfComplete)
    resolveIfComplete()
  })
}
