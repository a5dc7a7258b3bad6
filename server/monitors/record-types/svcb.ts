import { type FieldCode, type FieldError, fieldError } from '#contract/field-errors.ts'
import { addressOctets, ipv6Text } from '../../dns/addresses.ts'
import type { RdataReader } from '../../dns/rdata.ts'
import { type Comparison, compareBy, compareTexts, observeAll } from './compare.ts'
import { hostField, numberField, parseField } from './fields.ts'
import { absoluteHost, quotedOctets, type Token, tokensOf, unescaped, writtenToken } from './presentation.ts'
import { type ParsedValue, type RecordType, refused } from './record-type.ts'

const PARTS = 'priority target key=value…'

/** RFC 9460 section 2. */
export const svcb = serviceBinding({ queryType: 'SVCB', code: 64, likelyAt: ['service'] })

/** RFC 9460 section 9. */
export const https = serviceBinding({ queryType: 'HTTPS', code: 65, likelyAt: ['apex', 'host'] })

/**
 * SVCB and HTTPS: priority target key=value…. In the normal form the parameters are in the order of their keys' numbers,
 * and lists are sorted, as their order means nothing.
 */
function serviceBinding(own: Pick<RecordType, 'code' | 'likelyAt'> & { queryType: 'SVCB' | 'HTTPS' }): RecordType {
  return {
    ...own,
    name: own.queryType,
    parts: PARTS,
    read,
    parseExpected: (text, isExactMatch) => parseExpected(own.queryType, text, isExactMatch),
    observe: observeAll,
    difference: (expected, observed, isExactMatch) =>
      isExactMatch ? compareTexts(expected, observed, true) : compareBy(BINDINGS, expected, observed, false),
    fromZoneFile: ([priority, target, ...params], wholeName) =>
      priority && target ? joined([priority, { raw: wholeName(target.raw), isQuoted: false }, ...params]) : undefined,
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
  for (let last = -1; !rdata.isAtEnd; ) {
    const key = rdata.uint16()
    const octets = rdata.octets(rdata.uint16())
    if (key <= last) throw rdata.malformed('the parameters of a service are not in the order of their keys')
    last = key
    const value = kindOf(key).read(octets)
    if (value === undefined) throw rdata.malformed(`the parameter ${keyName(key)} of a service cannot be read`)
    if (parts[0] !== '0') parts.push(writtenParam(key, value))
  }
  return parts.join(' ')
}

function parseExpected(type: string, text: string, isExactMatch: boolean): ParsedValue {
  const [priority, target, ...rest] = tokensOf(text) ?? []
  if (!priority || !target) {
    return refused(
      fieldError('invalid_record', { value: text, record_type: type, format: PARTS, example: '1 . alpn=h2,h3' }),
    )
  }
  const [first, second] = [parseField(PRIORITY, priority, isExactMatch), parseField(hostField, target, isExactMatch)]
  if (!first.ok) return first
  if (!second.ok) return second
  const params = new Map<number, string>()
  for (const { key, raw } of paramsOf(rest)) {
    const number = keyNumber(key)
    if (number === undefined) return refused(fieldError('unknown_parameter', { parameter: key }))
    if (params.has(number)) return refused(fieldError('repeated_parameter', { parameter: key }))
    const { write, read: readBack, wrong } = kindOf(number)
    const octets = write(unescaped(raw))
    const value = octets && readBack(octets)
    if (value === undefined) return refused(fieldError(wrong, { parameter: key, value: raw }))
    params.set(number, value)
  }
  const reason = misfit(first.value, params, isExactMatch)
  if (reason !== undefined) return refused(reason)
  const written = [...params].sort(([one], [other]) => one - other).map(([key, value]) => writtenParam(key, value))
  return { ok: true, value: [first.value, second.value, ...written].join(' ') }
}

/** What no client would accept. A flexible expectation may leave parameters out. RFC 9460 sections 2.4.2, 7.1.1 and 8. */
function misfit(priority: string, params: ReadonlyMap<number, string>, isExactMatch: boolean): FieldError | undefined {
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
  meets: (wanted, found) =>
    (wanted.priority === '*' || wanted.priority === found.priority) &&
    (wanted.target === '*' || wanted.target === found.target) &&
    [...wanted.params].every(([key, items]) => {
      const there = found.params.get(key)
      return there !== undefined && items.every((item) => there.includes(item))
    }),
}

/** Of a value in canonical text. */
function bindingOf(value: string): Binding {
  const [priority, target, ...rest] = tokensOf(value) ?? []
  const params = paramsOf(rest).map(({ key, raw }): [string, string[]] => {
    const text = unescaped(raw).toString('latin1')
    return [key, kindOf(keyNumber(key)!).isList ? listItems(text) : [text]]
  })
  return { priority: priority?.raw ?? '', target: target?.raw ?? '', params: new Map(params) }
}

/** `key`, `key=value` and `key="value"`. */
function paramsOf(tokens: readonly Token[]): { key: string; raw: string }[] {
  const params: { key: string; raw: string }[] = []
  for (const [place, { raw, isQuoted, isGlued }] of tokens.entries()) {
    const before = tokens[place - 1]
    if (isQuoted && isGlued && before && !before.isQuoted && before.raw.endsWith('=')) params.at(-1)!.raw = raw
    else {
      const [key = '', ...value] = raw.split('=')
      params.push({ key: key.toLowerCase(), raw: value.join('=') })
    }
  }
  return params
}

function joined(tokens: readonly Token[]): string {
  return tokens.map((token, at) => `${at > 0 && !token.isGlued ? ' ' : ''}${writtenToken(token)}`).join('')
}

// RFC 9460 section 14.3.2; RFC 9461 for dohpath, RFC 9540 for ohttp.
const KEYS = ['mandatory', 'alpn', 'no-default-alpn', 'port', 'ipv4hint', 'ech', 'ipv6hint', 'dohpath', 'ohttp']

const keyName = (key: number) => KEYS[key] ?? `key${key}`

function keyNumber(name: string): number | undefined {
  if (KEYS.includes(name)) return KEYS.indexOf(name)
  const number = Number(name.match(/^key(0|[1-9]\d{0,4})$/)?.[1])
  return number < 65_535 ? number : undefined
}

type WrongParameter = Extract<
  FieldCode,
  | 'parameter_not_empty'
  | 'invalid_port'
  | 'invalid_base64'
  | 'invalid_parameter_list'
  | 'invalid_protocols'
  | 'invalid_ipv4_list'
  | 'invalid_ipv6_list'
>

/** Values are one character per octet: `read` from the wire, undefined where they cannot be; `write` from text. */
type Kind = {
  /** What a value is that cannot be one of the parameter. */
  wrong: WrongParameter
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
  wrong: 'parameter_not_empty',
  read: (octets) => octets.toString('latin1'),
  write: (text) => text,
}

const NOTHING: Kind = {
  wrong: 'parameter_not_empty',
  read: (octets) => (octets.length === 0 ? '' : undefined),
  write: (text) => text,
}

const PORT: Kind = {
  wrong: 'invalid_port',
  read: (octets) => (octets.length === 2 ? String(octets.readUInt16BE()) : undefined),
  write: (text) => {
    const port = /^\d{1,5}$/.test(text.toString('latin1')) ? Number(text) : 65_536
    return port > 65_535 ? undefined : uint16s([port])
  },
}

const BASE64: Kind = {
  wrong: 'invalid_base64',
  read: (octets) => (octets.length === 0 ? undefined : octets.toString('base64')),
  write: (text) => {
    const octets = Buffer.from(text.toString('latin1'), 'base64')
    return octets.toString('base64') === text.toString('latin1') ? octets : undefined
  },
}

/** Keys in the order of their numbers, each once, `mandatory` itself not among them. */
const MANDATORY: Kind = {
  wrong: 'invalid_parameter_list',
  isList: true,
  read: (octets) => {
    const keys = parts(octets, 2)?.map((each) => each.readUInt16BE())
    const isSorted = keys?.every((key, at) => key > (keys[at - 1] ?? 0))
    return isSorted ? keys?.map(keyName).join(',') : undefined
  },
  write: (text) => {
    const keys = text
      .toString('latin1')
      .split(',')
      .map((name) => keyNumber(name.toLowerCase()))
    return keys.includes(undefined) ? undefined : uint16s((keys as number[]).sort((one, other) => one - other))
  },
}

const PROTOCOLS: Kind = {
  wrong: 'invalid_protocols',
  isList: true,
  read: (octets) => {
    const items: string[] = []
    for (let at = 0; at < octets.length; ) {
      const next = at + 1 + octets[at]!
      if (octets[at] === 0 || next > octets.length) return undefined
      items.push(octets.toString('latin1', at + 1, next).replace(/[,\\]/g, '\\$&'))
      at = next
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

function addresses(wrong: WrongParameter, length: number, text: (octets: Buffer) => string): Kind {
  return {
    wrong,
    isList: true,
    read: (octets) => {
      const sorted = parts(octets, length)?.sort(Buffer.compare).map(text)
      return sorted && [...new Set(sorted)].join(',')
    },
    write: (written) => {
      const items = written
        .toString('latin1')
        .split(',')
        .map((each) => addressOctets(each))
      if (items.some((each) => each?.length !== length)) return undefined
      return Buffer.concat(items.map((each) => Buffer.from(each!)))
    },
  }
}

/** Addresses of equal length; undefined if their lengths differ or there are none. */
function parts(octets: Buffer, length: number): Buffer[] | undefined {
  if (octets.length === 0 || octets.length % length !== 0) return undefined
  return Array.from({ length: octets.length / length }, (_, at) => octets.subarray(at * length, (at + 1) * length))
}

function uint16s(numbers: readonly number[]): Buffer {
  return Buffer.from(numbers.flatMap((number) => [number >> 8, number & 255]))
}

/** A comma or a backslash of an item has a backslash before it. RFC 9460 appendix A.1. */
function listItems(text: string): string[] {
  return (`,${text}`.match(/,(?:[^,\\]|\\.)*/gs) ?? []).map((item) => item.slice(1).replace(/\\(.)/gs, '$1'))
}

function writtenParam(key: number, value: string): string {
  if (value === '') return keyName(key)
  const isPlain = /^[\x21-\x7e]+$/.test(value) && !/["\\();]/.test(value)
  return `${keyName(key)}=${isPlain ? value : quotedOctets(Buffer.from(value, 'latin1'))}`
}
