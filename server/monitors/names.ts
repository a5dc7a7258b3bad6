import { parse as splitAtPublicSuffix } from 'tldts'
import { type FieldError, fieldError } from '#contract/field-errors.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import { reverseName } from '../dns/addresses.ts'
import { endsInNumber, parseDomainName } from '../dns/names.ts'

/** As a caller gives it. `full_domain` overrides the other two, as it does in the list's filter. */
export type NameInput = {
  domain?: string | undefined
  subdomain?: string | undefined
  full_domain?: string | undefined
}

/** `owner` is the name that is asked for, in the form of `Question.name`. `domain` is `.` for the root, `subdomain` is '' for the apex. */
export type MonitorName = { domain: string; subdomain: string; owner: string }

/** A monitor meets the filter when each given part equals its own. */
export type NameFilter = { owner?: string; domain?: string; subdomain?: string }

export type NameProblems = Record<string, FieldError>

const MAX_CHARACTERS = { domain: 255, subdomain: 255, full_domain: 512 }

type Field = keyof typeof MAX_CHARACTERS
type ParsedField = { ok: true; name: string } | { ok: false; reason: FieldError }

/** The name to watch. For PTR an IP address is accepted as `domain` or `full_domain` and becomes its reverse name. */
export function parseMonitorName(
  input: NameInput,
  recordType: MonitorRecordType,
): { ok: true; name: MonitorName } | { ok: false; problems: NameProblems } {
  if (input.full_domain !== undefined) {
    const parsed = parseName('full_domain', input.full_domain, recordType === 'PTR')
    if (!parsed.ok) return { ok: false, problems: { full_domain: parsed.reason } }
    if (endsInNumber(parsed.name)) return { ok: false, problems: { full_domain: noTopLevel(parsed.name) } }
    return { ok: true, name: split(parsed.name) }
  }
  const problems: NameProblems = {}
  const domain = parseDomain(input.domain, recordType)
  if (!domain.ok) problems.domain = domain.reason
  const subdomain = parseSubdomain(input.subdomain ?? '', domain.ok ? domain.name : undefined)
  if (!subdomain.ok) problems.subdomain = subdomain.reason
  if (!domain.ok || !subdomain.ok) return { ok: false, problems }
  const name = joined(subdomain.name, domain.name)
  if (endsInNumber(name.owner))
    return { ok: false, problems: { [domain.name === '' ? 'subdomain' : 'domain']: noTopLevel(name.owner) } }
  return { ok: true, name }
}

/** The filters of a list in the form in which monitors are stored. With `full_domain` the other two are ignored. */
export function parseNameFilter(
  input: NameInput,
): { ok: true; filter: NameFilter } | { ok: false; problems: NameProblems } {
  const problems: NameProblems = {}
  const filter: NameFilter = {}
  if (input.full_domain !== undefined) {
    const parsed = parseName('full_domain', input.full_domain, true)
    if (parsed.ok) filter.owner = parsed.name
    else problems.full_domain = parsed.reason
  } else {
    const domain = input.domain === undefined ? undefined : parseName('domain', input.domain, true)
    if (domain?.ok) filter.domain = domain.name || '.'
    else if (domain) problems.domain = domain.reason
    const subdomain = input.subdomain === undefined ? undefined : parseSubdomain(input.subdomain, undefined)
    if (subdomain?.ok) filter.subdomain = subdomain.name
    else if (subdomain) problems.subdomain = subdomain.reason
  }
  return Object.keys(problems).length > 0 ? { ok: false, problems } : { ok: true, filter }
}

function parseDomain(text: string | undefined, recordType: MonitorRecordType): ParsedField {
  if (text === undefined) return refused(fieldError('name_required'))
  return parseName('domain', text, recordType === 'PTR')
}

function parseName(field: Field, text: string, takesAddress: boolean): ParsedField {
  const tooLong = overlong(field, text)
  if (tooLong) return refused(tooLong)
  const reverse = reverseName(text)
  if (reverse === undefined) return parseDomainName(text)
  if (!takesAddress) return refused(fieldError('address_not_allowed', { value: text }))
  return { ok: true, name: reverse }
}

/** The name of the subdomain alone; judged together with its domain, because both share the length of one name. */
function parseSubdomain(text: string, domain: string | undefined): ParsedField {
  const tooLong = overlong('subdomain', text)
  if (tooLong) return refused(tooLong)
  const relative = text.replace(/[.\u3002\uff0e\uff61]$/, '')
  // A zone file writes the apex as @. RFC 1035 section 5.1.
  if (relative === '' || relative === '@') return { ok: true, name: '' }
  // Below arpa every label is allowed, so that an unknown domain adds no second complaint.
  const suffix = domain ?? 'arpa'
  const whole = parseDomainName(`${relative}.${suffix}`)
  if (!whole.ok) return whole
  return { ok: true, name: suffix === '' ? whole.name : whole.name.slice(0, -suffix.length - 1) }
}

function split(owner: string): MonitorName {
  const { domain, subdomain } = splitAtPublicSuffix(owner, {
    allowPrivateDomains: false,
    extractHostname: false,
    validateHostname: false,
    detectIp: false,
  })
  // A public suffix itself, or a single label that no list knows, has no registrable domain.
  if (!domain) return { domain: owner || '.', subdomain: '', owner }
  return { domain, subdomain: subdomain ?? '', owner }
}

function joined(subdomain: string, domain: string): MonitorName {
  return { domain: domain || '.', subdomain, owner: [subdomain, domain].filter((part) => part !== '').join('.') }
}

const noTopLevel = (value: string) => fieldError('no_top_level_domain', { value })

function overlong(field: Field, text: string): FieldError | undefined {
  const allowed = MAX_CHARACTERS[field]
  if (text.length <= allowed || (text.length <= 2 * allowed && Array.from(text).length <= allowed)) return undefined
  return fieldError('too_long', { max: allowed })
}

function refused(reason: FieldError): ParsedField {
  return { ok: false, reason }
}

/**
 * The name in a text as people paste it: of a URL its host, of a mail address what stands behind the @, of an IP address the
 * name of its PTR records. What is none of them is given back without its spaces.
 */
export function pastedName(text: string): string {
  const given = text.trim()
  if (reverseName(given) === undefined && parseDomainName(given).ok) return given
  const rest = given.replace(/^(?:[a-z][a-z0-9+.-]*:\/\/|mailto:)/i, '')
  const authority = rest.split(/[/?#]/)[0]!.split('@').at(-1)!
  const [, bracketed, plain] = authority.match(/^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/) ?? []
  const host = (bracketed ?? plain ?? authority).trim()
  return reverseName(given) ?? reverseName(host) ?? host
}
