import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { errorCodeOf } from '../problem.ts'
import { limitHeaders, unlimited } from './limits.ts'

type ConnectionError = Error & { code: string; rawPacket: unknown }

/**
 * Answers what is not HTTP, before there is a request: in the shape of every other error. It is not counted, because the
 * connection ends with it.
 */
export function answerClientErrors(now: () => number) {
  return (error: ConnectionError, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || socket.destroyed) return
    if (!socket.writable) return void socket.destroy(error)
    const code = statusOf(error)
    const body = JSON.stringify({ code, error: SENTENCES[code], ...(code === 400 ? { errors: NOT_HTTP } : {}) })
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      connection: 'close',
      'x-error-code': errorCodeOf(code),
      'x-request-id': randomUUID(),
      ...limitHeaders(unlimited(now()), now()),
    }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    socket.end([`HTTP/1.1 ${code} ${STATUS_CODES[code]}`, ...lines, '', body].join('\r\n'))
  }
}

const NOT_HTTP = { request: 'is malformed HTTP.' }

const SENTENCES: Record<number, string> = {
  400: 'Malformed HTTP request.',
  408: 'The request timed out before it was complete.',
  413: 'The request body is too large.',
  414: 'The URL is too long.',
  431: 'The request headers are too large.',
}

function statusOf({ code, rawPacket }: ConnectionError): 400 | 408 | 413 | 414 | 431 {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 408
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return 413
  if (code !== 'HPE_HEADER_OVERFLOW') return 400
  // The limit is one for the first line and the headers; which of them was too much shows in what came.
  const firstLine = Buffer.isBuffer(rawPacket) ? rawPacket.indexOf('\r\n') : 0
  return firstLine < 0 || firstLine > 8_192 ? 414 : 431
}
