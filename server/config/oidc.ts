import { isIP } from 'node:net'
import { InvalidSetting, type ReadSecret, type ReadSetting } from './parse.ts'

/** Who of the provider's users gets which role in an organization. */
export type OidcGrant = {
  /** The id of the organization, `org_…`. */
  organization: string
  /** A provider never makes or unmakes owners. */
  role: 'admin' | 'member' | 'viewer'
  /** A value that the provider's claim must have; undefined: every user of the provider. */
  group?: string
}

/** An OpenID Connect provider through which people sign in. */
export type OidcProvider = {
  /** In the path of its redirect URI. */
  id: string
  /** What the button says. */
  name: string
  issuer: string
  clientId: string
  /** Null for a public client. */
  clientSecret: string | null
  scope: string
  /** The claim with the user's groups. */
  groupsClaim: string
  /** The domains of the addresses that the provider may vouch for, in lower case. */
  domains: readonly string[]
  /** Whether an address counts as confirmed although the provider does not say so (`email_verified`). */
  trustsEmail: boolean
  grants: readonly OidcGrant[]
}

export type OidcSettings = { providers: readonly OidcProvider[]; isOnly: boolean }

export function readOidcSettings(read: ReadSetting, readSecret: ReadSecret): OidcSettings {
  const about = 'providers for single sign-on with OpenID Connect, as JSON; none when empty'
  const text = readSecret('OIDC_PROVIDERS', about, (value) => {
    parseProviders(value)
    return value
  })
  const isOnly = read(
    'OIDC_ONLY',
    'false',
    'true: people sign in through OIDC_PROVIDERS only, and passwords do not work',
    (value) => {
      if (value !== 'true' && value !== 'false') throw new InvalidSetting('must be true or false.')
      if (value === 'true' && !text) throw new InvalidSetting('needs OIDC_PROVIDERS.')
      return value === 'true'
    },
  )
  return { providers: text ? parseProviders(text) : [], isOnly }
}

const FIELDS = [
  'id',
  'name',
  'issuer',
  'client_id',
  'client_secret',
  'scope',
  'groups_claim',
  'domains',
  'trust_unverified_email',
  'grants',
]

/** Throws `InvalidSetting`, which names the provider and the field. */
export function parseProviders(text: string): OidcProvider[] {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new InvalidSetting('is not JSON.')
  }
  if (!Array.isArray(value) || value.length === 0 || value.length > 20)
    throw new InvalidSetting('must be a list of 1 to 20 providers.')
  const providers = value.map(parseProvider)
  const ids = new Set(providers.map(({ id }) => id))
  if (ids.size < providers.length) throw new InvalidSetting('has two providers with the same id.')
  return providers
}

function parseProvider(value: unknown, index: number): OidcProvider {
  const field = fieldsOf(value, `provider ${index + 1}`, FIELDS)
  const id = field.text('id', /^[a-z0-9-]{1,40}$/, '1 to 40 lower-case letters, digits and hyphens')
  const where = `the provider ${id}`
  const {
    client_secret: clientSecret = null,
    scope = 'openid email profile',
    groups_claim: groupsClaim = 'groups',
  } = field.values
  for (const [name, each] of Object.entries({ client_secret: clientSecret ?? '', scope, groups_claim: groupsClaim }))
    if (typeof each !== 'string') throw new InvalidSetting(`has in ${where} a ${name} that is no text.`)
  const trustsEmail = field.values.trust_unverified_email ?? false
  if (typeof trustsEmail !== 'boolean')
    throw new InvalidSetting(`has in ${where} a trust_unverified_email that is not true or false.`)
  if (!`${scope}`.split(' ').includes('openid')) throw new InvalidSetting(`has in ${where} a scope without openid.`)
  return {
    id,
    name: field.text('name', /^[^\p{C}]{1,60}$/u, '1 to 60 characters'),
    issuer: parseIssuer(field.text('issuer', /^.{1,500}$/, 'a URL'), where),
    clientId: field.text('client_id', /^.{1,500}$/, 'a text'),
    clientSecret: clientSecret as string | null,
    scope: scope as string,
    groupsClaim: groupsClaim as string,
    domains: field.list('domains').map((domain) => {
      if (typeof domain === 'string' && /^[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(domain)) return domain.toLowerCase()
      throw new InvalidSetting(`has in ${where} a domain that is none: ${JSON.stringify(domain)}.`)
    }),
    trustsEmail,
    grants: field.list('grants').map((grant) => parseGrant(grant, where)),
  }
}

function parseGrant(value: unknown, where: string): OidcGrant {
  const field = fieldsOf(value, `a grant of ${where}`, ['organization', 'role', 'group'])
  const role = field.text('role', /^(?:admin|member|viewer)$/, 'admin, member or viewer')
  const organization = field.text('organization', /^org_\w+$/, 'the id of an organization')
  const { group } = field.values
  if (group !== undefined && typeof group !== 'string')
    throw new InvalidSetting(`has in a grant of ${where} a group that is no text.`)
  return { organization, role: role as OidcGrant['role'], ...(group !== undefined && { group }) }
}

function fieldsOf(value: unknown, where: string, names: readonly string[]) {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new InvalidSetting(`has ${where} that is no object.`)
  const values = value as Record<string, unknown>
  const unknown = Object.keys(values).find((name) => !names.includes(name))
  if (unknown !== undefined)
    throw new InvalidSetting(`has in ${where} an unknown field: ${unknown}. There are ${names.join(', ')}.`)
  return {
    values,
    text(name: string, pattern: RegExp, allowed: string): string {
      const text = values[name]
      if (typeof text === 'string' && pattern.test(text)) return text
      throw new InvalidSetting(`needs in ${where} a field ${name}: ${allowed}.`)
    },
    list(name: string): unknown[] {
      const list = values[name]
      if (Array.isArray(list) && list.length > 0 && list.length <= 1_000) return list
      throw new InvalidSetting(`needs in ${where} a field ${name}: a list with at least one item.`)
    },
  }
}

/** Without TLS anybody between could sign in as anybody: only a provider on this machine may do without. */
function parseIssuer(text: string, where: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const host = url?.hostname.replace(/^\[|\]$/g, '') ?? ''
  const isLocal = host === 'localhost' || (isIP(host) === 4 && host.startsWith('127.')) || host === '::1'
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLocal)) return text
  throw new InvalidSetting(`has in ${where} an issuer that does not begin with https://.`)
}
