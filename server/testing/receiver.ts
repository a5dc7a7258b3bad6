import http from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'

/** One request as it came. `at` in UTC epoch milliseconds of the machine. */
export type Received = {
  method: string
  path: string
  headers: http.IncomingHttpHeaders
  body: Buffer
  at: number
}

export type Answer = { status: number; headers?: Record<string, string | string[]>; body?: string | Buffer }

export type Receiver = {
  /** Without a slash at its end. */
  url: string
  port: number
  /** Everything that came since the start or the last `reset`, in order. */
  received: Received[]
  /** How many connections were opened since the start. */
  connections(): number
  /** From now on every request is answered so. */
  answers(answer: number | Answer | ((request: Received) => number | Answer | Promise<number | Answer>)): void
  /** From now on requests are read and never answered. */
  hang(): void
  /** Forgets what came and answers 200 again. */
  reset(): void
  /** Resolves with what came once there are `count` requests; throws when that takes longer than `timeoutMs`. */
  waitFor(count: number, timeoutMs?: number): Promise<Received[]>
  /** Closes every connection too. */
  close(): Promise<void>
}

type Replying = (request: Received) => number | Answer | 'hang' | Promise<number | Answer>

/** A real receiver of webhooks on 127.0.0.1 unless given, for tests and the demonstration. It records, answers, and verifies nothing. */
export async function startReceiver(
  options: { port?: number; ip?: string; tls?: { key: string; cert: string } } = {},
): Promise<Receiver> {
  const { ip = '127.0.0.1' } = options
  const received: Received[] = []
  const waiting = new Set<() => void>()
  let reply: Replying = () => 200
  let connections = 0

  const handle: http.RequestListener = async (request, response) => {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request) chunks.push(chunk)
    } catch {
      return // the sender went away within its request: nothing was received
    }
    const one = newReceived(request, Buffer.concat(chunks))
    received.push(one)
    for (const look of waiting) look()
    const answer = await reply(one)
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
  const { port } = server.address() as AddressInfo // always this form for a TCP server that listens

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
    waitFor: (count, timeoutMs = 60_000) => arrival(received, waiting, count, timeoutMs),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function newReceived(request: http.IncomingMessage, body: Buffer): Received {
  return { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body, at: Date.now() }
}

function arrival(
  received: Received[],
  waiting: Set<() => void>,
  count: number,
  timeoutMs: number,
): Promise<Received[]> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      waiting.delete(look)
    }
    const look = () => {
      if (received.length < count) return
      end()
      resolve(received)
    }
    const timer = setTimeout(() => {
      end()
      reject(new Error(`${received.length} of ${count} requests came within ${timeoutMs} ms`))
    }, timeoutMs)
    waiting.add(look)
    look()
  })
}
