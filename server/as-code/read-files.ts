import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ALL_CHANNEL_TYPES } from '../alerts/channel-types/channel-types.ts'
import { CliError } from '../cli-error.ts'
import { findFieldErrors } from '../http/validation.ts'
import { parseMonitorName } from '../monitors/names.ts'
import { parseMonitor } from '../monitors/parse-monitor.ts'
import { type FieldErrors, fieldTexts } from '../problem.ts'
import { type Declared, type Item, isObject, type Value } from './declared.ts'
import { CodeFile, DEFAULT_LABEL, GENERATED_ID, ITEMS, KIND_NAMES, type KindName, MANAGED_BY } from './format.ts'
import { nearest } from './nearest.ts'
import { type Environment, resolveSecrets } from './secrets.ts'
import { type Complaint, MAX_FILE_BYTES, type Place, parseSource, type Source } from './source.ts'

const MAX_FILES = 1_000
const MAX_TOTAL_BYTES = 64 * 1_024 * 1_024
const MAX_COMPLAINTS = 50

/** Reads files and the YAML files of folders. Throws a `CliError` with the places of everything that is wrong. */
export function readFiles(paths: readonly string[], environment: Environment): Declared {
  const complaints: Complaint[] = []
  const labels = new Map<string, Place>()
  const owns = new Set<string>()
  const items: Item[] = []
  const missing = new Set<string>()
  for (const file of filesOf(paths)) {
    const parsed = parseSource(file, readFileSync(file, 'utf8'))
    if (!parsed.ok) {
      complaints.push(...parsed.complaints)
      continue
    }
    const { source } = parsed
    if (source.value === null) continue
    complaints.push(...topErrors(source))
    const top = isObject(source.value) ? source.value : {}
    if (typeof top.managed_by === 'string') labels.set(top.managed_by, source.placeOf(['managed_by']))
    for (const kind of Array.isArray(top.owns) ? top.owns : []) owns.add(String(kind))
    for (const kind of KIND_NAMES) {
      const values = Array.isArray(top[kind]) ? top[kind] : []
      for (const [index, written] of values.entries()) {
        const read = readItem(source, kind, index, written, isObject(top.defaults) ? top.defaults : {}, environment)
        complaints.push(...read.complaints)
        for (const name of read.missing) missing.add(name)
        if (read.item) items.push(read.item)
      }
    }
  }
  if (labels.size > 1)
    complaints.push({ place: [...labels.values()].at(-1)!, text: 'managed_by differs from that of another file.' })
  complaints.push(...referenceErrors(items))
  if (complaints.length > 0) throw new CliError(complaintText(complaints))
  const [label = DEFAULT_LABEL] = labels.keys()
  return { label, owns, items, missing: [...missing].sort() }
}

function filesOf(paths: readonly string[]): string[] {
  const files = paths.flatMap((path) => {
    if (!existsSync(path)) throw new CliError(`${path} does not exist. Name YAML files, or a folder with some.`)
    if (!statSync(path).isDirectory()) return [path]
    return readdirSync(path, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.ya?ml$/.test(name))
      .sort()
      .map((name) => join(path, name))
  })
  const unique = [...new Set(files)]
  if (unique.length === 0) throw new CliError(`${paths.join(', ')} has no YAML files.`)
  if (unique.length > MAX_FILES) throw new CliError(`There are more than ${MAX_FILES} files.`)
  const sizes = unique.map((file) => statSync(file).size)
  if (sizes.some((size) => size > MAX_FILE_BYTES))
    throw new CliError(
      `${unique[sizes.findIndex((size) => size > MAX_FILE_BYTES)]} is larger than ${MAX_FILE_BYTES / 1_024 / 1_024} MiB.`,
    )
  if (sizes.reduce((sum, size) => sum + size, 0) > MAX_TOTAL_BYTES)
    throw new CliError(`The files have more than ${MAX_TOTAL_BYTES / 1_024 / 1_024} MiB together.`)
  return unique
}

/** The file without its items. */
function topErrors(source: Source): Complaint[] {
  const { value } = source
  if (!isObject(value)) return [{ place: source.placeOf([]), text: `must be an object with ${KIND_NAMES.join(', ')}.` }]
  const emptied = Object.entries(value).map(([key, item]) => [key, isKind(key) && Array.isArray(item) ? [] : item])
  return complaintsOf(
    source,
    [],
    CodeFile,
    findFieldErrors(CodeFile, structuredClone(Object.fromEntries(emptied))),
    value,
  )
}

const isKind = (name: string): name is KindName => KIND_NAMES.some((kind) => kind === name)

function readItem(
  source: Source,
  kind: KindName,
  index: number,
  written: unknown,
  defaults: Value,
  environment: Environment,
): { item?: Item; complaints: Complaint[]; missing: string[] } {
  const path = [kind, index]
  const place = source.placeOf(path)
  if (!isObject(written)) return { complaints: [{ place, text: 'must be an object.' }], missing: [] }
  const given = kind === 'monitors' ? { ...defaults, ...written } : written
  const { value, unset, missing, errors: secretErrors } = resolveSecrets(kind, given, environment)
  const errors: FieldErrors = findFieldErrors(ITEMS[kind], value)
  const texts = { ...otherErrors(kind, value, errors), ...secretErrors }
  for (const { path: hidden } of unset) {
    delete texts[hidden.join('.')]
    delete errors[hidden.join('.')]
  }
  const complaints = [
    ...complaintsOf(source, path, ITEMS[kind], errors, given),
    ...Object.entries(texts).map(([field, text]) => complaint(source, path, field, text)),
  ]
  return complaints.length > 0 ? { complaints, missing } : { item: { kind, place, value, unset }, complaints, missing }
}

/** What the schema does not say. */
function otherErrors(kind: KindName, value: Value, schemaErrors: FieldErrors): Record<string, string> {
  const texts: Record<string, string> = {}
  const metadata = isObject(value.metadata) ? value.metadata : {}
  if (MANAGED_BY in metadata)
    texts[`metadata.${MANAGED_BY}`] = 'is set by apply. Write managed_by at the top of the file instead.'
  if (typeof value.external_id === 'string' && value.external_id.startsWith(GENERATED_ID))
    texts.external_id = `must not begin with ${GENERATED_ID}: apply gives such ids itself.`
  if (Object.keys(schemaErrors).length > 0) return texts
  if (kind === 'monitors') {
    const parsed = parseMonitor(value as never)
    if (!parsed.ok) Object.assign(texts, fieldTexts(parsed.errors))
  }
  if (kind === 'channels') {
    const { settings } = ALL_CHANNEL_TYPES[value.type as keyof typeof ALL_CHANNEL_TYPES]
    const errors = fieldTexts(findFieldErrors(settings, structuredClone(value.settings)))
    for (const [field, text] of Object.entries(errors)) texts[`settings.${field}`] = text
  }
  if (kind === 'zones') {
    const parsed = parseMonitorName({ full_domain: value.name as string }, 'NS')
    if (!parsed.ok) texts.name = Object.values(fieldTexts(parsed.errors)).join(' ')
  }
  return texts
}

/** Names that nothing in the files has. */
function referenceErrors(items: readonly Item[]): Complaint[] {
  const namesOf = (kind: KindName, field: string) =>
    items.flatMap((item) => (item.kind === kind ? [String(item.value[field])] : []))
  const slugs = new Set(namesOf('groups', 'slug'))
  const channels = new Set(namesOf('channels', 'name'))
  const complaints: Complaint[] = []
  const check = (place: Place, what: string, known: ReadonlySet<string>, names: unknown[]) => {
    for (const name of names.map(String)) {
      if (known.has(withoutNumber(name)) || known.has(name)) continue
      const like = nearest(name, known)
      const hint = like === undefined ? `Add it to ${what}s.` : `Did you mean ${like}?`
      complaints.push({ place, text: `There is no ${what} ${name} in the files. ${hint}` })
    }
  }
  for (const { kind, place, value } of items) {
    if (kind === 'monitors' && value.group !== undefined) check(place, 'group', slugs, [value.group])
    if (Array.isArray(value.groups)) check(place, 'group', slugs, value.groups)
    if (kind !== 'alert_rules') continue
    check(place, 'channel', channels, value.channels as unknown[])
    if (value.escalation_channel != null) check(place, 'channel', channels, [value.escalation_channel])
  }
  return complaints
}

/** `Operations #2` is the second channel with this name. */
const withoutNumber = (name: string) => name.replace(/ #[0-9]{1,4}$/, '')

function complaintsOf(
  source: Source,
  path: (string | number)[],
  schema: object,
  errors: FieldErrors,
  value: unknown,
): Complaint[] {
  return Object.entries(errors).map(([field, { code, text }]) => {
    if (code !== 'unknown_field') return complaint(source, path, field, withQuotes(text, code, valueAt(value, field)))
    const keys = field.split('.')
    const known = propertiesAt(schema, keys.slice(0, -1))
    const like = nearest(keys.at(-1)!, known)
    return complaint(source, path, field, like === undefined ? text : `is unknown. Did you mean ${like}?`)
  })
}

/** YAML reads 1.10 as a number and yes-like words as they are. */
const withQuotes = (text: string, code: string, value: unknown): string =>
  code === 'invalid_type' && ['number', 'boolean'].includes(typeof value) && text.includes('text')
    ? `${text} Write it in quotation marks.`
    : text

const valueAt = (value: unknown, field: string): unknown =>
  field
    .split('.')
    .reduce<unknown>(
      (parent, key) => (isObject(parent) || Array.isArray(parent) ? parent[key as never] : undefined),
      value,
    )

/** The keys that an object of the schema may have. */
function propertiesAt(schema: object, path: readonly string[]): string[] {
  type Node = { properties?: Record<string, Node>; items?: Node; anyOf?: Node[] }
  let node: Node | undefined = schema
  for (const key of path) {
    const options: Node[] = [node!, ...(node?.anyOf ?? [])]
    node = options.map((option) => option?.properties?.[key] ?? option?.items).find(Boolean)
  }
  const options = [node, ...(node?.anyOf ?? [])]
  return options.flatMap((option) => Object.keys(option?.properties ?? {}))
}

function complaint(source: Source, path: (string | number)[], field: string, text: string): Complaint {
  if (field === 'body') return { place: source.placeOf(path), text: `${path.join('.') || 'The file'} ${text}` }
  const keys = field.split('.').map((key) => (/^[0-9]{1,6}$/.test(key) ? Number(key) : key))
  const last = keys.at(-1)!
  const place =
    typeof last === 'string'
      ? source.placeOf([...path, ...keys.slice(0, -1)], last)
      : source.placeOf([...path, ...keys])
  return { place, text: `${field} ${text}` }
}

const placeText = ({ file, line, column }: Place): string => `${file}:${line}:${column}`

function complaintText(complaints: readonly Complaint[]): string {
  const shown = complaints.slice(0, MAX_COMPLAINTS).map(({ place, text }) => `${placeText(place)}: ${text}`)
  const more = complaints.length - shown.length
  return [...shown, ...(more > 0 ? [`… and ${more} more.`] : [])].join('\n')
}
