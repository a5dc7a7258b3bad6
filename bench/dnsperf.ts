import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'

/** The upper limit: the same queries to the same server by `dnsperf`. Null if it is not installed. */
export async function dnsperfPerSecond(port: number, names: string[], seconds: number, folder: string) {
  const file = join(folder, 'questions')
  await writeFile(file, names.map((name) => `${name} A\n`).join(''))
  const command = ['-s', '127.0.0.1', '-p', String(port), '-d', file, '-l', String(seconds), '-q', '256']
  const child = spawn('dnsperf', command, { stdio: ['ignore', 'pipe', 'ignore'] })
  const started = await once(child, 'spawn').catch(() => undefined)
  if (!started) return null
  const [, perSecond] = (await text(child.stdout)).match(/Queries per second:\s+([\d.]+)/) ?? []
  return perSecond === undefined ? null : Math.round(Number(perSecond))
}

/** The same queries by a plain socket with 256 queries in flight: the upper limit of a Node program. */
export async function plainUdp(port: number, names: string[], seconds: number) {
  const queries = names.map(queryOf)
  const socket = createSocket({ type: 'udp4', recvBufferSize: 4_194_304 })
  let sent = 0
  let answered = 0
  const sendQuery = () => {
    const query = queries[sent % queries.length]!
    query.writeUInt16BE(sent++ & 0xffff)
    socket.send(query, port, '127.0.0.1')
  }
  const before = process.cpuUsage()
  const end = performance.now() + seconds * 1_000
  socket.on('message', () => {
    answered++
    if (performance.now() < end) sendQuery()
  })
  for (let each = 0; each < 256; each++) sendQuery()
  await setTimeout(seconds * 1_000)
  const { user, system } = process.cpuUsage(before)
  socket.close()
  const cpuSeconds = (user + system) / 1e6
  return {
    udp_per_second: Math.round(answered / seconds),
    udp_cpu_s_per_1000: Number(((cpuSeconds * 1_000) / answered).toFixed(4)),
  }
}

/** A query of type A with recursion desired. RFC 1035 section 4.1. */
function queryOf(name: string): Buffer {
  const header = Buffer.from([0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0])
  const labels = name.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label)]))
  return Buffer.concat([header, ...labels, Buffer.from([0, 0, 1, 0, 1])])
}
