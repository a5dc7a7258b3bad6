// A receiver in TypeScript, for Node 22.18 or newer: WEBHOOK_SECRET=… PORT=8000 node receive.ts
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'

const SECRET = process.env.WEBHOOK_SECRET
if (!SECRET) throw new Error('Set WEBHOOK_SECRET to the secret of the webhook.')
const TOLERANCE_SECONDS = 300
const BODY_LIMIT = 1_048_576

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > BODY_LIMIT) return response.writeHead(413).end()
    chunks.push(chunk)
  }
  const body = Buffer.concat(chunks) // the octets as they came: parse only what was verified
  if (!isGenuine(request.headers, body, SECRET)) return response.writeHead(401).end()

  // A webhook with `batch` sends several changes in `events`, any other one sends one in `event`.
  const { id, event, events = [{ event }] } = JSON.parse(body.toString())
  // The same id can come again: do the work once per id, and soon, because the sender waits 30 seconds.
  for (const { event } of events) {
    console.log(`${id}: ${event.domain.record_type} of ${event.domain.domain} is ${event.new_state}`)
  }
  response.writeHead(204).end()
})

function isGenuine(headers: IncomingHttpHeaders, body: Buffer, secret: string): boolean {
  const timestamp = String(headers['x-webhook-timestamp'])
  if (!/^\d{1,12}$/.test(timestamp)) return false
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return false
  const expected = Buffer.from(createHmac('sha256', secret).update(body).digest('hex'))
  const given = Buffer.from(String(headers['x-service-signature']))
  return given.length === expected.length && timingSafeEqual(given, expected)
}

server.listen(Number(process.env.PORT ?? 8000), '127.0.0.1')
