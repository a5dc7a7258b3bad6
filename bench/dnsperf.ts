import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

/** The limit: the same questions to the same server by `dnsperf`, which stores nothing. Null where it is not installed. */
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
