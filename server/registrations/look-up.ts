import type { RegistrationProblem } from '#contract/zone-codes.ts'
import { parseRetryAfter } from '../retry-schedule.ts'
import type { SafeFetch } from '../safe-http/safe-fetch.ts'
import type { RegistrationFacts } from './facts.ts'
import { parseRdapDomain } from './rdap.ts'

/** `retryAfterMs`: of the server, for all look-ups at it. */
export type LookUp =
  | { kind: 'facts'; facts: RegistrationFacts }
  | { kind: 'failed'; problem: RegistrationProblem; retryAfterMs?: number | undefined }

/** Responses have 2,000 to 20,000 bytes. */
const MAX_BYTES = 262_144
const MAX_REDIRECTS = 3
const HEADERS = { accept: 'application/rdap+json' }

/**
 * Looks the domain up at the RDAP server of its registry (RFC 9082 section 3.1.3). Links in the response are not followed; each redirect is
 * checked like every address that strangers choose.
 */
export async function lookUpDomain(
  { safeFetch, now }: { safeFetch: SafeFetch; now: () => number },
  server: string,
  domain: string,
  signal: AbortSignal,
): Promise<LookUp> {
  let url = `${server}domain/${domain}`
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const result = await safeFetch.get(url, HEADERS, MAX_BYTES, signal)
    if (result.kind === 'refused') return { kind: 'failed', problem: 'refused' }
    if (result.kind !== 'response') return { kind: 'failed', problem: 'unreachable' }
    const { status, retryAfter, whole } = result
    if (status === 404) return { kind: 'facts', facts: { state: 'not_found' } }
    if (status === 429 || status === 503)
      return {
        kind: 'failed',
        problem: 'rate_limited',
        retryAfterMs: retryAfter === undefined ? undefined : parseRetryAfter(retryAfter, now()),
      }
    if (status === 200) {
      const facts = whole?.isComplete ? parseRdapDomain(whole.body, domain) : undefined
      return facts ? { kind: 'facts', facts } : { kind: 'failed', problem: 'invalid_response' }
    }
    const next = isRedirect(status) ? nextUrl(url, whole?.location) : undefined
    if (next === undefined) return { kind: 'failed', problem: 'invalid_response' }
    url = next
  }
  return { kind: 'failed', problem: 'invalid_response' }
}

const isRedirect = (status: number) => [301, 302, 303, 307, 308].includes(status)

/** Undefined if it leads from TLS to no TLS. */
function nextUrl(from: string, location: string | undefined): string | undefined {
  const next = location === undefined ? null : URL.parse(location, from)
  if (next === null || (from.startsWith('https:') && next.protocol !== 'https:')) return undefined
  return next.href
}
