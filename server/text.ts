import { visible } from '#contract/visible-text.ts'

/** At most `maxLength` UTF-16 code units; a longer text ends with an ellipsis. Splits no surrogate pair. */
export function truncate(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${wholeCharacters(text.slice(0, maxLength - 1))}…`
}

/** Without the half of a surrogate pair at the end, which a cut leaves. */
export const wholeCharacters = (text: string): string => text.toWellFormed().replace(/\uFFFD$/, '')

/** Breaks and tabs become spaces, and other hidden characters are shown. */
export const oneLine = (text: string): string => visible(text.replace(/[\r\n\t\u2028\u2029]+/g, ' '))

/** Masks secrets in a text, also as they are written in JSON and in a URL. Shorter ones than `minLength` would be replaced in ordinary text. */
export function newRedactor(secrets: readonly string[], minLength = 4): (text: string) => string {
  const variants = () => {
    const written = secrets.flatMap((text) => [
      text,
      encodeURIComponent(text.toWellFormed()),
      JSON.stringify(text).slice(1, -1),
    ])
    return [...new Set(written)].filter(({ length }) => length >= minLength).sort((a, b) => b.length - a.length)
  }
  let longestFirst: string[] | undefined
  return (text) => {
    if (text.length < minLength) return text // most responses of webhooks, of which the variants would cost more than the signature
    longestFirst ??= variants()
    return longestFirst.reduce((redacted, secret) => redacted.replaceAll(secret, '********'), text)
  }
}
