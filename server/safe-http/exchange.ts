import type { IncomingHttpHeaders } from 'node:http'
import type { Client, Dispatcher } from 'undici'
import type { Clock } from '../clock.ts'
import type { Deadlines } from '../dns/deadlines.ts'
import { isDisconnect, reasonOf } from './failure-words.ts'
import type { PostResult, Timings } from './safe-fetch.ts'
import { type Opening, type Phase, RefusedAddress } from './vetted-connect.ts'

export type Limits = { timeoutMs: number; lookupMs: number; bodyMs: number }

/** The connection had been kept alive and was gone before an answer began. `instead` is what that comes to when final. */
type Stale = { kind: 'stale'; instead: PostResult }

/** Made once: a stack trace for every exchange would cost more than sending it. */
const OVER = new Error('the exchange is over')

const BODY_LIMIT_BYTES = 65_536
const EXCERPT_LIMIT = 4000

/** Interim answers (1xx) are rare and few; a stream of them is an attack on our time. */
const INTERIM_LIMIT = 16

const UNFINISHED: Record<Phase, string> = {
  name: 'the host name was not resolved',
  connect: 'the connection was not established',
  tls: 'the TLS handshake did not complete',
  answer: 'no response arrived',
  body: 'the response did not complete',
}

/** One request and its answer, with its deadlines. `result` never rejects. */
export class Exchange implements Opening, Dispatcher.DispatchHandler {
  readonly result: Promise<PostResult | Stale>
  readonly #settle: (result: PostResult | Stale) => void
  readonly #clock: Clock
  readonly #deadlines: Deadlines
  readonly #limits: Limits
  readonly #startedAt: number
  readonly #timings: Omit<Timings, 'totalMs'> = {}
  #isOver = false
  /** Only for an exchange that opens a connection. */
  #over: AbortController | undefined
  #takeBack: (() => void) | undefined
  readonly #onEnd: (() => void)[] = []
  #phase: Phase = 'answer'
  #phaseStartedAt: number
  #isOwnConnection = false
  #controller: Dispatcher.DispatchController | undefined
  #interim = 0
  #isEnded = false
  #answer: { status: number; retryAfter: string | undefined } | undefined
  #chunks: Buffer[] = []
  #bodyBytes = 0

  readonly #mayWrite: (() => Promise<boolean>) | undefined

  constructor(clock: Clock, deadlines: Deadlines, limits: Limits, mayWrite?: () => Promise<boolean>) {
    this.#mayWrite = mayWrite
    const { promise, resolve } = Promise.withResolvers<PostResult | Stale>()
    this.result = promise
    this.#settle = resolve
    this.#clock = clock
    this.#deadlines = deadlines
    this.#limits = limits
    this.#startedAt = clock.elapsed()
    this.#phaseStartedAt = this.#startedAt
  }

  /** Gives up: the receiver may have got the request. */
  breakOff(): void {
    this.#fail('the attempt was aborted because this server is stopping')
  }

  /** Whether the request may be written on the connection that was opened for it. */
  async mayWrite(): Promise<boolean> {
    if (this.#mayWrite === undefined || this.#isOver) return true
    if (await this.#mayWrite().catch(() => false)) return true
    this.#finish({ kind: 'withdrawn', timings: this.#total() })
    return false
  }

  /** Called when it is over, whatever it came to. */
  onEnd(call: () => void): void {
    this.#onEnd.push(call)
  }

  /** Aborted when the exchange is over: a connection still being opened is given up. */
  get signal(): AbortSignal {
    this.#over ??= new AbortController()
    if (this.#isOver) this.#over.abort(OVER)
    return this.#over.signal
  }

  dispatch(client: Client, request: Dispatcher.DispatchOptions): void {
    if (this.#isOver) return
    this.#within(this.#limits.timeoutMs)
    client.dispatch(request, this)
  }

  entered(phase: Phase): void {
    // The first phase of a new connection ends none: that an answer is waited for is true of a kept one alone.
    if (phase === 'body' || this.#phase !== 'answer') this.#record()
    if (phase === 'connect') this.#isOwnConnection = true
    if (phase === 'name') this.#within(this.#limits.lookupMs)
    if (phase === 'connect') this.#within(this.#limits.timeoutMs)
    if (phase === 'body') this.#within(this.#limits.bodyMs)
    this.#phase = phase
    this.#phaseStartedAt = this.#clock.elapsed()
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#isOver) controller.abort(OVER)
    else this.#controller = controller
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) {
      this.#interim++
      if (this.#interim > INTERIM_LIMIT) this.#fail(`more than ${INTERIM_LIMIT} interim responses (1xx) arrived`)
      return
    }
    this.entered('body')
    // A header that came several times is a list here, whatever its type says: the first counts.
    const [retryAfter] = [headers['retry-after']].flat()
    this.#answer = { status, retryAfter }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#bodyBytes += chunk.length
    if (this.#bodyBytes >= BODY_LIMIT_BYTES) this.#finish(this.#response())
  }

  onResponseEnd(): void {
    this.#isEnded = true
    this.#finish(this.#response())
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isOver) return
    // The status is the answer; a body that breaks off only shortens the excerpt.
    if (this.#answer !== undefined) {
      this.#finish(this.#response())
      return
    }
    const kind = error instanceof RefusedAddress ? 'refused' : 'failed'
    const instead: PostResult = { kind, reason: reasonOf(error), timings: this.#total() }
    const isStale = !this.#isOwnConnection && this.#interim === 0 && isDisconnect(error)
    this.#finish(isStale ? { kind: 'stale', instead } : instead)
  }

  #within(ms: number): void {
    this.#takeBack?.()
    this.#takeBack = this.#deadlines.add(this.#clock.elapsed() + ms, () => this.#expire(ms))
  }

  #expire(ms: number): void {
    if (this.#answer !== undefined) {
      this.#finish(this.#response())
      return
    }
    this.#record()
    const reason = `${UNFINISHED[this.#phase]} within ${ms / 1000} s`
    this.#finish({ kind: 'timeout', phase: this.#phase, reason, timings: this.#total() })
  }

  #fail(reason: string): void {
    this.#finish({ kind: 'failed', reason, timings: this.#total() })
  }

  #response(): PostResult {
    const { status, retryAfter } = this.#answer!
    const timings = this.#total()
    const excerpt = excerptOf(Buffer.concat(this.#chunks))
    return { kind: 'response', status, excerpt, timings, ...(retryAfter === undefined ? {} : { retryAfter }) }
  }

  #finish(result: PostResult | Stale): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#takeBack?.()
    this.#over?.abort(OVER)
    this.#settle(result)
    // Where the answer has not ended the connection is dropped, because the rest of it is still to come.
    if (!this.#isEnded) this.#controller?.abort(OVER)
    for (const call of this.#onEnd) call()
    this.#letGo()
  }

  /** Anyone who still knows the exchange, be it an outgrown table of a Set, keeps nothing else in memory through it. */
  #letGo(): void {
    this.#takeBack = undefined
    this.#controller = undefined
    this.#onEnd.length = 0
    this.#chunks = []
  }

  #record(): void {
    const ms = Math.round(this.#clock.elapsed() - this.#phaseStartedAt)
    switch (this.#phase) {
      case 'name':
        this.#timings.nameMs = ms
        return
      case 'connect':
        this.#timings.connectMs = ms
        return
      case 'tls':
        this.#timings.tlsMs = ms
        return
      case 'answer':
        this.#timings.firstByteMs = ms
        return
      case 'body':
        return
    }
  }

  #total(): Timings {
    return { ...this.#timings, totalMs: Math.round(this.#clock.elapsed() - this.#startedAt) }
  }
}

/** NUL cannot be stored by every database. A pair cut in two by the limit is left out whole. */
function excerptOf(body: Buffer): string {
  const text = body.subarray(0, BODY_LIMIT_BYTES).toString('utf8').replaceAll('\0', '\ufffd').slice(0, EXCERPT_LIMIT)
  return text.isWellFormed() ? text : text.slice(0, -1)
}
