import { parse as splitAtPublicSuffix } from 'tldts'
import { type FieldError, fieldError } from '#contract/field-errors.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import { reverseName } from '../dns/ip-addresses.ts'
import { endsInNumber, parseDomainName } from '../dns/names.ts'
import type { FieldErrors } from '../problem.ts'

/** The name in a request. `full_domain` overrides the other two fields. */
export type NameInput = {
  domain?: string | undefined
  subdomain?: string | undefined
  full_domain?: string | undefined
}

/** `owner`: the queried name, in the form of `Question.name`. `domain` is `.` for the root, `subdomain` is '' for the apex. */
export type MonitorName = { domain: string; subdomain: string; owner: string }

/** Selects the monitors whose parts equal those of the filter. */
export type NameFilter = { owner?: string; domain?: string; subdomain?: string }

const MAX_LENGTH = { domain: 255, subdomain: 255, full_domain: 512 }

type Field = keyof typeof MAX_LENGTH
type ParsedField = { ok: true; name: string } | { ok: false; reason: FieldError }

/** The name to monitor. For PTR, `domain` or `full_domain` may be an IP address, which becomes its reverse name. */
export function parseMonitorName(
  input: NameInput,
  recordType: MonitorRecordType,
): { ok: true; name: MonitorName } | { ok: false; errors: FieldErrors } {
  if (input.full_domain !== undefined) {
    const parsed = parseName('full_domain', input.full_domain, recordType === 'PTR')
    if (!parsed.ok) return { ok: false, errors: { full_domain: parsed.reason } }
    if (endsInNumber(parsed.name)) return { ok: false, errors: { full_domain: noTopLevel(parsed.name) } }
    return { ok: true, name: splitAtRegistrableDomain(parsed.name) }
  }
  const errors: FieldErrors = {}
  const domain = parseDomain(input.domain, recordType)
  if (!domain.ok) errors.domain = domain.reason
  const subdomain = parseSubdomain(input.subdomain ?? '', domain.ok ? domain.name : undefined)
  if (!subdomain.ok) errors.subdomain = subdomain.reason
  if (!domain.ok || !subdomain.ok) return { ok: false, errors }
  const name = joinName(subdomain.name, domain.name)
  if (endsInNumber(name.owner))
    return { ok: false, errors: { [domain.name === '' ? 'subdomain' : 'domain']: noTopLevel(name.owner) } }
  return { ok: true, name }
}

/** The filters of a list, in the form in which monitors are stored. */
export function parseNameFilter(
  input: NameInput,
): { ok: true; filter: NameFilter } | { ok: false; errors: FieldErrors } {
  const errors: FieldErrors = {}
  const filter: NameFilter = {}
  if (input.full_domain !== undefined) {
    const parsed = parseName('full_domain', input.full_domain, true)
    if (parsed.ok) filter.owner = parsed.name
    else errors.full_domain = parsed.reason
  } else {
    const domain = input.domain === undefined ? undefined : parseName('domain', input.domain, true)
    if (domain?.ok) filter.domain = domain.name || '.'
    else if (domain) errors.domain = domain.reason
    const subdomain = input.subdomain === undefined ? undefined : parseSubdomain(input.subdomain, undefined)
    if (subdomain?.ok) filter.subdomain = subdomain.name
    else if (subdomain) errors.subdomain = subdomain.reason
  }
  return Object.keys(errors).length > 0 ? { ok: false, errors } : { ok: true, filter }
}

function parseDomain(text: string | undefined, recordType: MonitorRecordType): ParsedField {
  if (text === undefined) return refused(fieldError('name_required'))
  return parseName('domain', text, recordType === 'PTR')
}

function parseName(field: Field, text: string, takesAddress: boolean): ParsedField {
  const tooLong = lengthError(field, text)
  if (tooLong) return refused(tooLong)
  const reverse = reverseName(text)
  if (reverse === undefined) return parseDomainName(text)
  if (!takesAddress) return refused(fieldError('address_not_allowed', { value: text }))
  return { ok: true, name: reverse }
}

/** Parsed together with its domain, because the limit on the length is that of the whole name. */
function parseSubdomain(text: string, domain: string | undefined): ParsedField {
  const tooLong = lengthError('subdomain', text)
  if (tooLong) return refused(tooLong)
  const relative = text.replace(/[.\u3002\uff0e\uff61]$/, '').replace(/\.@$/, '')
  // A zone file writes the apex as @. RFC 1035 section 5.1.
  if (relative === '' || relative === '@') return { ok: true, name: '' }
  // If the domain is invalid, the subdomain is parsed below arpa, which allows every label: the response then has one error.
  const suffix = domain ?? 'arpa'
  const whole = parseDomainName(`${relative}.${suffix}`)
  if (!whole.ok) return whole
  return { ok: true, name: suffix === '' ? whole.name : whole.name.slice(0, -suffix.length - 1) }
}

function splitAtRegistrableDomain(owner: string): MonitorName {
  const { domain, subdomain } = splitAtPublicSuffix(owner, {
    allowPrivateDomains: false,
    extractHostname: false,
    validateHostname: false,
    detectIp: false,
  })
  // A public suffix and an unknown single label have no registrable domain.
  if (!domain) return { domain: owner || '.', subdomain: '', owner }
  return { domain, subdomain: subdomain ?? '', owner }
}

function joinName(subdomain: string, domain: string): MonitorName {
  return { domain: domain || '.', subdomain, owner: [subdomain, domain].filter((part) => part !== '').join('.') }
}

const noTopLevel = (value: string) => fieldError('no_top_level_domain', { value })

function lengthError(field: Field, text: string): FieldError | undefined {
  const max = MAX_LENGTH[field]
  // A character has one or two UTF-16 code units.
  if (text.length <= max || (text.length <= 2 * max && Array.from(text).length <= max)) return undefined
  return fieldError('too_long', { max })
}

function refused(reason: FieldError): ParsedField {
  return { ok: false, reason }
}

/**
 * The name in a pasted text: the host of a URL, the domain of a mail address, the reverse name of an IP address. Returns any other
 * text without the spaces around it.
 */
export function pastedName(text: string): string {
  const trimmed = text.trim()
  const reverse = reverseName(trimmed)
  if (reverse !== undefined || parseDomainName(trimmed).ok) return reverse ?? trimmed
  const withoutScheme = trimmed.replace(/^(?:[a-z][a-z0-9+.-]*:\/\/|mailto:)/i, '')
  const authority = withoutScheme.split(/[/?#]/)[0]!.split('@').at(-1)!
  const [, bracketed, plain] = authority.match(/^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/) ?? []
  const host = (bracketed ?? plain ?? authority).trim()
  return reverseName(host) ?? host
}
