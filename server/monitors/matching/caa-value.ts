import { normalizeName } from '../../dns/names.ts'

/** An issuer and its parameters. RFC 8659 section 4.2; RFC 9495 for mail. */
const ISSUER_TAGS = new Set(['issue', 'issuewild', 'issuemail', 'issuevmc'])

/** The value as an expectation stores it, one character per octet in, escaped as in a zone file out. */
export function writtenCaaValue(tag: string, value: string): string {
  const text = ISSUER_TAGS.has(tag) ? issuerText(value) : value
  return text.replace(/[^\x20-\x7e]|["\\]/g, (character) => {
    if (character === '"' || character === '\\') return `\\${character}`
    return `\\${String(character.charCodeAt(0)).padStart(3, '0')}`
  })
}

/** Equal for values that mean the same: an issuer's letter case, blanks and the order of its parameters do not matter. */
export function comparableCaaValue(tag: string, value: string): string {
  if (!ISSUER_TAGS.has(tag)) return value
  const { issuer, parameters } = readIssuer(value)
  return [issuer, ...parameters.sort()].join(';')
}

function issuerText(value: string): string {
  const { issuer, parameters } = readIssuer(value)
  // No issuer at all forbids everyone, and is usually written as a lone semicolon.
  return issuer === '' && parameters.length === 0 ? ';' : [issuer, ...parameters].join('; ')
}

function readIssuer(value: string): { issuer: string; parameters: string[] } {
  const [domain = '', ...rest] = value.split(';').map((part) => part.trim())
  const name = normalizeName(Buffer.from(domain, 'latin1').toString('utf8'))
  const issuer = name.ok && name.name !== '' ? name.name : domain.toLowerCase()
  return { issuer, parameters: rest.filter((part) => part !== '').map(parameter) }
}

// RFC 8659 section 4.2 allows blanks around the equals sign.
function parameter(text: string): string {
  const [name = '', ...value] = text.split('=')
  return value.length === 0 ? name : `${name.trim()}=${value.join('=').trim()}`
}
