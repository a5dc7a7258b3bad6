import { MAX_FAST_IN_FLIGHT, MAX_IN_FLIGHT, MIN_CLAIM, SLOW_AFTER_MS } from '../server/checks/in-flight.ts'
import { BATCH_SIZE } from '../server/checks/queued-checks.ts'
import { GATHER_MS } from '../server/checks/record-checks.ts'
import { BUSY_MS } from '../server/queue/worker-loop.ts'
import { readOptions } from './options.ts'

/**
 * Simulates the schedule in virtual time, without network and database: nodes claim due rounds of 500 checks from one PostgreSQL with the
 * pauses and limits of the real workers. The costs of a check and of a statement come from `npm run bench -- nodes`.
 */
const { values: options } = readOptions({
  options: {
    json: { type: 'boolean', default: false },
    monitors: { type: 'string', default: '100000000' },
    /** Minutes between two checks of a monitor. */
    frequency: { type: 'string', default: '5' },
    nodes: { type: 'string', default: '4,8,16,32,64' },
    /** Worker processes of a node, one core each. */
    workers: { type: 'string', default: '8' },
    'db-cores': { type: 'string', default: '64' },
    /** CPU of the database for a check, with its part of its round, in µs. */
    'check-us': { type: 'string', default: '4.4' },
    /** CPU of the database for a statement that finds nothing, in µs. */
    'statement-us': { type: 'string', default: '350' },
    /** CPU of the database for skipping a round that another claim locks (SKIP LOCKED), in µs. Assumed, not measured. */
    'skip-us': { type: 'string', default: '0.5' },
    /** CPU of a worker for a check, in µs. */
    'client-us': { type: 'string', default: '76' },
    'round-trip-ms': { type: 'string', default: '0.5' },
    /** Virtual seconds that are measured, after 20 s. */
    seconds: { type: 'string', default: '40' },
  },
})

const given = (name: keyof typeof options) => Number(options[name])
const INTERVAL_MS = given('frequency') * 60_000
/** Due checks per millisecond. Slots spread them evenly. */
const PER_MS = given('monitors') / INTERVAL_MS
const WARM_UP_MS = 20_000
const END_MS = WARM_UP_MS + given('seconds') * 1_000
const TICK_MS = GATHER_MS
/** Most servers answer within 20 ms. One check in 200 ends with a timeout after 5 s. */
const ANSWER_MS = 20
const SLOW_SHARE = 1 / 200
const TIMEOUT_MS = 5_000
const WHEEL = TIMEOUT_MS / TICK_MS + 400

/** A round has as many checks as the loops claim at a time. */
const roundsOf = (checks: number) => Math.ceil(checks / BATCH_SIZE)

/** The primary. Statements run on the first free core. Times in ms. */
class Primary {
  readonly #freeAt: Float64Array
  /** The running claims: when each ends, and how many rounds it locks. */
  #claims: { end: number; rows: number }[] = []
  busyMs = 0
  statements = 0
  rows = 0

  constructor(cores: number) {
    this.#freeAt = new Float64Array(cores)
  }

  /** The time at which the worker has the result. */
  write(now: number, checks: number): number {
    return this.#run(now, given('statement-us') + (checks * given('check-us')) / 2, roundsOf(checks))
  }

  claim(now: number, checks: number): number {
    this.#claims = this.#claims.filter(({ end }) => end > now)
    const locked = this.#claims.reduce((sum, claim) => sum + claim.rows, 0)
    const costUs = given('statement-us') + (checks * given('check-us')) / 2 + locked * given('skip-us')
    const rows = roundsOf(checks)
    const end = this.#run(now, costUs, rows)
    if (rows > 0) this.#claims.push({ end, rows })
    return end
  }

  #run(now: number, costUs: number, rows: number): number {
    const arrives = now + given('round-trip-ms') / 2
    let core = 0
    for (let other = 1; other < this.#freeAt.length; other++) {
      if (this.#freeAt[other]! < this.#freeAt[core]!) core = other
    }
    const end = Math.max(arrives, this.#freeAt[core]!) + costUs / 1_000
    this.#freeAt[core] = end
    if (now >= WARM_UP_MS) {
      this.busyMs += costUs / 1_000
      this.statements++
      this.rows += rows
    }
    return end + given('round-trip-ms') / 2
  }
}

/** The due checks in order. A claim takes the oldest ones. */
class Queue {
  #claimed = 0
  readonly lateness = new Float64Array(120_000)
  count = 0

  take(now: number, limit: number): { first: number; count: number } {
    const count = Math.min(limit, Math.floor(now * PER_MS) - this.#claimed)
    const first = this.#claimed
    this.#claimed += count
    return { first, count }
  }

  /** Starts the claimed checks. */
  begin(now: number, { first, count }: { first: number; count: number }): void {
    if (now < WARM_UP_MS) return
    this.count += count
    for (const share of [0.125, 0.375, 0.625, 0.875]) {
      const lateMs = now - (first + share * count) / PER_MS
      this.lateness[Math.min(this.lateness.length - 1, Math.floor(lateMs))]! += count / 4
    }
  }

  late(share: number): number {
    let seen = 0
    return this.lateness.findIndex((count) => {
      seen += count
      return count > 0 && seen >= this.count * share
    })
  }
}

/** A worker process with one thread, which runs one claim and one write at a time. */
class Worker {
  readonly #primary: Primary
  readonly #queue: Queue
  /** The number of answers by tick. */
  readonly #answers = new Int32Array(WHEEL)
  readonly #becomeSlow = new Int32Array(WHEEL)
  #brisk = 0
  #slow = 0
  #answered = 0
  #unwritten = 0
  #slowUnwritten = 0
  #claiming: { at: number; first: number; count: number } | undefined
  #nextClaimAt: number
  #writing: { at: number; count: number } | undefined
  #nextWriteAt = 0
  busyMs = 0

  constructor(primary: Primary, queue: Queue, startAt: number) {
    this.#primary = primary
    this.#queue = queue
    this.#nextClaimAt = startAt
  }

  tick(now: number): void {
    const place = (now / TICK_MS) % WHEEL
    this.#answered += this.#answers[place]!
    this.#answers[place] = 0
    const slow = this.#becomeSlow[place]!
    this.#becomeSlow[place] = 0
    this.#brisk -= slow
    this.#slow += slow
    this.#compute(now)
    this.#write(now)
    this.#claim(now)
  }

  /** Evaluates the answers for which the thread has time in a tick. */
  #compute(now: number): void {
    const count = Math.min(this.#answered, Math.floor((TICK_MS * 1_000) / given('client-us')))
    this.#answered -= count
    this.#unwritten += count
    if (now >= WARM_UP_MS) this.busyMs += (count * given('client-us')) / 1_000
  }

  #write(now: number): void {
    if (this.#writing && this.#writing.at <= now) {
      this.#end(this.#writing.count)
      this.#writing = undefined
      this.#nextWriteAt = this.#unwritten >= BATCH_SIZE ? now : now + GATHER_MS
    }
    if (this.#writing || this.#unwritten === 0 || now < this.#nextWriteAt) return
    const count = Math.min(BATCH_SIZE, this.#unwritten)
    this.#unwritten -= count
    this.#writing = { at: this.#primary.write(now, count), count }
  }

  /** Slow ones end in proportion; which check is which does not matter for how many may begin. */
  #end(count: number): void {
    this.#slowUnwritten += count * SLOW_SHARE
    const slow = Math.min(this.#slow, Math.floor(this.#slowUnwritten))
    this.#slowUnwritten -= slow
    this.#slow -= slow
    this.#brisk -= count - slow
  }

  #claim(now: number): void {
    if (this.#claiming && this.#claiming.at <= now) {
      const { count } = this.#claiming
      this.#begin(now, this.#claiming)
      this.#claiming = undefined
      this.#nextClaimAt = count === 0 ? now + BUSY_MS : count === BATCH_SIZE ? now : now + GATHER_MS
    }
    if (this.#claiming || now < this.#nextClaimAt) return
    const free = Math.min(MAX_FAST_IN_FLIGHT - this.#brisk, MAX_IN_FLIGHT - this.#brisk - this.#slow)
    if (free < MIN_CLAIM) return
    const taken = this.#queue.take(now, Math.min(BATCH_SIZE, free))
    const at = this.#primary.claim(now, taken.count)
    // If nothing was due, the loop reads when the next check is due.
    this.#claiming = { ...taken, at: taken.count === 0 ? this.#primary.claim(at, 0) : at }
  }

  #begin(now: number, claim: { first: number; count: number }): void {
    this.#queue.begin(now, claim)
    this.#brisk += claim.count
    for (let each = 0; each < claim.count; each++) {
      const isSlow = Math.random() < SLOW_SHARE
      const takesMs = isSlow ? TIMEOUT_MS : Math.min(900, -Math.log(1 - Math.random()) * ANSWER_MS)
      const at = Math.floor((now + takesMs) / TICK_MS) + 1
      this.#answers[at % WHEEL]!++
      if (isSlow) this.#becomeSlow[Math.floor((now + SLOW_AFTER_MS) / TICK_MS) % WHEEL]!++
    }
  }
}

function simulate(nodes: number) {
  const [primary, queue] = [new Primary(given('db-cores')), new Queue()]
  const workers = Array.from(
    { length: nodes * given('workers') },
    (_, index, all = nodes * given('workers')) => new Worker(primary, queue, (index / all) * GATHER_MS),
  )
  for (let now = 0; now < END_MS; now += TICK_MS) for (const worker of workers) worker.tick(now)
  const measuredMs = END_MS - WARM_UP_MS
  const perSecond = (count: number) => Math.round(count / (measuredMs / 1_000))
  const done = queue.count / (PER_MS * measuredMs)
  return {
    ...{ bench: 'schedule', nodes, workers: workers.length, due_per_second: Math.round(PER_MS * 1_000) },
    checks_per_second: perSecond(queue.count),
    keeps_up: done > 0.995,
    ...{ late_p50_ms: queue.late(0.5), late_p99_ms: queue.late(0.99) },
    db_rows_written_per_second: perSecond(primary.rows),
    db_statements_per_second: perSecond(primary.statements),
    db_cores: Number((primary.busyMs / measuredMs).toFixed(1)),
    client_cores: Number((workers.reduce((sum, { busyMs }) => sum + busyMs, 0) / measuredMs).toFixed(1)),
  }
}

const rows = options.nodes.split(',').map((nodes) => simulate(Number(nodes)))
if (options.json) for (const row of rows) console.log(JSON.stringify(row))
else console.table(rows)
