import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * A receiver in a process of its own, so that its work is not counted as ours. Answers 200, but paths that begin with /hang
 * never. Any message makes it tell what came since the last one, with the milliseconds from `created` to the arrival.
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
