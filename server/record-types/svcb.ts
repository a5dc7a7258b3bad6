import { type FieldCode, type FieldError, fieldError } from '#contract/field-errors.ts'
import { addressOctets, ipv6Text } from '../dns/ip-addresses.ts'
import type { RdataReader } from '../dns/rdata.ts'
import { type Comparison, compareBy, compareTexts, observeAll } from './compare.ts'
import { hostField, numberField, parseField } from './fields.ts'
import { absoluteHost, formatToken, quoteOctets, type Token, tokenize, unescapeOctets } from './presentation.ts'
import { type ParsedValue, type RecordType, refused } from './record-type.ts'

const PARTS = 'priority target key=value…'

/** RFC 9460 section 2. */
export const svcb = serviceBinding({ queryType: 'SVCB', code: 64, suggestedFor: ['service'] })

/** RFC 9460 section 9. */
export const https = serviceBinding({ queryType: 'HTTPS', code: 65, suggestedFor: ['apex', 'host'] })

/** In the canonical form the parameters are in the order of their key numbers, and lists are sorted, because order does not matter. */
function serviceBinding(type: Pick<RecordType, 'code' | 'suggestedFor'> & { queryType: 'SVCB' | 'HTTPS' }): RecordType {
  return {
    ...type,
    name: type.queryType,
    parts: PARTS,
    read,
    parseExpected: (text, isExactMatch) => parseExpected(type.queryType, text, isExactMatch),
    observe: observeAll,
    difference: (expected, observed, isExactMatch) =>
      isExactMatch ? compareTexts(expected, observed, true) : compareBy(BINDINGS, expected, observed, false),
    fromZoneFile: ([priority, target, ...params], wholeName) =>
      priority && target
        ? joinTokens([priority, { raw: wholeName(target.raw), isQuoted: false }, ...params])
        : undefined,
    toZoneFile: (value) => {
      const [, priority = '', target = '', params = ''] = /^(\S+) (\S+)((?: .*)?)$/s.exec(value) ?? []
      return priority === '*' || target === '*' ? undefined : `${priority} ${absoluteHost(target)}${params}`
    },
    lacksPriority: (value) => !/^\d+\s+\S/.test(value.trim()),
  }
}

const PRIORITY = numberField('priority', 16)

// RFC 9460 section 2.2. In AliasMode (priority 0) parameters are ignored: section 2.4.2.
function read(rdata: RdataReader): string {
  const parts = [PRIORITY.read(rdata), rdata.name()]
  for (let previous = -1; !rdata.isAtEnd; ) {
    const key = rdata.uint16()
    const octets = rdata.octets(rdata.uint16())
    if (key <= previous) throw rdata.malformed('the parameters of a service are not in the order of their keys')
    previous = key
    const value = kindOf(key).read(octets)
    if (value === undefined) throw rdata.malformed(`the parameter ${keyName(key)} of a service cannot be read`)
    if (parts[0] !== '0') parts.push(formatParam(key, value))
  }
  return parts.join(' ')
}

function parseExpected(type: string, text: string, isExactMatch: boolean): ParsedValue {
  const [priority, target, ...rest] = tokenize(text) ?? []
  if (!priority || !target) {
    return refused(
      fieldError('invalid_record', { value: text, record_type: type, format: PARTS, example: '1 . alpn=h2,h3' }),
    )
  }
  const [first, second] = [parseField(PRIORITY, priority, isExactMatch), parseField(hostField, target, isExactMatch)]
  if (!first.ok) return first
  if (!second.ok) return second
  const params = new Map<number, string>()
  for (const { key, raw } of parseParams(rest)) {
    const number = keyNumber(key)
    if (number === undefined) return refused(fieldError('unknown_parameter', { parameter: key }))
    if (params.has(number)) return refused(fieldError('repeated_parameter', { parameter: key }))
    const { write, read, errorCode } = kindOf(number)
    const octets = write(unescapeOctets(raw))
    const value = octets && read(octets)
    if (value === undefined) return refused(fieldError(errorCode, { parameter: key, value: raw }))
    params.set(number, value)
  }
  const reason = validateParams(first.value, params, isExactMatch)
  if (reason !== undefined) return refused(reason)
  const sorted = [...params].sort(([a], [b]) => a - b).map(([key, value]) => formatParam(key, value))
  return { ok: true, value: [first.value, second.value, ...sorted].join(' ') }
}

/** The error of a record that no client accepts. A flexible monitor may omit parameters. RFC 9460 sections 2.4.2, 7.1.1 and 8. */
function validateParams(
  priority: string,
  params: ReadonlyMap<number, string>,
  isExactMatch: boolean,
): FieldError | undefined {
  if (priority === '0' && params.size > 0) return fieldError('alias_with_parameters')
  if (!isExactMatch) return undefined
  if (params.has(2) && !params.has(1)) return fieldError('alpn_required')
  const absent = (params.get(0)?.split(',') ?? []).find((key) => !params.has(keyNumber(key)!))
  return absent === undefined ? undefined : fieldError('mandatory_parameter_missing', { parameter: absent })
}

type Binding = { priority: string; target: string; params: ReadonlyMap<string, readonly string[]> }

const BINDINGS: Comparison<Binding, Binding> = {
  expected: bindingOf,
  observed: bindingOf,
  matches: (expected, observed) =>
    (expected.priority === '*' || expected.priority === observed.priority) &&
    (expected.target === '*' || expected.target === observed.target) &&
    [...expected.params].every(([key, items]) => {
      const observedItems = observed.params.get(key)
      return observedItems !== undefined && items.every((item) => observedItems.includes(item))
    }),
}

/** Parses a value in canonical form. */
function bindingOf(value: string): Binding {
  const [priority, target, ...rest] = tokenize(value) ?? []
  const params = parseParams(rest).map(({ key, raw }): [string, string[]] => {
    const text = unescapeOctets(raw).toString('latin1')
    return [key, kindOf(keyNumber(key)!).isList ? listItems(text) : [text]]
  })
  return { priority: priority?.raw ?? '', target: target?.raw ?? '', params: new Map(params) }
}

/** `key`, `key=value` and `key="value"`. */
function parseParams(tokens: readonly Token[]): { key: string; raw: string }[] {
  const params: { key: string; raw: string }[] = []
  for (const [index, { raw, isQuoted, isGlued }] of tokens.entries()) {
    const previous = tokens[index - 1]
    if (isQuoted && isGlued && previous && !previous.isQuoted && previous.raw.endsWith('=')) params.at(-1)!.raw = raw
    else {
      const [key = '', ...value] = raw.split('=')
      params.push({ key: key.toLowerCase(), raw: value.join('=') })
    }
  }
  return params
}

function joinTokens(tokens: readonly Token[]): string {
  return tokens.map((token, index) => `${index > 0 && !token.isGlued ? ' ' : ''}${formatToken(token)}`).join('')
}

// RFC 9460 section 14.3.2; RFC 9461 for dohpath, RFC 9540 for ohttp.
const KEYS = ['mandatory', 'alpn', 'no-default-alpn', 'port', 'ipv4hint', 'ech', 'ipv6hint', 'dohpath', 'ohttp']

const keyName = (key: number) => KEYS[key] ?? `key${key}`

function keyNumber(name: string): number | undefined {
  if (KEYS.includes(name)) return KEYS.indexOf(name)
  const number = Number(name.match(/^key(0|[1-9]\d{0,4})$/)?.[1])
  return number < 65_535 ? number : undefined
}

type ParameterErrorCode = Extract<
  FieldCode,
  | 'parameter_not_empty'
  | 'invalid_port'
  | 'invalid_base64'
  | 'invalid_parameter_list'
  | 'invalid_protocols'
  | 'invalid_ipv4_list'
  | 'invalid_ipv6_list'
>

/** `read`: a value from the wire, one character per octet. `write`: the octets of a text. Both return undefined for an invalid value. */
type Kind = {
  errorCode: ParameterErrorCode
  isList?: true
  read(octets: Buffer): string | undefined
  write(text: Buffer): Buffer | undefined
}

function kindOf(key: number): Kind {
  switch (keyName(key)) {
    case 'mandatory':
      return MANDATORY
    case 'alpn':
      return PROTOCOLS
    case 'no-default-alpn':
    case 'ohttp':
      return NOTHING
    case 'port':
      return PORT
    case 'ipv4hint':
      return ADDRESSES_V4
    case 'ipv6hint':
      return ADDRESSES_V6
    case 'ech':
      return BASE64
    default:
      return OCTETS
  }
}

const OCTETS: Kind = {
  errorCode: 'parameter_not_empty',
  read: (octets) => octets.toString('latin1'),
  write: (text) => text,
}

const NOTHING: Kind = {
  errorCode: 'parameter_not_empty',
  read: (octets) => (octets.length === 0 ? '' : undefined),
  write: (text) => text,
}

const PORT: Kind = {
  errorCode: 'invalid_port',
  read: (octets) => (octets.length === 2 ? String(octets.readUInt16BE()) : undefined),
  write: (text) => {
    const port = /^\d{1,5}$/.test(text.toString('latin1')) ? Number(text) : 65_536
    return port > 65_535 ? undefined : uint16s([port])
  },
}

const BASE64: Kind = {
  errorCode: 'invalid_base64',
  read: (octets) => (octets.length === 0 ? undefined : octets.toString('base64')),
  write: (text) => {
    const octets = Buffer.from(text.toString('latin1'), 'base64')
    return octets.toString('base64') === text.toString('latin1') ? octets : undefined
  },
}

/** Keys in the order of their numbers, without duplicates and without `mandatory` itself. */
const MANDATORY: Kind = {
  errorCode: 'invalid_parameter_list',
  isList: true,
  read: (octets) => {
    const keys = chunks(octets, 2)?.map((chunk) => chunk.readUInt16BE())
    const isSorted = keys?.every((key, index) => key > (keys[index - 1] ?? 0))
    return isSorted ? keys?.map(keyName).join(',') : undefined
  },
  write: (text) => {
    const keys = text
      .toString('latin1')
      .split(',')
      .map((name) => keyNumber(name.toLowerCase()))
    return keys.includes(undefined) ? undefined : uint16s((keys as number[]).sort((a, b) => a - b))
  },
}

const PROTOCOLS: Kind = {
  errorCode: 'invalid_protocols',
  isList: true,
  read: (octets) => {
    const items: string[] = []
    for (let offset = 0; offset < octets.length; ) {
      const next = offset + 1 + octets[offset]!
      if (octets[offset] === 0 || next > octets.length) return undefined
      items.push(octets.toString('latin1', offset + 1, next).replace(/[,\\]/g, '\\$&'))
      offset = next
    }
    return items.length === 0 ? undefined : [...new Set(items)].sort().join(',')
  },
  write: (text) => {
    const items = listItems(text.toString('latin1')).map((item) => Buffer.from(item, 'latin1'))
    if (items.some(({ length }) => length === 0 || length > 255)) return undefined
    return Buffer.concat(items.flatMap((item) => [Buffer.from([item.length]), item]))
  },
}

const ADDRESSES_V4 = addresses('invalid_ipv4_list', 4, ([a, b, c, d]) => `${a}.${b}.${c}.${d}`)
const ADDRESSES_V6 = addresses('invalid_ipv6_list', 16, ipv6Text)

function addresses(errorCode: ParameterErrorCode, length: number, format: (octets: Buffer) => string): Kind {
  return {
    errorCode,
    isList: true,
    read: (octets) => {
      const sorted = chunks(octets, length)?.sort(Buffer.compare).map(format)
      return sorted && [...new Set(sorted)].join(',')
    },
    write: (text) => {
      const items = text
        .toString('latin1')
        .split(',')
        .map((address) => addressOctets(address))
      if (items.some((octets) => octets?.length !== length)) return undefined
      return Buffer.concat(items.map((octets) => Buffer.from(octets!)))
    },
  }
}

/** Undefined if the octets are empty or not a multiple of the length. */
function chunks(octets: Buffer, length: number): Buffer[] | undefined {
  if (octets.length === 0 || octets.length % length !== 0) return undefined
  return Array.from({ length: octets.length / length }, (_, index) =>
    octets.subarray(index * length, (index + 1) * length),
  )
}

function uint16s(numbers: readonly number[]): Buffer {
  return Buffer.from(numbers.flatMap((number) => [number >> 8, number & 255]))
}

/** A backslash escapes a comma or a backslash of an item. RFC 9460 appendix A.1. */
function listItems(text: string): string[] {
  return (`,${text}`.match(/,(?:[^,\\]|\\.)*/gs) ?? []).map((item) => item.slice(1).replace(/\\(.)/gs, '$1'))
}

function formatParam(key: number, value: string): string {
  if (value === '') return keyName(key)
  const isPlain = /^[\x21-\x7e]+$/.test(value) && !/["\\();]/.test(value)
  return `${keyName(key)}=${isPlain ? value : quoteOctets(Buffer.from(value, 'latin1'))}`
}
