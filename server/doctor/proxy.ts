import type { Clock } from '../clock.ts'
import { PROBE_HEADER, SEEN_HEADER, type Seen } from '../http/doctor-probe.ts'
import type { Signer } from '../seal.ts'
import { type Finding, failure, ok, warning } from './finding.ts'

const TIMEOUT_MS = 5_000
/** RFC 5737: nobody has this address. */
const FORGED = '192.0.2.123'

export type ProxyOptions = { baseUrl: string; seal: Signer; clock: Clock; trustedProxies: readonly string[] }

/** Asks the server, by the address that people use, what it sees of a request. Only a probe signed with SECRET is answered. */
export async function findProxy({ baseUrl, seal, clock, trustedProxies }: ProxyOptions): Promise<Finding[]> {
  const check = 'reverse proxy'
  const probe = () => {
    const at = String(clock.now())
    return { [PROBE_HEADER]: `${at}.${seal.sign(`probe ${at}`).toString('base64url')}` }
  }
  const ask = (headers: Record<string, string>) =>
    fetch(`${baseUrl}/healthz`, {
      headers: { ...headers, ...probe() },
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
  const answer = await ask({}).catch((error: Error) => error)
  if (answer instanceof Error) {
    const cause = answer.cause instanceof Error ? answer.cause.message : answer.message
    return [
      failure(
        check,
        `${baseUrl} does not answer: ${cause}`,
        'Check that the server and the proxy run, their certificate, and BASE_URL.',
      ),
    ]
  }
  const seen = seenIn(answer)
  if (seen === undefined) {
    return [
      failure(
        check,
        `${baseUrl} answers ${answer.status}, but is not this server`,
        'Check BASE_URL, and that the proxy passes /healthz on to this server unchanged.',
      ),
    ]
  }
  const forged = await ask({ 'x-forwarded-for': FORGED }).then(seenIn, () => undefined)
  return onSeen(seen, forged, { baseUrl, trustedProxies })
}

function seenIn(answer: Response): Seen | undefined {
  const header = answer.headers.get(SEEN_HEADER)
  return header === null ? undefined : (JSON.parse(Buffer.from(header, 'base64url').toString()) as Seen)
}

/** `forged`: what the server saw of a request that came with an X-Forwarded-For of its own. */
export function onSeen(
  seen: Seen,
  forged: Seen | undefined,
  { baseUrl, trustedProxies }: Pick<ProxyOptions, 'baseUrl' | 'trustedProxies'>,
): Finding[] {
  const check = 'reverse proxy'
  const base = new URL(baseUrl)
  if (forged?.address === FORGED) {
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
  if (seen.address === seen.peer) {
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
