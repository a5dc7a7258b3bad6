/** Codes that the runtime knows beside those of countries: unions, oceans, parts of countries, placeholders. */
const NO_COUNTRIES = new Set('AC CP CQ DG EA EU EZ IC QO TA UN XA XB ZZ'.split(' '))

/** `code`: in capitals. By ISO 3166-1 as it is now, and Kosovo (XK). */
export function isCountry(code: string): boolean {
  if (!/^[A-Z]{2}$/.test(code) || NO_COUNTRIES.has(code)) return false
  const regions = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
  if (regions.of(code) === undefined) return false
  // A code that was replaced leads to its successor: UK to GB.
  return new Intl.Locale(`und-${code}`).region === code
}

/** `code`: in capitals. By ISO 4217, what is money today. */
export const isCurrency = (code: string): boolean => Intl.supportedValuesOf('currency').includes(code)

/** The IANA name as it is written, whatever the letter case given; undefined where there is no such zone. */
export function findTimeZone(name: string): string | undefined {
  if (/^[+-]/.test(name)) return undefined
  try {
    return new Temporal.ZonedDateTime(0n, name).timeZoneId
  } catch {
    return undefined
  }
}
