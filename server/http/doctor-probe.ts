import type { FastifyRequest } from 'fastify'
import type { Signer } from '../seal.ts'

/** `zonewatch doctor` asks what the server sees of a request, and proves with SECRET that it may know. */
export const PROBE_HEADER = 'x-zonewatch-probe'
export const SEEN_HEADER = 'x-zonewatch-seen'
const VALID_MS = 60_000

/** `peer`: who connects. `address`: the client, if `peer` is trusted to name it. */
export type Seen = { peer: string; address: string; host: string; forwardedFor: string | null }

/** The value of `SEEN_HEADER`; undefined for a request without a good probe. */
export function seenOf({ headers, socket, ip, host }: FastifyRequest, seal: Signer, now: number): string | undefined {
  const [at = '', signature = ''] = String(headers[PROBE_HEADER] ?? '').split('.')
  if (signature === '' || !(Math.abs(Number(at) - now) < VALID_MS)) return undefined
  if (!seal.isSigned(`probe ${at}`, Buffer.from(signature, 'base64url'))) return undefined
  const forwardedFor = headers['x-forwarded-for'] === undefined ? null : String(headers['x-forwarded-for'])
  const seen: Seen = { peer: socket.remoteAddress ?? '', address: ip, host, forwardedFor }
  return Buffer.from(JSON.stringify(seen)).toString('base64url')
}
