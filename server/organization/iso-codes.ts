/** Region codes of the runtime that are not countries: unions, oceans, parts of countries, placeholders. */
const OTHER_REGIONS = new Set('AC CP CQ DG EA EU EZ IC QO TA UN XA XB ZZ'.split(' '))

/** `code`: upper case. ISO 3166-1, and Kosovo (XK). */
export function isCountry(code: string): boolean {
  if (!/^[A-Z]{2}$/.test(code) || OTHER_REGIONS.has(code)) return false
  const regions = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
  if (regions.of(code) === undefined) return false
  // The runtime replaces an outdated code with its successor: UK with GB.
  return new Intl.Locale(`und-${code}`).region === code
}

/** `code`: upper case. The current codes of ISO 4217. */
export const isCurrency = (code: string): boolean => Intl.supportedValuesOf('currency').includes(code)

/** The IANA name in its usual letter case; undefined for an unknown zone. */
export function findTimeZone(name: string): string | undefined {
  if (/^[+-]/.test(name)) return undefined
  try {
    return new Temporal.ZonedDateTime(0n, name).timeZoneId
  } catch {
    return undefined
  }
}
