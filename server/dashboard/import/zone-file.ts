import { RECORD_TYPES } from '#contract/record-types.ts'
import { invalid } from '../../problem.ts'
import { type InputRow, isUnwatched, whyUnwatched } from './rows.ts'
import { type Entry, MOST_CHARACTERS, type Token, zoneEntries } from './zone-tokens.ts'

// dnsz, which is at hand for this, drops lines that it cannot read without a word, knows no line numbers, leaves names in
// the data relative to the origin and folds blanks inside quoted text: too little for who must not lose a record.

type Reading = {
  /** With a dot at its end; undefined until it is known. */
  origin: string | undefined
  owner: string | undefined
  needsOrigin: boolean
}

const WATCHED: ReadonlySet<string> = new Set(RECORD_TYPES.filter((type) => type !== 'SPF'))
const CLASSES = new Set(['IN', 'CH', 'HS', 'CS', 'ANY', 'NONE'])
const TTL = /^(?:\d+(?:[smhdw]|$))+$/i

/**
 * The records of the file, in its order. `origin`: the zone's name, where the file has no $ORIGIN. Throws a 400 where relative
 * names belong to none.
 */
export async function* readZone(text: string, origin: string | undefined): AsyncGenerator<InputRow> {
  const reading: Reading = { origin: origin && absolute(origin), owner: undefined, needsOrigin: false }
  for await (const entry of zoneEntries(text)) {
    const record = entry.wrong === undefined ? readEntry(entry, reading) : refused(entry, entry.wrong)
    if (record) yield record
  }
  if (reading.needsOrigin) {
    throw invalid({ origin: 'is required: the file has names without a dot at the end and no $ORIGIN.' })
  }
}

function readEntry(entry: Entry, reading: Reading): InputRow | undefined {
  const [first] = entry.tokens
  if (!first) return undefined
  if (!entry.isIndented && !first.isQuoted && first.raw.startsWith('$')) return readDirective(entry, reading)
  const rest = [...entry.tokens]
  if (!entry.isIndented) {
    const own = rest.shift()!
    // A zone that names itself in its SOA needs no $ORIGIN.
    if (reading.origin === undefined && own.raw.endsWith('.') && isSoa(rest)) reading.origin = own.raw
    reading.owner = nameOf(own.raw, reading)
  }
  if (reading.owner === undefined) return refused(entry, 'It has no name, and none stands before it.')
  const head = readHead(rest)
  const type = head.type?.toUpperCase()
  if (type === undefined) return refused(entry, 'It has no record type.', reading.owner)
  const record = { line: entry.line, name: reading.owner, type, values: [], isExact: true }
  if (head.class !== 'IN') return { ...record, fate: 'skip', why: `The class ${head.class} is not watched, only IN.` }
  if (isUnwatched(type)) return { ...record, fate: 'skip', why: whyUnwatched(type) }
  if (!WATCHED.has(type)) return refused(entry, `${type} is no record type.`, reading.owner, type)
  if (entry.isCut) return refused(entry, `It is longer than ${MOST_CHARACTERS} characters.`, reading.owner, type)
  const value = expectationOf(type, head.data, reading)
  if (value === undefined) return refused(entry, WANTED[type]!, reading.owner, type)
  return { ...record, values: [value] }
}

const isSoa = (tokens: readonly Token[]) => readHead(tokens).type?.toUpperCase() === 'SOA'

/** TTL and class may stand in either order, or be left out. */
function readHead(tokens: readonly Token[]): { class: string; type: string | undefined; data: Token[] } {
  let at = 0
  let recordClass = 'IN'
  for (; at < tokens.length && at < 2; at++) {
    const { raw } = tokens[at]!
    if (CLASSES.has(raw.toUpperCase())) recordClass = raw.toUpperCase()
    else if (!TTL.test(raw)) break
  }
  return { class: recordClass, type: tokens[at]?.raw, data: tokens.slice(at + 1) }
}

function readDirective(entry: Entry, reading: Reading): InputRow | undefined {
  const [directive = '', argument] = entry.tokens.map(({ raw }) => raw)
  switch (directive.toUpperCase()) {
    case '$TTL':
      return undefined
    case '$ORIGIN':
      if (argument === undefined) return refused(entry, '$ORIGIN has no name behind it.')
      reading.origin = absolute(nameOf(argument, reading))
      return undefined
    case '$INCLUDE':
      return refused(entry, '$INCLUDE names a file that is not here; paste its lines instead.')
    case '$GENERATE':
      return refused(entry, '$GENERATE is not carried out; paste the records that it stands for.')
    default:
      return refused(entry, `${directive} is not known; a zone file has $ORIGIN and $TTL.`)
  }
}

const WANTED: Record<string, string> = {
  A: 'An A record has one IPv4 address.',
  AAAA: 'An AAAA record has one IPv6 address.',
  CNAME: 'A CNAME record has one name.',
  NS: 'An NS record has one name.',
  PTR: 'A PTR record has one name.',
  MX: 'An MX record has a priority and a name.',
  TXT: 'A TXT record has at least one text.',
  CAA: 'A CAA record has flags, a tag and a value.',
}

/** An expected value as a person would write it; undefined where the parts are not those of the type. */
function expectationOf(type: string, data: readonly Token[], reading: Reading): string | undefined {
  const [first, second, third] = data
  if (first?.raw === '\\#') return undefined // RFC 3597: octets, which nobody reads
  switch (type) {
    case 'CNAME':
    case 'NS':
    case 'PTR':
      return data.length === 1 ? nameOf(first!.raw, reading) : undefined
    case 'MX':
      return data.length === 2 ? `${first!.raw} ${nameOf(second!.raw, reading)}` : undefined
    case 'TXT':
      return data.length > 0 ? data.map(({ raw }) => `"${raw}"`).join(' ') : undefined
    case 'CAA':
      return data.length === 3 ? `${first!.raw} ${second!.raw} "${third!.raw}"` : undefined
    default:
      return data.length === 1 ? first!.raw : undefined
  }
}

/** A dot behind a backslash belongs to the last label. */
const ENDS_WITH_DOT = /^(?:[^\\]|\\.)*\.$/su

/** The whole name, as monitors are given names: escapes are written as octets. */
function nameOf(raw: string, reading: Reading): string {
  if (raw === '@' || !ENDS_WITH_DOT.test(raw)) {
    if (reading.origin === undefined) reading.needsOrigin = true
    const origin = reading.origin ?? ''
    if (raw === '@') return origin
    return `${octets(raw)}${origin === '.' ? '.' : `.${origin}`}`
  }
  return octets(raw)
}

const octets = (raw: string) =>
  raw.replace(/\\(?:\d{3}|.)/gsu, (escaped) => {
    const inside = escaped.slice(1)
    if (inside.length === 3) return escaped
    if (/^[a-z0-9_-]$/i.test(inside)) return inside
    return Array.from(Buffer.from(inside), (octet) => `\\${String(octet).padStart(3, '0')}`).join('')
  })

const absolute = (name: string) => (name.endsWith('.') ? name : `${name}.`)

function refused({ line, tokens }: Entry, why: string, name?: string, type?: string): InputRow {
  return {
    line,
    name: name ?? tokens[0]?.raw ?? '',
    type: type ?? '',
    values: tokens.slice(-1).map(({ raw }) => raw),
    isExact: true,
    fate: 'refuse',
    why,
  }
}
