import { comparableCaaValue, writtenCaaValue } from './caa-value.ts'
import { type Comparison, compareBy, observeAll, quoted } from './compare.ts'
import type { Matcher, ParsedValue } from './matcher.ts'
import { unescaped } from './pasted.ts'

/** `flags` is undefined where an expectation leaves them out, `value` one character per octet. RFC 8659 section 4.1. */
type Property = { flags: number | undefined; tag: string; value: string }

/** `flags tag "value"` or `tag value`. Flags left out mean 0 in exact mode and any in flexible mode. */
export const caa: Matcher = {
  questionType: 'CAA',
  parseExpected,
  observe: observeAll,
  difference: (expected, observed, isExactMatch) =>
    compareBy(isExactMatch ? EXACT : FLEXIBLE, expected, observed, isExactMatch),
}

const FLEXIBLE: Comparison<Property | undefined, Property | undefined> = {
  expected: readComparable,
  observed: readComparable,
  meets: (wanted, found) =>
    wanted !== undefined &&
    wanted.tag === found?.tag &&
    wanted.value === found.value &&
    (wanted.flags === undefined || wanted.flags === found.flags),
}

const EXACT: Comparison<Property | undefined, Property | undefined> = {
  ...FLEXIBLE,
  expected: (text) => {
    const wanted = readComparable(text)
    return wanted && { ...wanted, flags: wanted.flags ?? 0 }
  },
}

/** Its length is one octet. RFC 8659 section 4.1. */
const MAX_TAG = 255

function parseExpected(text: string): ParsedValue {
  const property = readProperty(text)
  if (property === undefined) {
    return refused(
      `${quoted(text)} is no CAA property; write 0 issue "ca.example" or, without flags, issue "ca.example".`,
    )
  }
  const { flags, tag, value } = property
  if (tag.length > MAX_TAG) return refused(`The CAA tag of ${quoted(text)} has more than ${MAX_TAG} characters.`)
  if (flags !== undefined && flags > 255)
    return refused(`The CAA flags of ${quoted(text)} are not a number from 0 to 255.`)
  const written = `${tag} "${writtenCaaValue(tag, value)}"`
  return { ok: true, value: flags === undefined ? written : `${flags} ${written}` }
}

function readComparable(text: string): Property | undefined {
  const property = readProperty(text)
  return property && { ...property, value: comparableCaaValue(property.tag, property.value) }
}

function readProperty(text: string): Property | undefined {
  const [, flags, tag = '', rest = ''] = text.trim().match(/^(?:(\d+)\s+)?([a-z0-9]+)\s+(\S.*)$/is) ?? []
  // `0 issue` lacks its value; it is not a tag named 0.
  if (tag === '' || /^\d+$/.test(tag)) return undefined
  const inside = rest.match(/^"((?:[^"\\]|\\.)*)"$/s)?.[1]
  if (inside === undefined && rest.includes('"')) return undefined
  const value = unescaped(inside ?? rest).toString('latin1')
  return { flags: flags === undefined ? undefined : Number(flags), tag: tag.toLowerCase(), value }
}

function refused(reason: string): ParsedValue {
  return { ok: false, reason }
}
