import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import autocannon from 'autocannon'
import { systemClock } from '../server/clock.ts'
import { cpuOf } from './cpu.ts'

const CONNECTIONS = 50

/**
 * The DNS probe of blackbox_exporter, requested over HTTP as Prometheus does. It compares and stores nothing. It always
 * queries the same name, because a module of its configuration has one. Null if it is not installed.
 */
export async function blackbox(dnsPort: number, name: string, seconds: number, folder: string) {
  const file = join(folder, 'blackbox.yml')
  await writeFile(file, configuration(name))
  const port = await freePort()
  const options = [`--config.file=${file}`, `--web.listen-address=127.0.0.1:${port}`, '--log.level=error']
  const child = spawn('prometheus-blackbox-exporter', options, { stdio: 'ignore' })
  const started = await once(child, 'spawn').catch(() => undefined)
  if (!started) return null
  try {
    const url = `http://127.0.0.1:${port}/probe?module=dns&target=127.0.0.1:${dnsPort}`
    await waitForProbe(url)
    const before = await cpuOf(child.pid!)
    const { requests, non2xx, errors } = await autocannon({ url, connections: CONNECTIONS, duration: seconds })
    if (non2xx + errors > 0) throw new Error(`blackbox_exporter: ${non2xx} refused, ${errors} failed`)
    const cpuS = (await cpuOf(child.pid!)) - before
    return {
      per_second: Math.round(requests.average),
      cpu_s_per_1000: Number(((cpuS * 1_000) / requests.total).toFixed(4)),
    }
  } finally {
    child.kill()
    await once(child, 'exit')
  }
}

const configuration = (name: string) => `modules:
  dns:
    prober: dns
    timeout: 2s
    dns: { query_name: ${name}, query_type: A, transport_protocol: udp, preferred_ip_protocol: ip4 }
`

/** Resolves after the first successful probe. */
async function waitForProbe(url: string): Promise<void> {
  for (let tries = 0; tries < 20; tries++) {
    const text = await fetch(url).then(
      (response) => response.text(),
      () => '',
    )
    if (text.includes('probe_success 1')) return
    await systemClock.sleep(50)
  }
  throw new Error('blackbox_exporter does not get an answer')
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
