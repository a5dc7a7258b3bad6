import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** For one that hangs: on a busy machine a start may take half a minute. */
const READY_MS = 100_000
const STOP_MS = 12_000

/**
 * Starts the real server with an empty data folder, waits until it is ready, ends it by SIGTERM. Resolves with what went
 * wrong and the server's own output, or with nothing. Vitest runs syntax that node refuses; this notices. `use`: what to do with the
 * server in between.
 */
export async function startAndStop(use?: (url: string) => Promise<void>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'zonewatch-check-'))
  const port = await freePort()
  const environment = {
    PATH: process.env.PATH,
    DATA_DIR: folder,
    PORT: String(port),
    DNS_SERVERS: '127.0.0.1:9',
    DNS_ROOTS: 'off',
    DNS_CANARIES: 'off',
  }
  const server = spawn(process.execPath, ['server/main.ts', 'serve'], { env: environment })
  let output = ''
  for (const stream of [server.stdout, server.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const ended = once(server, 'close')
  try {
    const answer = await readiness(`http://127.0.0.1:${port}/readyz`, () => server.exitCode === null)
    if (answer !== 200) return `/readyz ${answer === undefined ? 'did not answer' : `answered ${answer}`}.\n${output}`
    await use?.(`http://127.0.0.1:${port}`)
    server.kill('SIGTERM')
    const code = await Promise.race([ended.then(() => server.exitCode), pause(STOP_MS, 'no end')])
    return code === 0 ? '' : `After SIGTERM: ${code}, where exit code 0 is due within ${STOP_MS} ms.\n${output}`
  } finally {
    server.kill('SIGKILL')
    await ended
    await rm(folder, { recursive: true, force: true })
  }
}

/** The status that came when time was up or the server was ready; undefined when none ever did. */
async function readiness(url: string, isRunning: () => boolean): Promise<number | undefined> {
  const until = performance.now() + READY_MS
  let status: number | undefined
  while (status !== 200 && isRunning() && performance.now() < until) {
    await pause(50)
    status = await fetch(url).then(
      (response) => response.status,
      () => status,
    )
  }
  return status
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no free port')
  return address.port
}
