import type { FastifyRequest } from 'fastify'
import type { Signer } from '../keyring.ts'

/** `zonewatch doctor` signs this header with SECRET, to see a request as the server sees it behind its proxies. */
export const PROBE_HEADER = 'x-zonewatch-probe'
export const SEEN_HEADER = 'x-zonewatch-seen'
const VALID_MS = 60_000

/** `peer`: the address of the connection. `address`: the client, if `peer` is a trusted proxy. Both are the same if the client is on the machine of the proxy. */
export type SeenRequest = {
  peer: string
  isPeerTrusted: boolean
  address: string
  host: string
  forwardedFor: string | null
}

/** The value of `SEEN_HEADER`; undefined without a valid probe. */
export function seenHeader({ headers, socket, ip, ips = [], host }: FastifyRequest, keyring: Signer, now: number) {
  const [signedAt = '', signature = ''] = String(headers[PROBE_HEADER] ?? '').split('.')
  if (signature === '' || !(Math.abs(Number(signedAt) - now) < VALID_MS)) return undefined
  if (!keyring.verify(`probe ${signedAt}`, Buffer.from(signature, 'base64url'))) return undefined
  const forwardedFor = headers['x-forwarded-for'] === undefined ? null : String(headers['x-forwarded-for'])
  // Fastify adds the addresses of the header only if the peer is trusted.
  const isPeerTrusted = ips.length > 1
  const seen: SeenRequest = { peer: socket.remoteAddress ?? '', isPeerTrusted, address: ip, host, forwardedFor }
  return Buffer.from(JSON.stringify(seen)).toString('base64url')
}
