import type { IncomingHttpHeaders } from 'node:http'
import type { Client, Dispatcher } from 'undici'
import type { Clock } from '../clock.ts'
import type { Deadlines } from '../dns/deadlines.ts'
import { ProxyFailure } from './proxy-tunnel.ts'
import type { PostResult, Timings } from './safe-fetch.ts'
import { NameFailure, type Opening, Orphaned, type Phase, RefusedAddress } from './vetted-connect.ts'

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

const REASONS: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset before a response arrived',
  EPIPE: 'the connection was closed before a response arrived',
  ETIMEDOUT: 'the connection timed out',
  EHOSTUNREACH: 'the address cannot be reached',
  ENETUNREACH: 'no route to the address',
  EADDRNOTAVAIL: 'no route to the address',
  EMFILE: 'this server has too many connections open',
  ENFILE: 'this server has too many connections open',
  UND_ERR_SOCKET: 'the connection was closed before a response arrived',
  UND_ERR_HEADERS_OVERFLOW: 'the response headers are larger than 16 KiB',
  HPE_HEADER_OVERFLOW: 'the response headers are larger than 16 KiB',
  HPE_INVALID_EOF_STATE: 'the connection was closed in the middle of the response',
  UND_ERR_DESTROYED: 'the attempt was aborted because this server is stopping',
  UND_ERR_CLOSED: 'the attempt was aborted because this server is stopping',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the response has contradicting lengths (Content-Length or Transfer-Encoding)',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  CERT_NOT_YET_VALID: 'the certificate is not valid yet',
  CERT_REVOKED: 'the certificate was revoked',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate is not signed by a trusted authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate cannot be verified; an intermediate certificate may be missing',
  UNABLE_TO_GET_ISSUER_CERT: 'the certificate cannot be verified; an intermediate certificate may be missing',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate cannot be verified; an intermediate certificate may be missing',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for a different name',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the port does not speak TLS',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'the port does not speak TLS',
}

/** What the socket, TLS or the HTTP parser objects to, in plain words for the owner of a receiver. */
export function reasonOf(error: Error): string {
  if ([RefusedAddress, NameFailure, ProxyFailure].some((kind) => error instanceof kind)) return error.message
  // undici refuses these two by closing the connection, and the message is all that tells them apart.
  if (error.message === 'bad upgrade') return 'the receiver tried to switch protocols (101 Switching Protocols)'
  if (error.message === 'bad response') return 'the receiver sent an unexpected 100 Continue'
  const code = codeOf(error) ?? (error.name === 'HTTPParserError' ? 'HPE_UNKNOWN' : undefined)
  if (code === undefined) return `the request failed: ${error.message}`
  if (REASONS[code] !== undefined) return REASONS[code]
  // undici asserts what it expects of an answer: a status of 099, or a 101 without an upgrade.
  if (code.startsWith('HPE_') || code === 'ERR_ASSERTION') return 'the response is not valid HTTP'
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO') return `the TLS handshake failed (${code})`
  return `the request failed (${code})`
}

/** True where the connection was simply gone: nothing is known to be wrong with the receiver. */
function isDisconnect(error: Error): boolean {
  if (error instanceof Orphaned) return true
  return ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(codeOf(error) ?? '')
}

function codeOf(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
