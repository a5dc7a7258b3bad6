import { createServer, type Server } from 'node:http'
import { CliError, errorMessage } from '../cli-error.ts'
import type { Supervisor } from '../supervisor.ts'

type HttpResponse = { status: number; type: string; text: string }

/** Serves metrics, liveness and readiness of all processes, with any role. Throws a `CliError` if the port cannot be opened. */
export async function serveMetrics(
  supervisor: Pick<Supervisor, 'scrape' | 'collect'>,
  { host, port }: { host: string; port: number },
): Promise<Server> {
  const server = createServer(async (request, response) => {
    const { status, type, text } = await respond(supervisor, request.method, request.url, request.headers.accept)
    response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' })
    response.end(request.method === 'HEAD' ? undefined : text)
  })
  server.requestTimeout = 10_000
  server.maxConnections = 100
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  }).catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'EADDRINUSE' ? 'it is in use by another program' : errorMessage(error)
    throw new CliError(
      `METRICS_PORT ${port} on ${host} cannot be listened on: ${reason}. Set METRICS_PORT to a free one.`,
    )
  })
  return server
}

async function respond(
  supervisor: Pick<Supervisor, 'scrape' | 'collect'>,
  method = 'GET',
  url = '/',
  accept = '',
): Promise<HttpResponse> {
  if (method !== 'GET' && method !== 'HEAD') return json(405, { error: 'Only GET is allowed here.' })
  switch (url.split('?', 1)[0]) {
    case '/metrics': {
      const { contentType, text } = await supervisor.scrape(accept)
      return { status: 200, type: contentType, text }
    }
    case '/healthz':
      return json(200, { status: 'ok' })
    case '/readyz': {
      const { problems } = await supervisor.collect()
      return problems.length === 0 ? json(200, { status: 'ready' }) : json(503, { status: 'not ready', problems })
    }
    default:
      return json(404, { error: 'Not found. Here are /metrics, /healthz and /readyz.' })
  }
}

const json = (status: number, body: object): HttpResponse => ({
  status,
  type: 'application/json; charset=utf-8',
  text: `${JSON.stringify(body)}\n`,
})
