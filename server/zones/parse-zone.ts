import { fieldError } from '#contract/field-errors.ts'
import type { ZoneChange } from '#contract/zones.ts'
import { endsInNumber, parseDomainName } from '../dns/names.ts'
import { type FieldErrors, throwIfInvalid } from '../problem.ts'
import { parseHost } from '../record-types/fields.ts'
import { parseTimes } from '../times.ts'
import type { IgnoredFinding } from './findings.ts'

/** The canonical name of a zone that can be added. Throws a 400. */
export const parseZoneName = (text: string): string => parseNames({ name: text })[0]!

/** As `parseZoneName`, without duplicates. Throws a 400 that names all entries at fault. */
export const parseZoneNames = (texts: readonly string[]): string[] => [
  ...new Set(parseNames(Object.fromEntries(texts.map((text, index) => [`names.${index}`, text])))),
]

/** By the field of each. */
function parseNames(texts: Record<string, string>): string[] {
  const errors: FieldErrors = {}
  const names = Object.entries(texts).map(([field, text]) => {
    const parsed = parseDomainName(text)
    if (!parsed.ok) errors[field] = parsed.reason
    else if (!isZoneName(parsed.name)) errors[field] = fieldError('not_a_zone_name', { value: parsed.name || '.' })
    return parsed.ok ? parsed.name : ''
  })
  throwIfInvalid(errors)
  return names
}

const isZoneName = (name: string) => name.includes('.') && !endsInNumber(name) && !name.startsWith('*.')

/** A name as people write it, to look for. What is no name is returned as it is, and is not found. */
export function canonicalName(text: string): string {
  const parsed = parseDomainName(text)
  return parsed.ok ? parsed.name : text
}

/** Null: to be learned. Throws a 400 that names all entries at fault. */
export function parseNameServers(list: readonly string[] | null): string[] | null {
  if (list === null) return null
  const errors: FieldErrors = {}
  const names = list.map((text, index) => {
    const parsed = parseHost(text)
    if (!parsed.ok) errors[`expected_name_servers.${index}`] = parsed.reason
    return parsed.ok ? parsed.value : ''
  })
  throwIfInvalid(errors)
  return [...new Set(names)].sort()
}

/** Throws a 400 that names all times at fault. */
export function parseIgnored(list: NonNullable<ZoneChange['ignored']>): IgnoredFinding[] {
  const times = parseTimes(
    Object.fromEntries(list.flatMap(({ until }, index) => (until == null ? [] : [[fieldOf(index), until]]))),
    list.map((_, index) => fieldOf(index)),
  )
  return list.map(({ code, about = null, reason }, index) => ({
    code,
    about: about && canonicalName(about),
    reason,
    until: times[fieldOf(index)] ?? null,
  }))
}

const fieldOf = (index: number) => `ignored.${index}.until`
