import { connect, createServer, type Socket } from 'node:net'
import pg from 'pg'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../clock.ts'
import { openDatabase } from '../database/open.ts'
import { migratedDatabaseUrl } from '../testing/database.ts'
import { createFastClock } from '../testing/fast-clock.ts'
import { PostgresSignals } from './postgres-signals.ts'
import { createWakeUps, TOPICS } from './wake-up.ts'

test('a signal wakes the loops of the other server, of its queue only, and not those of the sender', async () => {
  const url = await givenUrl()
  const [one, other] = [await givenListener(url), await givenListener(url)]
  await one.signals.send('checks')
  await expect.poll(other.woken).toEqual(['checks'])
  expect(one.woken()).toEqual([])
})

test('after its connection was ended a server listens again, and looks at once for what it missed', async () => {
  const url = await givenUrl()
  const [one, other] = [await givenListener(url), await givenListener(url)]
  await endListeners(url)
  await expect.poll(other.woken).toEqual([...TOPICS])
  await other.reset()
  await one.signals.send('mails')
  await expect.poll(other.woken).toEqual(['mails'])
  expect(other.logged).toEqual([])
})

test('behind a pooler that delivers no notifications the loops poll more often, and the log mentions it once', async () => {
  const url = await givenPooler(await givenUrl())
  const { wakeUps, logged } = await givenListener(url, { isListening: false })
  await expect.poll(() => logged.length, { timeout: 10_000 }).toBe(1)
  expect(logged[0]).toContain('every 250 ms')
  expect(wakeUps.checks.pollMs()).toBe(250)
})

async function givenUrl(): Promise<string> {
  const { url, drop } = await migratedDatabaseUrl('postgres')
  onTestFinished(drop)
  return url
}

async function givenListener(url: string, { isListening = true } = {}) {
  const db = openDatabase(url, { connections: 2 })
  const wakeUps = createWakeUps()
  const logged: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) })
  const signals = new PostgresSignals({ db, url, wakeUps, log, clock: isListening ? systemClock : createFastClock(10) })
  const stop = new AbortController()
  const running = signals.run({ stop: stop.signal })
  onTestFinished(async () => {
    stop.abort()
    await running
    await db.destroy()
  })
  const woken = () => Object.entries(wakeUps).flatMap(([topic, wakeUp]) => (wakeUp.isSent() ? [topic] : []))
  const reset = async () => {
    for (const wakeUp of Object.values(wakeUps)) await wakeUp.wait(0, systemClock, stop.signal)
  }
  if (isListening) await expect.poll(() => wakeUps.checks.pollMs(), { timeout: 10_000 }).toBe(2_000)
  if (isListening) await reset()
  return { signals, wakeUps, woken, reset, logged }
}

async function endListeners(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen %' and datname = current_database()",
  )
  await client.end()
}

/** As PgBouncer in transaction mode: everything but notifications comes through. */
async function givenPooler(url: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect({ host: hostname, port: Number(port) })
    client.pipe(upstream)
    withoutNotifications(upstream, (message) => client.write(message))
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        client.destroy()
        upstream.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The pooler does not listen.')
  return Object.assign(new URL(url), { host: `127.0.0.1:${address.port}` }).href
}

/** A message of PostgreSQL is a letter, a length that counts itself, and so many octets. `A` is a notification. */
function withoutNotifications(upstream: Socket, pass: (message: Buffer) => void): void {
  let rest: Buffer = Buffer.alloc(0)
  upstream.on('data', (data: Buffer) => {
    rest = Buffer.concat([rest, data])
    while (rest.length >= 5) {
      const end = 1 + rest.readUInt32BE(1)
      if (rest.length < end) return
      if (rest[0] !== 'A'.charCodeAt(0)) pass(rest.subarray(0, end))
      rest = rest.subarray(end)
    }
  })
}
