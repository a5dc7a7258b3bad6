import type { IncomingHttpHeaders } from 'node:http'
import type { Client, Dispatcher } from 'undici'
import type { Clock } from '../clock.ts'
import type { Deadlines } from '../dns/deadlines.ts'
import { ProxyFailure } from './proxy-tunnel.ts'
import type { PostResult, Timings } from './safe-fetch.ts'
import { type ConnectionAttempt, ExchangeEnded, NameFailure, type Phase, RefusedAddress } from './vetted-connect.ts'

/** `maxBodyBytes`: for a body that is kept as a whole. Default: only its beginning is kept. */
export type Limits = { timeoutMs: number; lookupMs: number; bodyMs: number; maxBodyBytes?: number }

/** A kept-alive connection was closed before a response began. `result`: what to report if the retry fails, too. */
type StaleConnection = { kind: 'stale'; result: PostResult }

/** Created once: a stack trace for every exchange would cost more than sending the request. */
const EXCHANGE_ENDED = new Error('the exchange is over')

const MAX_BODY_BYTES = 65_536
const MAX_EXCERPT_LENGTH = 4000

/** Interim responses (1xx) are rare. Many of them are an attack. */
const MAX_INTERIM_RESPONSES = 16

const TIMEOUT_REASONS: Record<Phase, string> = {
  name: 'the host name was not resolved',
  connect: 'the connection was not established',
  tls: 'the TLS handshake did not complete',
  answer: 'no response arrived',
  body: 'the response did not complete',
}

/** One request and its response, with deadlines. `result` never rejects. */
export class Exchange implements ConnectionAttempt, Dispatcher.DispatchHandler {
  readonly result: Promise<PostResult | StaleConnection>
  readonly #settle: (result: PostResult | StaleConnection) => void
  readonly #clock: Clock
  readonly #deadlines: Deadlines
  readonly #limits: Limits
  readonly #startedAt: number
  readonly #timings: Omit<Timings, 'totalMs'> = {}
  #isOver = false
  /** Only for an exchange that opens a connection. */
  #abortController: AbortController | undefined
  #cancelDeadline: (() => void) | undefined
  readonly #onEnd: (() => void)[] = []
  #phase: Phase = 'answer'
  #phaseStartedAt: number
  #isNewConnection = false
  #controller: Dispatcher.DispatchController | undefined
  #interimResponses = 0
  #isResponseComplete = false
  #head: { status: number; retryAfter: string | undefined; location: string | undefined } | undefined
  #chunks: Buffer[] = []
  #bodyBytes = 0

  readonly #mayWrite: (() => Promise<boolean>) | undefined

  constructor(clock: Clock, deadlines: Deadlines, limits: Limits, mayWrite?: () => Promise<boolean>) {
    this.#mayWrite = mayWrite
    const { promise, resolve } = Promise.withResolvers<PostResult | StaleConnection>()
    this.result = promise
    this.#settle = resolve
    this.#clock = clock
    this.#deadlines = deadlines
    this.#limits = limits
    this.#startedAt = clock.elapsed()
    this.#phaseStartedAt = this.#startedAt
  }

  /** The receiver may have received the request. */
  abort(): void {
    this.#fail('the attempt was aborted because this server is stopping')
  }

  /** Whether the request may be written to its new connection. */
  async mayWrite(): Promise<boolean> {
    if (this.#mayWrite === undefined || this.#isOver) return true
    if (await this.#mayWrite().catch(() => false)) return true
    this.#finish({ kind: 'withdrawn', timings: this.#finalTimings() })
    return false
  }

  /** Calls back when the exchange has ended with any result. */
  onEnd(call: () => void): void {
    this.#onEnd.push(call)
  }

  /** Aborted when the exchange ends, so that a pending connection is closed. */
  get signal(): AbortSignal {
    this.#abortController ??= new AbortController()
    if (this.#isOver) this.#abortController.abort(EXCHANGE_ENDED)
    return this.#abortController.signal
  }

  dispatch(client: Client, request: Dispatcher.DispatchOptions): void {
    if (this.#isOver) return
    this.#setDeadline(this.#limits.timeoutMs)
    client.dispatch(request, this)
  }

  enterPhase(phase: Phase): void {
    // An exchange starts in the phase `answer`, which is only true on a kept-alive connection. A new one begins with another.
    if (phase === 'body' || this.#phase !== 'answer') this.#recordPhase()
    if (phase === 'connect') this.#isNewConnection = true
    if (phase === 'name') this.#setDeadline(this.#limits.lookupMs)
    if (phase === 'connect') this.#setDeadline(this.#limits.timeoutMs)
    if (phase === 'body') this.#setDeadline(this.#limits.bodyMs)
    this.#phase = phase
    this.#phaseStartedAt = this.#clock.elapsed()
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#isOver) controller.abort(EXCHANGE_ENDED)
    else this.#controller = controller
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) {
      this.#interimResponses++
      if (this.#interimResponses > MAX_INTERIM_RESPONSES)
        this.#fail(`more than ${MAX_INTERIM_RESPONSES} interim responses (1xx) arrived`)
      return
    }
    this.enterPhase('body')
    // A repeated header is an array here, despite its type. The first value counts.
    const [retryAfter] = [headers['retry-after']].flat()
    const [location] = [headers.location].flat()
    this.#head = { status, retryAfter, location }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#bodyBytes += chunk.length
    if (this.#bodyBytes >= (this.#limits.maxBodyBytes ?? MAX_BODY_BYTES)) this.#finish(this.#response())
  }

  onResponseEnd(): void {
    this.#isResponseComplete = true
    this.#finish(this.#response())
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isOver) return
    // With a status the result is known. An incomplete body only shortens the excerpt.
    if (this.#head !== undefined) {
      this.#finish(this.#response())
      return
    }
    const kind = error instanceof RefusedAddress ? 'refused' : 'failed'
    const instead: PostResult = { kind, reason: reasonOf(error), timings: this.#finalTimings() }
    const isStale = !this.#isNewConnection && this.#interimResponses === 0 && isDisconnect(error)
    this.#finish(isStale ? { kind: 'stale', result: instead } : instead)
  }

  #setDeadline(ms: number): void {
    this.#cancelDeadline?.()
    this.#cancelDeadline = this.#deadlines.add(this.#clock.elapsed() + ms, () => this.#expire(ms))
  }

  #expire(ms: number): void {
    if (this.#head !== undefined) {
      this.#finish(this.#response())
      return
    }
    this.#recordPhase()
    const reason = `${TIMEOUT_REASONS[this.#phase]} within ${ms / 1000} s`
    this.#finish({ kind: 'timeout', phase: this.#phase, reason, timings: this.#finalTimings() })
  }

  #fail(reason: string): void {
    this.#finish({ kind: 'failed', reason, timings: this.#finalTimings() })
  }

  #response(): PostResult {
    const { status, retryAfter, location } = this.#head!
    const timings = this.#finalTimings()
    const body = Buffer.concat(this.#chunks)
    const whole = this.#limits.maxBodyBytes !== undefined && { body, isComplete: this.#isResponseComplete, location }
    return {
      ...{ kind: 'response', status, excerpt: excerptOf(body), timings },
      ...(retryAfter !== undefined && { retryAfter }),
      ...(whole && { whole }),
    }
  }

  #finish(result: PostResult | StaleConnection): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#cancelDeadline?.()
    this.#abortController?.abort(EXCHANGE_ENDED)
    this.#settle(result)
    // The rest of an incomplete response is still to come, so the connection cannot be reused.
    if (!this.#isResponseComplete) this.#controller?.abort(EXCHANGE_ENDED)
    for (const call of this.#onEnd) call()
    this.#releaseReferences()
  }

  /** So that a remaining reference to the exchange keeps no other memory. */
  #releaseReferences(): void {
    this.#cancelDeadline = undefined
    this.#controller = undefined
    this.#onEnd.length = 0
    this.#chunks = []
  }

  #recordPhase(): void {
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

  #finalTimings(): Timings {
    return { ...this.#timings, totalMs: Math.round(this.#clock.elapsed() - this.#startedAt) }
  }
}

/** PostgreSQL cannot store NUL. A surrogate pair that the limit would split is omitted. */
function excerptOf(body: Buffer): string {
  const text = body.subarray(0, MAX_BODY_BYTES).toString('utf8').replaceAll('\0', '\ufffd').slice(0, MAX_EXCERPT_LENGTH)
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

/** Describes an error of the socket, TLS or the HTTP parser for the owner of the receiver. */
export function reasonOf(error: Error): string {
  if ([RefusedAddress, NameFailure, ProxyFailure].some((kind) => error instanceof kind)) return error.message
  // undici closes the connection for these two, and only the message distinguishes them.
  if (error.message === 'bad upgrade') return 'the receiver tried to switch protocols (101 Switching Protocols)'
  if (error.message === 'bad response') return 'the receiver sent more than 16 interim responses'
  const code = codeOf(error) ?? (error.name === 'HTTPParserError' ? 'HPE_UNKNOWN' : undefined)
  if (code === undefined) return `the request failed: ${error.message}`
  if (REASONS[code] !== undefined) return REASONS[code]
  // undici asserts some properties of responses, for a status of 099 or a 101 without an upgrade.
  if (code.startsWith('HPE_') || code === 'ERR_ASSERTION') return 'the response is not valid HTTP'
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO') return `the TLS handshake failed (${code})`
  return `the request failed (${code})`
}

/** Whether the connection was closed without any other error. */
function isDisconnect(error: Error): boolean {
  if (error instanceof ExchangeEnded) return true
  return ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(codeOf(error) ?? '')
}

function codeOf(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
