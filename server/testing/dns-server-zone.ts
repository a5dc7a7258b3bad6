import type { Answer } from 'dns-packet'
import type { QuestionType } from '../dns/outcome.ts'
import { RDATA_FORMATS } from '../record-types/record-types.ts'

/** The names and records of a test DNS server. */
export type Zone = {
  /** `values` in canonical text, or as `\\# 4 c0000201` for types that `toAnswer` lacks. With an empty list the name exists without records of the type. */
  set(name: string, type: QuestionType, values: string[], ttl: number | (() => number)): void
  remove(name: string, type: QuestionType): void
  lookUp(name: string, type: string, followCnames: boolean): LookupResult
}

export type LookupResult = {
  rcode: 'NOERROR' | 'NXDOMAIN'
  answers: Answer[]
  authorities: Answer[]
  additionals?: Answer[]
  isReferral?: true
}

type RecordSet = { type: QuestionType; values: string[]; readonly ttl: number }

const MAX_CHAIN = 20

export function createZone(): Zone {
  const names = new Map<string, Map<string, RecordSet>>()
  const namesAtOrBelow = new Map<string, number>()
  const exists = (name: string) => namesAtOrBelow.has(name)

  function countName(name: string, change: number): void {
    for (let ancestor: string | undefined = name; ancestor !== undefined; ancestor = parentOf(ancestor)) {
      const total = (namesAtOrBelow.get(ancestor) ?? 0) + change
      if (total === 0) namesAtOrBelow.delete(ancestor)
      else namesAtOrBelow.set(ancestor, total)
    }
  }

  // RFC 4592: a wildcard answers for names below the closest one that exists.
  function recordsOf(name: string): Map<string, RecordSet> | undefined {
    if (exists(name)) return names.get(name) ?? new Map()
    for (let parent = parentOf(name); parent !== undefined; parent = parentOf(parent)) {
      const wildcard = names.get(parent === '' ? '*' : `*.${parent}`)
      if (wildcard || exists(parent)) return wildcard
    }
    return undefined
  }

  function follow(name: string, type: string, answers: Answer[]): string {
    const cname = type === 'CNAME' ? undefined : recordsOf(name)?.get('CNAME')
    if (!cname?.values[0] || answers.length > MAX_CHAIN) return name
    answers.push(...cname.values.map((value) => toAnswer(name, 'CNAME', value, cname.ttl)))
    return follow(lower(cname.values[0]), type, answers)
  }

  return {
    set(name, type, values, ttl) {
      const owner = lower(name)
      const records = names.get(owner) ?? new Map<string, RecordSet>()
      if (!names.has(owner)) countName(owner, 1)
      const set: RecordSet = {
        type,
        values,
        get ttl() {
          return typeof ttl === 'number' ? ttl : ttl()
        },
      }
      names.set(owner, records.set(type, set))
    },
    remove(name, type) {
      const owner = lower(name)
      const records = names.get(owner)
      if (!records?.delete(type) || records.size > 0) return
      names.delete(owner)
      countName(owner, -1)
    },
    lookUp(name, type, followCnames) {
      const answers: Answer[] = []
      const target = follow(lower(name), type, answers)
      if (!followCnames && answers.length > 0)
        return { rcode: 'NOERROR', answers: answers.slice(0, 1), authorities: [] }
      const records = recordsOf(target)
      const set = records?.get(type)
      if (!set || set.values.length === 0) {
        const isTooLong = answers.length > MAX_CHAIN
        const authorities = isTooLong ? [] : [startOfAuthority(target, names)]
        return { rcode: records ? 'NOERROR' : 'NXDOMAIN', answers, authorities }
      }
      answers.push(...set.values.map((value) => toAnswer(target, set.type, value, set.ttl)))
      return { rcode: 'NOERROR', answers, authorities: [] }
    },
  }
}

function startOfAuthority(name: string, names: Map<string, Map<string, RecordSet>>): Answer {
  for (let zone: string | undefined = name; zone !== undefined; zone = parentOf(zone)) {
    const set = names.get(zone)?.get('SOA')
    if (set) return toAnswer(zone, 'SOA', set.values[0]!, set.ttl)
  }
  const zone = name.split('.').slice(-2).join('.')
  return toAnswer(zone, 'SOA', `ns.${zone} hostmaster.${zone} 1 7200 3600 1209600 60`, 60)
}

export function toAnswer(name: string, type: QuestionType, value: string, ttl: number): Answer {
  if (value.startsWith('\\# ')) {
    const data = parseBytes(value)
    return { type: `UNKNOWN_${RDATA_FORMATS[type].code}`, name, ttl, data } as unknown as Answer // the encoder accepts any type number
  }
  switch (type) {
    case 'A':
    case 'AAAA':
    case 'CNAME':
    case 'NS':
    case 'PTR':
      return { type, name, ttl, data: value }
    case 'MX': {
      const [preference, exchange = ''] = value.split(' ')
      return { type, name, ttl, data: { preference: Number(preference), exchange } }
    }
    case 'TXT':
      return { type, name, ttl, data: chunks(Buffer.from(value)) }
    case 'CAA': {
      const [, flags, tag, quoted = ''] = value.match(/^(\d+) (\S+) "(.*)"$/s) ?? []
      if (tag === undefined) throw new Error(`Not a CAA record: ${value}`)
      const text = quoted.replace(/\\(["\\])/g, '$1')
      return { type, name, ttl, data: { flags: Number(flags), tag: tag as 'issue', value: text } } // the encoder accepts any tag
    }
    case 'SOA': {
      const [mname = '', rname = '', ...numbers] = value.split(' ')
      const [serial, refresh, retry, expire, minimum] = numbers.map(Number)
      return {
        type,
        name,
        ttl,
        data: { mname, rname, serial: serial!, refresh: refresh!, retry: retry!, expire: expire!, minimum: minimum! },
      }
    }
    default:
      throw new Error(`Write ${type} records as rdata bytes: \\# 4 c0000201`)
  }
}

/** Parses `\\# 4 c0000201`. RFC 3597 section 5. */
function parseBytes(value: string): Buffer {
  const [, length, hex = ''] = value.split(' ')
  const bytes = Buffer.from(hex, 'hex')
  if (bytes.length !== Number(length)) throw new Error(`Not rdata in the format of RFC 3597: ${value}`)
  return bytes
}

function chunks(text: Buffer): Buffer[] {
  const parts: Buffer[] = []
  for (let start = 0; start === 0 || start < text.length; start += 255) parts.push(text.subarray(start, start + 255))
  return parts
}

export function parentOf(name: string): string | undefined {
  if (name === '') return undefined
  const dot = name.indexOf('.')
  return dot < 0 ? '' : name.slice(dot + 1)
}

export function lower(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}
