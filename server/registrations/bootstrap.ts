import type { Clock } from '../clock.ts'
import type { SafeFetch } from '../safe-http/safe-fetch.ts'
import { DAY_MS, HOUR_MS } from '../times.ts'
import { parseObject } from './rdap.ts'
import shipped from './rdap-servers.json' with { type: 'json' }

/** IANA's file has about 60,000. */
const MAX_BYTES = 1_000_000
const MAX_SUFFIXES = 20_000

/** The base URL of the RDAP server by suffix, such as `com`. It ends with `/`. */
export type RdapServers = ReadonlyMap<string, string>

/** Reads a bootstrap file (RFC 9224 section 3). Undefined for anything else. The first URL with TLS is taken. */
export function parseBootstrap(file: unknown): RdapServers | undefined {
  const { services } = (file ?? {}) as { services?: unknown }
  if (!Array.isArray(services)) return undefined
  const servers = new Map<string, string>()
  for (const service of services) {
    const [suffixes, urls] = Array.isArray(service) ? service : []
    if (!Array.isArray(suffixes) || !Array.isArray(urls)) continue
    const allowed = urls.filter((url): url is string => typeof url === 'string' && /^https?:\/\/\S{1,500}$/.test(url))
    const url = allowed.find((each) => each.startsWith('https:')) ?? allowed[0]
    if (url === undefined || !URL.canParse(url)) continue
    for (const suffix of suffixes)
      if (typeof suffix === 'string' && servers.size < MAX_SUFFIXES)
        servers.set(suffix.toLowerCase(), url.endsWith('/') ? url : `${url}/`)
  }
  return servers.size === 0 ? undefined : servers
}

/** The server of the longest suffix of the domain (RFC 9224 section 4). Undefined: the registry has none. */
export function findRdapServer(servers: RdapServers, domain: string): string | undefined {
  for (let at = domain.indexOf('.'); at >= 0; at = domain.indexOf('.', at + 1)) {
    const server = servers.get(domain.slice(at + 1))
    if (server !== undefined) return server
  }
  return undefined
}

type Deps = { clock: Clock; safeFetch: SafeFetch; url: string | null }

/** The current file. It is read again once a day, an hour after a failure; until it can be read, the shipped copy serves. */
export function createBootstrap({ clock, safeFetch, url }: Deps): (signal: AbortSignal) => Promise<RdapServers> {
  let servers = parseBootstrap(shipped)!
  let readAgainAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined

  const read = async (from: string, signal: AbortSignal) => {
    readAgainAt = clock.elapsed() + HOUR_MS
    const result = await safeFetch.get(from, { accept: 'application/json' }, MAX_BYTES, signal)
    if (result.kind !== 'response' || result.status !== 200 || !result.whole?.isComplete) return
    const parsed = parseBootstrap(parseObject(result.whole.body))
    if (!parsed) return
    servers = parsed
    readAgainAt = clock.elapsed() + DAY_MS
  }

  return async (signal) => {
    if (url !== null && clock.elapsed() >= readAgainAt) {
      reading ??= read(url, signal).finally(() => {
        reading = undefined
      })
    }
    await reading
    return servers
  }
}
