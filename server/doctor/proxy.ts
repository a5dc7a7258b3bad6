import type { Clock } from '../clock.ts'
import { PROBE_HEADER, SEEN_HEADER, type SeenRequest } from '../http/doctor-probe.ts'
import type { Signer } from '../keyring.ts'
import { type Finding, failure, ok, warning } from './finding.ts'

const TIMEOUT_MS = 5_000
/** An address for documentation, which no client has: RFC 5737. */
const FORGED_ADDRESS = '192.0.2.123'

export type ProxyOptions = { baseUrl: string; keyring: Signer; clock: Clock; trustedProxies: readonly string[] }

/** Sends a request to BASE_URL; the server returns what it saw of it, if the request is signed with SECRET. */
export async function checkProxy({ baseUrl, keyring, clock, trustedProxies }: ProxyOptions): Promise<Finding[]> {
  const check = 'reverse proxy'
  const probe = () => {
    const at = String(clock.now())
    return { [PROBE_HEADER]: `${at}.${keyring.sign(`probe ${at}`).toString('base64url')}` }
  }
  const request = (headers: Record<string, string>) =>
    fetch(`${baseUrl}/healthz`, {
      headers: { ...headers, ...probe() },
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
  const response = await request({}).catch((error: Error) => error)
  if (response instanceof Error) {
    const cause = response.cause instanceof Error ? response.cause.message : response.message
    return [
      failure(
        check,
        `${baseUrl} does not answer: ${cause}`,
        'Check that the server and the proxy run, their certificate, and BASE_URL.',
      ),
    ]
  }
  const seen = seenIn(response)
  if (seen === undefined) {
    return [
      failure(
        check,
        `${baseUrl} answers ${response.status}, but is not this server`,
        'Check BASE_URL, and that the proxy passes /healthz on to this server unchanged.',
      ),
    ]
  }
  const forged = await request({ 'x-forwarded-for': FORGED_ADDRESS }).then(seenIn, () => undefined)
  return proxyFindings(seen, forged, { baseUrl, trustedProxies })
}

function seenIn(response: Response): SeenRequest | undefined {
  const header = response.headers.get(SEEN_HEADER)
  return header === null ? undefined : (JSON.parse(Buffer.from(header, 'base64url').toString()) as SeenRequest)
}

/** `forged`: what the server saw of a request with a forged X-Forwarded-For. */
export function proxyFindings(
  seen: SeenRequest,
  forged: SeenRequest | undefined,
  { baseUrl, trustedProxies }: Pick<ProxyOptions, 'baseUrl' | 'trustedProxies'>,
): Finding[] {
  const check = 'reverse proxy'
  const base = new URL(baseUrl)
  if (forged?.address === FORGED_ADDRESS) {
    return [
      failure(
        check,
        'clients can choose their address with X-Forwarded-For',
        'Configure the proxy to overwrite X-Forwarded-For, and remove client addresses from TRUSTED_PROXIES.',
      ),
    ]
  }
  if (seen.forwardedFor === null) {
    if (trustedProxies.length === 0 && base.protocol === 'http:') return [ok(check, 'none')]
    return [
      failure(
        check,
        'X-Forwarded-For does not arrive',
        'Configure the proxy to set X-Forwarded-For. Otherwise all clients share one rate limit.',
      ),
    ]
  }
  if (!seen.isPeerTrusted) {
    return [
      failure(
        check,
        `X-Forwarded-For from ${seen.peer} is not trusted`,
        `Add ${seen.peer} to TRUSTED_PROXIES. Otherwise all clients share one rate limit.`,
      ),
    ]
  }
  if (seen.host !== base.host) {
    return [
      warning(
        check,
        `the server sees the host ${seen.host}, but BASE_URL has ${base.host}`,
        'Configure the proxy to pass on Host, or to set X-Forwarded-Host.',
      ),
    ]
  }
  return [ok(check, `X-Forwarded-For from ${seen.peer} is trusted`)]
}
