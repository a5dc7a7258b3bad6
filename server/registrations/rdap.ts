import { parseDomainName } from '../dns/names.ts'
import type { RegistrationFacts } from './facts.ts'

/** The statuses of RFC 8056 section 2 that say something about a domain. Some registries write them as in EPP, without spaces. */
const STATUSES = [
  ...['add period', 'auto renew period', 'client delete prohibited', 'client hold', 'client renew prohibited'],
  ...['client transfer prohibited', 'client update prohibited', 'inactive', 'active', 'locked', 'pending create'],
  ...['pending delete', 'pending renew', 'pending restore', 'pending transfer', 'pending update', 'redemption period'],
  ...['renew period', 'server delete prohibited', 'server hold', 'server renew prohibited', 'transfer period'],
  ...['server transfer prohibited', 'server update prohibited'],
]
const letters = (text: string) => text.toLowerCase().replace(/[^a-z]/g, '')
const BY_LETTERS = new Map(STATUSES.map((status) => [letters(status), status]))

const MAX_NAME_SERVERS = 26
const MAX_DS = 26
const MAX_REGISTRAR_LENGTH = 100
/** No registration ends outside of them. */
const EARLIEST = Date.UTC(1985, 0)
const LATEST = Date.UTC(2200, 0)

/** Reads the response to a look-up of `domain`. Undefined for what is no such response. Its texts are those of strangers. */
export function parseRdapDomain(body: Buffer, domain: string): RegistrationFacts | undefined {
  const response = parseObject(body)
  if (response?.objectClassName !== 'domain' || nameIn(response.ldhName) !== domain) return undefined
  const registrar = objectsIn(response.entities).find(({ roles }) => stringsIn(roles).includes('registrar'))
  const expiries = objectsIn(response.events).flatMap(({ eventAction, eventDate }) =>
    eventAction === 'expiration' ? (instantIn(eventDate) ?? []) : [],
  )
  const nameServers = objectsIn(response.nameservers).flatMap(({ ldhName }) => nameIn(ldhName) ?? [])
  const ds = isObject(response.secureDNS) ? objectsIn(response.secureDNS.dsData) : []
  const keyTags = ds.flatMap(({ keyTag }) => (Number.isInteger(keyTag) ? [keyTag as number] : []))
  return {
    state: 'registered',
    registrar: registrar === undefined ? null : registrarName(registrar),
    registrarId: registrar === undefined ? null : registrarId(registrar),
    expiresAt: expiries.length === 0 ? null : Math.max(...expiries),
    statuses: sorted(stringsIn(response.status).flatMap((text) => BY_LETTERS.get(letters(text.slice(0, 50))) ?? [])),
    nameServers: nameServers.length === 0 ? null : sorted(nameServers).slice(0, MAX_NAME_SERVERS),
    dsKeyTags: keyTags.length === 0 ? null : [...new Set(keyTags)].sort((one, other) => one - other).slice(0, MAX_DS),
  }
}

/** The JSON object in a body; undefined for anything else. */
export function parseObject(body: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const listIn = (value: unknown): unknown[] => (Array.isArray(value) ? value.slice(0, 100) : [])
const objectsIn = (value: unknown) => listIn(value).filter(isObject)
const stringsIn = (value: unknown) => listIn(value).filter((each) => typeof each === 'string')
const sorted = (texts: readonly string[]) => [...new Set(texts)].sort()

function nameIn(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > 255) return undefined
  const parsed = parseDomainName(value)
  return parsed.ok && parsed.name !== '' ? parsed.name : undefined
}

function instantIn(value: unknown): number | undefined {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\d/.test(value)) return undefined
  const at = Date.parse(value.slice(0, 40))
  return at >= EARLIEST && at <= LATEST ? at : undefined
}

/** The `fn` of the jCard (RFC 7095). Only letters, digits and what names of companies have beside them: no address becomes a link. */
function registrarName({ vcardArray }: Record<string, unknown>): string | null {
  const fn = listIn(listIn(vcardArray)[1]).find((property) => Array.isArray(property) && property[0] === 'fn')
  const text = Array.isArray(fn) && typeof fn[3] === 'string' ? fn[3].slice(0, 500) : ''
  const plain = text.normalize('NFC').replace(/[^\p{L}\p{M}\p{N}.,&'()+-]/gu, ' ')
  const words = plain.split(' ').filter((word) => word !== '')
  return [...words.join(' ')].slice(0, MAX_REGISTRAR_LENGTH).join('').trim() || null
}

function registrarId({ publicIds }: Record<string, unknown>): string | null {
  const id = objectsIn(publicIds).find(({ type }) => type === 'IANA Registrar ID')?.identifier
  return typeof id === 'string' && /^\d{1,10}$/.test(id) ? id : null
}
