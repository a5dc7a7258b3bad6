import { reverseName } from '../dns/addresses.ts'
import { normalizeName } from '../dns/names.ts'

/**
 * The name in a text as people paste it: of a URL its host, of a mail address what stands behind the @, of an IP address the
 * name of its PTR records. What is none of them is given back without its spaces.
 */
export function pastedName(text: string): string {
  const given = text.trim()
  if (reverseName(given) === undefined && normalizeName(given).ok) return given
  const rest = given.replace(/^(?:[a-z][a-z0-9+.-]*:\/\/|mailto:)/i, '')
  const authority = rest.split(/[/?#]/)[0]!.split('@').at(-1)!
  const [, bracketed, plain] = authority.match(/^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/) ?? []
  const host = (bracketed ?? plain ?? authority).trim()
  return reverseName(given) ?? reverseName(host) ?? host
}
