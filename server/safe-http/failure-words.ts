import { ProxyFailure } from './proxy-tunnel.ts'
import { NameFailure, Orphaned, RefusedAddress } from './vetted-connect.ts'

const WORDS: Record<string, string> = {
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
  if (WORDS[code] !== undefined) return WORDS[code]
  // undici asserts what it expects of an answer: a status of 099, or a 101 without an upgrade.
  if (code.startsWith('HPE_') || code === 'ERR_ASSERTION') return 'the response is not valid HTTP'
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO') return `the TLS handshake failed (${code})`
  return `the request failed (${code})`
}

/** True where the connection was simply gone: nothing is known to be wrong with the receiver. */
export function isDisconnect(error: Error): boolean {
  if (error instanceof Orphaned) return true
  return ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(codeOf(error) ?? '')
}

function codeOf(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
