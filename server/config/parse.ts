import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import type { ServerAddress } from '../dns/outcome.ts'
import { parseServerAddress } from '../dns/server-address.ts'
import { type Plans, parsePlans, SELF_HOSTED } from '../plan.ts'
import { type Networks, parseNetworks } from '../safe-http/address-policy.ts'

export type Role = 'api' | 'checker' | 'delivery'
export const ROLES: Role[] = ['api', 'checker', 'delivery']
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Reads a setting with its default and its description. */
export type ReadSetting = <T>(setting: string, preset: string, about: string, parse: (text: string) => T) => T
/** Returns null if the secret is not set. */
export type ReadSecret = (setting: string, about: string, parse: (text: string) => string) => string | null

/** The message continues a sentence that begins with the setting's name. */
export class InvalidSetting extends Error {}

export function parseHost(text: string): string {
  if (isIP(text) === 0 && text !== 'localhost')
    throw new InvalidSetting(`must be an IP address or localhost, not "${text}".`)
  return text === 'localhost' ? '127.0.0.1' : text
}

export function parseInteger(text: string, min: number, max: number): number {
  const number = Number(text)
  if (!/^\d+$/.test(text) || number < min || number > max) {
    throw new InvalidSetting(`must be a whole number from ${min} to ${max}, not "${text}".`)
  }
  return number
}

const UNIT_MS = { s: 1_000, m: 60_000, h: 60 * 60_000, d: 24 * 60 * 60_000 }

/** Returns milliseconds. `text`: such as `90s`, `30m`, `6h` or `7d`. */
export function parseDuration(text: string, minMs: number, maxMs: number): number {
  const [, number, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  const ms = Number(number) * UNIT_MS[unit as keyof typeof UNIT_MS]
  if (ms >= minMs && ms <= maxMs) return ms
  const durationText = (ms: number) => (ms % UNIT_MS.d === 0 ? `${ms / UNIT_MS.d}d` : `${ms / UNIT_MS.m}m`)
  throw new InvalidSetting(
    `must be a time like 30m, 6h or 7d, from ${durationText(minMs)} to ${durationText(maxMs)}, not "${text}".`,
  )
}

export const parseLimit = (text: string): number => parseInteger(text, 0, 1_000_000)

export function parseOrigins(text: string): string[] {
  const origins = splitList(text)
  const isOrigin = (origin: string) => origin === '*' || (URL.canParse(origin) && new URL(origin).origin === origin)
  const invalid = origins.find((origin) => !isOrigin(origin))
  if (invalid !== undefined)
    throw new InvalidSetting(`must be origins like https://status.example.com, or *, not "${invalid}".`)
  return origins
}

/** Returns the entries as text, because Fastify parses them itself. */
export function parseProxies(text: string): string[] {
  parseAllowedNetworks(text)
  const networks = splitList(text)
  const widest = networks.find((network) => {
    const [address = '', length] = network.split('/')
    return length !== undefined && Number(length) < (isIP(address) === 4 ? 8 : 7)
  })
  if (widest !== undefined) {
    throw new InvalidSetting(
      `must name your proxies, not "${widest}": every client could choose the address that limits and logs see.`,
    )
  }
  return networks
}

/** BASE_URL. Its pages, the API and its cookies are at the root of a host. */
export function parseOwnUrl(text: string): string {
  const url = parseBaseUrl(text)
  const { pathname, search, hash } = new URL(url)
  if (pathname === '/' && search === '' && hash === '') return url
  throw new InvalidSetting(
    `must be an address without a path, not "${text}". Give Zonewatch a host name, such as https://dns.example.com.`,
  )
}

/** Absolute. */
export function parseDataDir(text: string): string {
  const folder = resolve(text)
  if (/^\/(?:proc|sys)(?:\/|$)/.test(folder)) {
    throw new InvalidSetting(`must be a folder on a disk, not "${folder}": the kernel makes the files there.`)
  }
  return folder
}

export function parseBaseUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw new InvalidSetting(`must be an address like https://dns.example.com, not "${text}".`)
  }
  let end = text.length
  while (text[end - 1] === '/') end--
  return text.slice(0, end)
}

export function parseDatabaseUrl(text: string): string {
  if (/^sqlite:./.test(text)) return `sqlite:${resolve(text.slice('sqlite:'.length))}`
  if (/^postgres(ql)?:\/\/./.test(text) && URL.canParse(text)) return text
  throw new InvalidSetting('must be sqlite:<file> or postgres://user:password@host:port/database.')
}

export function parseRoles(text: string): ReadonlySet<Role> {
  const roles = splitList(text).map((role) => parseOneOf(role, ROLES))
  if (roles.length === 0) throw new InvalidSetting(`needs at least one of ${ROLES.join(', ')}.`)
  return new Set(roles)
}

export function parseWorkers(text: string): number {
  if (text === 'auto') return Math.max(1, availableParallelism() - 1)
  return parseInteger(text, 0, 256)
}

export function parseServers(text: string): ServerAddress[] | null {
  const servers = splitList(text).map((address) => {
    const parsed = parseServerAddress(address)
    if (!parsed.ok) throw new InvalidSetting(`has an invalid server address: ${parsed.reason}`)
    return parsed.server
  })
  return servers.length > 0 ? servers : null
}

export function parseAllowedNetworks(text: string): Networks {
  const networks = parseNetworks(text)
  if (!networks.ok) throw new InvalidSetting(`has an invalid network: ${networks.reason}`)
  return networks.networks
}

export function parsePorts(text: string): readonly number[] {
  return text === 'off' ? [] : splitList(text).map((port) => parseInteger(port, 0, 65_535))
}

/** Null for an empty setting. Parses every certificate of the file, so that a broken one is reported at the start. */
export function parseCertificateAuthorities(path: string): string | null {
  if (path === '') return null
  let pem: string
  try {
    pem = readFileSync(path, 'utf8')
  } catch {
    throw new InvalidSetting(`names a file that cannot be read: ${path}.`)
  }
  const certificates = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (certificates.length === 0 || !certificates.every(isCertificate)) {
    throw new InvalidSetting(`names a file without PEM certificates: ${path}.`)
  }
  return certificates.join('\n')
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined
  } catch {
    return false
  }
}

export function parseProxy(text: string): string {
  const url = URL.parse(text)
  const isWithoutPath = url !== null && url.pathname === '/' && url.search === ''
  if (isWithoutPath && (url.protocol === 'http:' || url.protocol === 'https:')) return text
  throw new InvalidSetting(
    'must be an address like http://proxy.example:3128 or http://user:password@proxy.example:3128.',
  )
}

export function parsePlansSetting(text: string): Plans {
  if (text === '') return SELF_HOSTED
  const plans = parsePlans(text)
  if (!plans.ok) throw new InvalidSetting(plans.reason)
  return plans.plans
}

export function parseSmtpUrl(text: string): string {
  if (/^smtps?:\/\/./.test(text) && URL.canParse(text)) return text
  throw new InvalidSetting('must be smtp://user:password@host:port or smtps://….')
}

export function parseSender(text: string): string {
  if (text === '' || /^([^<>\r\n]*<)?[^\s@<>]+@[^\s@<>]+>?$/.test(text)) return text
  throw new InvalidSetting(
    `must be an address like alerts@example.com or Zonewatch <alerts@example.com>, not "${text}".`,
  )
}

export function parseSecret(text: string): string {
  if (text.length < 32)
    throw new InvalidSetting('needs at least 32 characters; create one with: openssl rand -base64 32')
  return text
}

export function parseOneOf<T extends string>(text: string, allowed: readonly T[]): T {
  const value = allowed.find((candidate) => candidate === text)
  if (value === undefined) throw new InvalidSetting(`must be one of ${allowed.join(', ')}, not "${text}".`)
  return value
}

/** The entries of a comma-separated list. */
export const splitList = (text: string): string[] =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
