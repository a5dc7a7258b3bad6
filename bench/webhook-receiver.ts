import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * A webhook receiver in its own process, so that its CPU time is not counted. It answers 200, and never answers paths that
 * begin with /hang. Each message makes it report the requests since the last one, with the milliseconds since `created`.
 */
let received = 0
let latencies: number[] = []

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    if (request.url?.startsWith('/hang')) return
    received++
    if (request.url?.startsWith('/timed')) {
      latencies.push(Date.now() - Date.parse(JSON.parse(Buffer.concat(chunks).toString()).created))
    }
    response.end('ok')
  })
})
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))

process.on('message', () => {
  process.send?.({ received, latencies })
  received = 0
  latencies = []
})
process.on('disconnect', () => process.exit(0))
