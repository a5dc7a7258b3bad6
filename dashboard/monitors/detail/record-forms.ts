/** An RRset as zone files write it. `data`: the rdata of each record in the presentation format, ASCII only. */
export type RecordSet = {
  /** The owner name and its zone, without a final dot. The zone may be unknown. */
  name: string
  zone: string | undefined
  type: string
  /** Seconds. */
  ttl: number
  data: readonly string[]
}

export type RecordForm = { id: string; label: string; text: string }

/** The record in the forms that people paste. Forms that cannot hold it are left out. Pure. */
export function recordForms(set: RecordSet): RecordForm[] {
  const forms: [id: string, label: string, text: string | undefined][] = [
    ['bind', 'BIND', bind(set)],
    ['cloudflare', 'Cloudflare', cloudflare(set)],
    ['route53', 'Route 53', route53(set)],
    ['terraform', 'Terraform', terraform(set)],
    ['octodns', 'octoDNS', octodns(set)],
    ['dnscontrol', 'dnscontrol', dnscontrol(set)],
  ]
  return forms.flatMap(([id, label, text]) => (text === undefined ? [] : [{ id, label, text }]))
}

const bind = ({ name, type, ttl, data }: RecordSet): string =>
  data.map((value) => `${name}. ${ttl} IN ${type} ${value}`).join('\n')

/** The body of a request to change the records of a zone at once. */
function cloudflare({ name, type, ttl, data }: RecordSet): string | undefined {
  const posts = data.map((value) => {
    const fields = cloudflareFields(type, value)
    return fields && { type, name, ttl, ...fields }
  })
  return posts.includes(undefined) ? undefined : JSON.stringify({ posts }, null, 2)
}

function cloudflareFields(type: string, value: string): object | undefined {
  const parts = value.split(' ')
  switch (type) {
    case 'A':
    case 'AAAA':
    case 'TXT':
      return { content: value }
    case 'CNAME':
    case 'NS':
    case 'PTR':
      return { content: withoutDot(value) }
    case 'MX':
      return { priority: Number(parts[0]), content: withoutDot(parts[1]!) }
    case 'SRV': {
      const [priority, weight, port] = parts.map(Number)
      return { data: { priority, weight, port, target: withoutDot(parts[3]!) } }
    }
    case 'CAA': {
      const caa = readCaa(value)
      return caa && { data: caa }
    }
    default:
      return undefined
  }
}

/** A change batch of `aws route53 change-resource-record-sets`. */
function route53({ name, type, ttl, data }: RecordSet): string {
  const ResourceRecords = data.map((value) => ({ Value: withOctalEscapes(value) }))
  const ResourceRecordSet = { Name: `${name}.`, Type: type, TTL: ttl, ResourceRecords }
  return JSON.stringify({ Changes: [{ Action: 'UPSERT', ResourceRecordSet }] }, null, 2)
}

/** A resource of the AWS provider, which puts quotes around the text of a TXT record itself. */
function terraform({ name, type, ttl, data }: RecordSet): string {
  const records = data.map((value) => {
    const octal = withOctalEscapes(value)
    return type === 'TXT' ? octal.slice(1, -1).replaceAll('" "', '""') : octal
  })
  return [
    'resource "aws_route53_record" "record" {',
    '  zone_id = var.zone_id',
    `  name    = ${hclText(name)}`,
    `  type    = ${hclText(type)}`,
    `  ttl     = ${ttl}`,
    `  records = [${records.map(hclText).join(', ')}]`,
    '}',
  ].join('\n')
}

/** A quoted template of HCL in which nothing is interpolated: it reads escapes after `${` and `%{`. */
const hclText = (text: string) =>
  JSON.stringify(text).replace(/[$%](?=\{)/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`)

/** An entry of the zone's YAML file. JSON texts are YAML. */
function octodns(set: RecordSet): string | undefined {
  const { type, ttl, data } = set
  const relative = relativeName(set)
  const values = data.map((value) => octodnsValue(type, value))
  if (relative === undefined || values.includes(undefined)) return undefined
  const lines =
    values.length === 1
      ? [`  value: ${JSON.stringify(values[0])}`]
      : ['  values:', ...values.map((value) => `  - ${JSON.stringify(value)}`)]
  return [`${JSON.stringify(relative)}:`, `  type: ${type}`, `  ttl: ${ttl}`, ...lines].join('\n')
}

function octodnsValue(type: string, value: string): unknown {
  const parts = value.split(' ')
  switch (type) {
    case 'A':
    case 'AAAA':
    case 'CNAME':
    case 'NS':
    case 'PTR':
      return value
    case 'TXT':
      return textOf(value)?.replaceAll(';', '\\;')
    case 'MX':
      return { preference: Number(parts[0]), exchange: parts[1] }
    case 'SRV': {
      const [priority, weight, port] = parts.map(Number)
      return { priority, weight, port, target: parts[3] }
    }
    case 'CAA':
      return readCaa(value)
    default:
      return undefined
  }
}

/** Adds the records to a zone that is in another file. */
function dnscontrol(set: RecordSet): string | undefined {
  const { zone, type, ttl, data } = set
  const relative = relativeName(set)
  const records = data.map((value) => dnscontrolArguments(type, value))
  if (zone === undefined || relative === undefined || records.includes(undefined)) return undefined
  const name = scriptText(relative || '@')
  const lines = records.map((values) => `  ${type}(${[name, ...values!.map(scriptText)].join(', ')}, TTL(${ttl}))`)
  return `D_EXTEND(${scriptText(zone)},\n${lines.join(',\n')}\n)`
}

function dnscontrolArguments(type: string, value: string): (string | number)[] | undefined {
  const parts = value.split(' ')
  switch (type) {
    case 'A':
    case 'AAAA':
    case 'CNAME':
    case 'NS':
    case 'PTR':
      return [value]
    case 'TXT': {
      const text = textOf(value)
      return text === undefined ? undefined : [text]
    }
    case 'MX':
      return [Number(parts[0]), parts[1]!]
    case 'SRV':
      return [...parts.slice(0, 3).map(Number), parts[3]!]
    case 'CAA': {
      const caa = readCaa(value)
      return caa?.flags === 0 ? [caa.tag, caa.value] : undefined
    }
    default:
      return undefined
  }
}

/** A string of JavaScript. Older engines end a line at U+2028 and U+2029. */
const scriptText = (value: string | number): string =>
  JSON.stringify(value).replace(/[\u2028\u2029]/g, (character) => `\\u${character.charCodeAt(0).toString(16)}`)

const withoutDot = (name: string) => (name.length > 1 && name.endsWith('.') ? name.slice(0, -1) : name)

/** Empty for the name of the zone; undefined if the name is not in it. */
function relativeName({ name, zone }: RecordSet): string | undefined {
  if (zone === undefined) return undefined
  if (name === zone) return ''
  return name.endsWith(`.${zone}`) ? name.slice(0, -zone.length - 1) : undefined
}

/** Route 53 writes octets in octal, zone files in decimal. */
const withOctalEscapes = (data: string) =>
  data.replace(/\\(\d{3}|.)/g, (sequence, escaped: string) =>
    escaped.length === 3 ? `\\${Number(escaped).toString(8).padStart(3, '0')}` : sequence,
  )

function readCaa(data: string): { flags: number; tag: string; value: string } | undefined {
  const [flags = '', tag = ''] = data.split(' ', 2)
  const value = textOf(data.slice(flags.length + tag.length + 2))
  return value === undefined ? undefined : { flags: Number(flags), tag, value }
}

/** The text of quoted strings; undefined if it is not UTF-8, or has a NUL. */
function textOf(data: string): string | undefined {
  const octets: number[] = []
  let isInString = false
  for (const [part] of data.matchAll(/\\\d{3}|\\.|./gs)) {
    if (part === '"') isInString = !isInString
    else if (isInString) octets.push(part.length === 4 ? Number(part.slice(1)) : part.charCodeAt(part.length - 1))
  }
  if (octets.includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(new Uint8Array(octets))
  } catch {
    return undefined
  }
}
