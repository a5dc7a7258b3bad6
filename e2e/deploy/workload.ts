import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type { Delivery } from '#contract/events.ts'
import { systemClock } from '#server/clock.ts'
import type { DnsServer } from '#server/testing/dns-server.ts'
import type { Receiver } from '#server/testing/receiver.ts'

const ADDRESSES = ['192.0.2.1', '192.0.2.2']
/** How often a caller repeats a request that failed. */
const AGAIN_MS = 200
const PATIENCE_MS = 5_000
const CONNECT_MS = 30_000
const QUERY_MS = 60_000
/** Longer than a failover, a lease and the first delivery retries together. */
const LOST_MS = 200_000

type Given = { url: string; key: string; dns: DnsServer; receiver: Receiver }

/**
 * Creates monitors, changes zones and receives requests until `stop`. A caller repeats a request with the same Idempotency-Key
 * until it is acknowledged.
 */
export class Workload {
  readonly #given: Given
  /** The id and the number of changes, by the name of the monitor. */
  readonly #monitors = new Map<string, { id: string; changes: number }>()
  /** The ids of the received requests by monitor. A repeated request can arrive long after later ones. */
  readonly #reported = new Map<string, Set<string>>()
  readonly #refused = new Map<string, number>()
  readonly #faults: string[] = []
  #seen = 0
  #isStopped = false
  #loops: Promise<void>[] = []

  constructor(given: Given) {
    this.#given = given
  }

  async start({ zones, writers }: { zones: number; writers: number }): Promise<void> {
    await this.#call('POST', '/webhooks', { url: this.#given.receiver.url, groups: ['default'] })
    const loops = [
      ...Array.from({ length: zones }, (_, index) => this.#changeOneZone(`zone${index}.example.com`)),
      ...Array.from({ length: writers }, (_, index) => this.#keepCreating(index)),
    ]
    this.#loops = loops.map((loop) => loop.catch((error: Error) => void this.#faults.push(error.message)))
  }

  /** Creates a monitor and waits until its first event is delivered. */
  async roundTrip(): Promise<void> {
    const name = `round-trip-${randomUUID()}.example.com`
    await this.#create(name)
    await this.#isReported(name, 1)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#loops)
  }

  /** The number of failed requests by status. 0 means no response. */
  refused(): Record<string, number> {
    return Object.fromEntries(this.#refused)
  }

  /** Expects every event exactly once and in order, one request with one body for each, and no lost acknowledged write. */
  async verify(databaseUrl: string): Promise<{ events: number; deliveries: number; monitors: number }> {
    assert.deepEqual(this.#faults, [])
    const client = new pg.Client({
      connectionString: databaseUrl,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: QUERY_MS,
    })
    await client.connect()
    try {
      const { rows: monitors } = await client.query('select id, owner from monitors')
      const stored = new Map(monitors.map(({ id, owner }) => [owner as string, id as string]))
      assert.equal(monitors.length, stored.size)
      for (const [name, { id }] of this.#monitors) assert.equal(stored.get(name), id, name)

      const { rows: events } = await client.query('select id, monitor_id, current_values from events order by id')
      const byMonitor = Map.groupBy(events, ({ monitor_id }) => monitor_id as string)
      for (const [name, { id, changes }] of this.#monitors) {
        const values = (byMonitor.get(id) ?? []).map(({ current_values }) => JSON.parse(current_values)[0])
        const expected = Array.from({ length: changes + 1 }, (_, index) => ADDRESSES[index % 2])
        assert.deepEqual(values, expected, `${name}: ${values.join(', ')}`)
      }

      const { rows: requests } = await client.query('select id, event_id from webhook_requests')
      assert.deepEqual(requests.map(({ event_id }) => event_id).sort(), events.map(({ id }) => id).sort())
      const bodies = Map.groupBy(
        this.#given.receiver.received,
        ({ body }) => (JSON.parse(body.toString()) as Delivery).id,
      )
      assert.deepEqual([...bodies.keys()].sort(), requests.map(({ id }) => id).sort())
      for (const copies of bodies.values()) assert.equal(new Set(copies.map(({ body }) => body.toString())).size, 1)
      return { events: events.length, deliveries: this.#given.receiver.received.length, monitors: monitors.length }
    } finally {
      await client.end()
    }
  }

  async #changeOneZone(name: string): Promise<void> {
    const { dns } = this.#given
    const monitor = await this.#create(name)
    await this.#isReported(name, 1)
    while (!this.#isStopped) {
      const address = ADDRESSES[(monitor.changes + 1) % 2]!
      dns.set(name, 'A', [address])
      monitor.changes++
      await this.#call('POST', `/monitors/${monitor.id}/check`)
      await this.#isReported(name, monitor.changes + 1)
      await systemClock.sleep(AGAIN_MS)
    }
  }

  async #keepCreating(writer: number): Promise<void> {
    for (let count = 0; !this.#isStopped; count++) {
      const name = `written-${writer}-${count}.example.com`
      await this.#create(name)
      await this.#isReported(name, 1)
    }
  }

  async #create(name: string) {
    this.#given.dns.set(name, 'A', [ADDRESSES[0]!])
    const body = { full_domain: name, record_type: 'A', expected_value: ADDRESSES[0] }
    const { id } = await this.#call<{ id: string }>('POST', '/monitors', body)
    const monitor = { id, changes: 0 }
    this.#monitors.set(name, monitor)
    return monitor
  }

  async #isReported(name: string, events: number): Promise<void> {
    const giveUpAt = systemClock.elapsed() + LOST_MS
    while (this.#reportsOf(name) < events) {
      if (systemClock.elapsed() > giveUpAt) throw new Error(`${name}: event ${events} was not reported`)
      await systemClock.sleep(25)
    }
  }

  #reportsOf(name: string): number {
    const { received } = this.#given.receiver
    for (; this.#seen < received.length; this.#seen++) {
      const { id, event } = JSON.parse(received[this.#seen]!.body.toString()) as Delivery
      const owner = `${event.domain.subdomain}.${event.domain.domain}`
      this.#reported.set(owner, (this.#reported.get(owner) ?? new Set()).add(id))
    }
    return this.#reported.get(name)?.size ?? 0
  }

  async #call<T>(method: string, path: string, body: object = {}): Promise<T> {
    const { url, key } = this.#given
    const headers = { 'x-api-key': key, 'content-type': 'application/json', 'idempotency-key': randomUUID() }
    const giveUpAt = systemClock.elapsed() + LOST_MS
    for (;;) {
      const signal = AbortSignal.timeout(PATIENCE_MS)
      const answer = await fetch(url + path, { method, headers, body: JSON.stringify(body), signal }).catch(
        () => undefined,
      )
      const text = await answer?.text().catch(() => undefined)
      if (answer?.ok && text !== undefined) return (text === '' ? {} : JSON.parse(text)) as T
      const status = String(answer?.status ?? 0)
      this.#refused.set(status, (this.#refused.get(status) ?? 0) + 1)
      // Every other status is a fault, for example a 404 for an acknowledged monitor.
      if (!['0', '409', '502', '503', '504'].includes(status))
        throw new Error(`${method} ${path} answered ${status}: ${text}`)
      if (systemClock.elapsed() > giveUpAt)
        throw new Error(
          `${method} ${path} was not acknowledged: ${status} ${text}; failed requests: ${JSON.stringify(this.refused())}`,
        )
      await systemClock.sleep(AGAIN_MS)
    }
  }
}
