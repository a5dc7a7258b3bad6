import { type Declared, type Item, isObject, isUnlabeled } from './declared.ts'
import { KIND_NAMES, type KindName, MANAGED_BY } from './format.ts'
import { type Fields, generatedId, isGenerated, isSame, KINDS, keysOf, monitorName, UNKNOWN } from './kinds.ts'
import { nearest } from './nearest.ts'
import type { Existing, Organization } from './organization.ts'
import { secretSettings } from './secrets.ts'

/** What the files want. */
export type Wanted = { kind: KindName; key: string; fields: Fields; item: Item }
export type Difference = { field: string; from: unknown; to: unknown }
export type Change = { kind: KindName; key: string; differences: Difference[] } & (
  | { action: 'create'; wanted: Wanted }
  | { action: 'update'; wanted: Wanted; existing: Existing }
  | { action: 'delete'; existing: Existing }
)

export type Plan = {
  label: string
  /** In the order in which they are made. */
  changes: Change[]
  /** Why nothing can be done. */
  conflicts: string[]
  /** Not in the files, and not theirs to delete. */
  kept: Existing[]
  /** In the files, but deleted with them only after `--adopt`. */
  unmarked: number
  /** The ids of the monitors, by their names in the files. */
  monitorIds: ReadonlyMap<string, string>
}

/** `adopt`: what exists gets the label of the files. `sendSecrets`: what cannot be compared counts as changed. */
export type PlanOptions = { adopt?: boolean; sendSecrets?: boolean; now: number }

/** Compares the files with what exists. Pure. */
export function newPlan(declared: Declared, organization: Organization, options: PlanOptions): Plan {
  const conflicts: string[] = []
  const wanted = wantedOf(declared, organization, conflicts)
  const pairs = KIND_NAMES.map((kind) => ({ kind, ...pairUp(declared.label, kind, wanted[kind], organization[kind]) }))
  const monitors = pairs.find(({ kind }) => kind === 'monitors')!
  const references = monitorReferences(monitors, organization.monitors)
  nameMonitors(wanted, organization, references, conflicts)

  const made: Change[] = []
  const deleted: Change[] = []
  const kept: Existing[] = []
  let unmarked = 0
  for (const { kind, paired, added, left } of pairs) {
    for (const { wanted, existing } of paired) {
      const differences = differencesOf(wanted, existing, options)
      if (kind === 'channels' && wanted.fields.type !== existing.fields.type)
        conflicts.push(
          `The channel ${wanted.key} has the type ${existing.fields.type}, which cannot change. Use another name.`,
        )
      const isLabeled = isUnlabeled(kind) || kind === 'zones' || existing.isDefault || existing.label === declared.label
      if (differences.length > 0 && !isLabeled && existing.label !== null)
        conflicts.push(`${KINDS[kind].noun} ${wanted.key} belongs to the files with managed_by: ${existing.label}.`)
      if (!isLabeled && existing.label === null && differences.length === 0 && !options.adopt) unmarked++
      else if (!isLabeled && existing.label === null)
        differences.push({ field: `metadata.${MANAGED_BY}`, from: null, to: declared.label })
      const { key } = wanted
      if (differences.length > 0) made.push({ action: 'update', kind, key, wanted, existing, differences })
    }
    for (const each of added) {
      if (kind === 'maintenance_windows' && isOver(each.fields, options.now)) continue
      const differences = Object.entries(each.fields).flatMap(([field, to]): Difference[] =>
        KINDS[kind].naming.includes(field) || isSame(to, KINDS[kind].defaults[field])
          ? []
          : [shownDifference({ field, from: null, to })],
      )
      made.push({ action: 'create', kind, key: each.key, wanted: each, differences })
    }
    for (const existing of left) {
      const isOurs = isUnlabeled(kind) ? declared.owns.has(kind) : existing.label === declared.label
      if (kind === 'zones' || existing.isDefault || existing.isOver) continue
      if (isOurs) deleted.unshift({ action: 'delete', kind, key: existing.key, existing, differences: [] })
      // Files that have no channels say nothing about channels.
      else if (wanted[kind].length > 0) kept.push(existing)
    }
  }
  const monitorIds = new Map([...references].map(([id, name]) => [name, id]))
  return { label: declared.label, changes: [...made, ...deleted], conflicts, kept, unmarked, monitorIds }
}

const isOver = ({ to, rrule }: Fields, now: number): boolean => rrule === null && Date.parse(String(to)) <= now

function wantedOf({ items }: Declared, organization: Organization, conflicts: string[]): Record<KindName, Wanted[]> {
  const defaultGroup = organization.groups.find(({ isDefault }) => isDefault)?.fields.slug
  const lists = KIND_NAMES.map((kind) => {
    const own = items.filter((item) => item.kind === kind)
    const fields = own.map((item) => KINDS[kind].wanted(item))
    if (kind === 'monitors') for (const each of fields) each.group ??= defaultGroup
    const keys = keysOf(fields.map((each) => KINDS[kind].nameOf(each)))
    if (kind === 'groups' || kind === 'zones')
      conflicts.push(...repeated(kind, own, fields, 'slug' in (fields[0] ?? {}) ? 'slug' : 'name'))
    if (kind === 'monitors') conflicts.push(...repeated(kind, own, fields, 'external_id'))
    return [kind, own.map((item, index) => ({ kind, key: keys[index]!, fields: fields[index]!, item }))]
  })
  return Object.fromEntries(lists) as Record<KindName, Wanted[]>
}

function repeated(kind: KindName, items: readonly Item[], fields: readonly Fields[], field: string): string[] {
  const seen = new Set<unknown>()
  return items.flatMap(({ place }, index) => {
    const value = fields[index]![field]
    if (value === undefined || !seen.has(value)) {
      seen.add(value)
      return []
    }
    return [`${place.file}:${place.line}: The ${field} ${value} of a ${KINDS[kind].noun} is repeated.`]
  })
}

type Pairs = { paired: { wanted: Wanted; existing: Existing }[]; added: Wanted[]; left: Existing[] }

/** First by the external id, then what is the same, then by the name. */
function pairUp(label: string, kind: KindName, wanted: readonly Wanted[], existing: readonly Existing[]): Pairs {
  const open = new Set(wanted)
  const free = new Set(existing)
  const paired: Pairs['paired'] = []
  type KeyOf<Each> = (each: Each) => string | undefined
  const pairBy = (
    wantedKey: KeyOf<Wanted>,
    existingKey: KeyOf<Existing>,
    isAllowed = (_: Wanted, __: Existing) => true,
  ) => {
    const byKey = Map.groupBy(free, existingKey)
    for (const each of open) {
      const key = wantedKey(each)
      const found =
        key === undefined ? undefined : byKey.get(key)?.find((other) => free.has(other) && isAllowed(each, other))
      if (!found) continue
      paired.push({ wanted: each, existing: found })
      open.delete(each)
      free.delete(found)
    }
  }
  if (kind === 'groups' || kind === 'monitors') pairBy(externalId, externalId)
  if (kind !== 'monitors') pairBy(byName, byName)
  else {
    const taken = new Set(wanted.map(externalId))
    // What has an external id of its own is another monitor than one with another id in the files.
    const isAllowed = (each: Wanted, { fields: { external_id: id } }: Existing) =>
      id == null || isGenerated(id) || (each.fields.external_id == null && !taken.has(String(id)))
    const similar = (more: (fields: Fields) => unknown) => {
      const keyOf = ({ fields }: { fields: Fields }) => JSON.stringify([monitorName(fields), more(fields)])
      pairBy(keyOf, keyOf, isAllowed)
    }
    similar(({ group, expected_value }) => [group, [...(expected_value as string[])].sort()])
    pairBy(({ key }) => generatedId(label, key), externalId)
    similar(({ group }) => group)
    similar(() => null)
  }
  return { paired, added: [...open], left: [...free] }
}

const byName = ({ key }: { key: string }) => key
const externalId = ({ fields }: { fields: Fields }) =>
  fields.external_id == null ? undefined : String(fields.external_id)

/** What a monitor is called in the list of a maintenance window. */
const referenceOf = ({ key, fields }: { key: string; fields: Fields }): string =>
  fields.external_id != null && !isGenerated(fields.external_id) ? String(fields.external_id) : key

/** The names of the monitors in the files, by their ids. */
function monitorReferences({ paired }: Pairs, existing: readonly Existing[]): Map<string, string> {
  const references = new Map(existing.map((each) => [each.id, referenceOf(each)]))
  for (const { wanted, existing } of paired) references.set(existing.id, referenceOf(wanted))
  return references
}

/** Writes the monitors of windows in one way: by their external ids, else by name and type. */
function nameMonitors(
  { maintenance_windows: windows, monitors }: Record<KindName, Wanted[]>,
  { maintenance_windows: existing }: Organization,
  references: ReadonlyMap<string, string>,
  conflicts: string[],
): void {
  for (const { fields } of existing)
    if (Array.isArray(fields.monitors)) fields.monitors = fields.monitors.map((id) => references.get(id) ?? id)
  const known = new Map([...references.values()].map((name) => [name, name]))
  for (const each of monitors) known.set(each.key, referenceOf(each)).set(referenceOf(each), referenceOf(each))
  for (const { fields, item } of windows) {
    if (!Array.isArray(fields.monitors)) continue
    fields.monitors = (fields.monitors as string[]).map((written) => {
      const name = known.get(written) ?? known.get(written.toLowerCase().replace(/ \S+$/, (type) => type.toUpperCase()))
      if (name === undefined) {
        const { file, line } = item.place
        const like = nearest(written, known.keys())
        conflicts.push(
          `${file}:${line}: There is no monitor ${written}.${like === undefined ? '' : ` Did you mean ${like}?`}`,
        )
      }
      return name ?? written
    })
  }
}

function differencesOf(wanted: Wanted, existing: Existing, { sendSecrets = false }: PlanOptions): Difference[] {
  const { kind } = wanted
  const differences: Difference[] = []
  for (const [field, to] of Object.entries(wanted.fields)) {
    const from = existing.fields[field] ?? null
    const [left, right] = comparable(kind, field, from, to ?? null, wanted.fields)
    if (isSame(left, right, KINDS[kind].sets.includes(field))) continue
    if (field === 'headers') differences.push(...headerDifferences(left, right))
    else differences.push(shownDifference({ field, from: left, to: right }))
  }
  if (
    kind === 'channels' &&
    sendSecrets &&
    secretSettings(wanted.fields.type).some((name) => name in (wanted.fields.settings as object))
  )
    differences.push({ field: 'secrets', from: '********', to: '********' })
  return differences
}

function headerDifferences(from: unknown, to: unknown): Difference[] {
  const [before, after] = [from ?? {}, to ?? {}] as Record<string, string>[]
  const names = Object.keys({ ...before, ...after }).filter((name) => before![name] !== after![name])
  const masked = (value: string | undefined) => (value === undefined ? null : '********')
  return names.map((name) => ({ field: `headers.${name}`, from: masked(before![name]), to: masked(after![name]) }))
}

/** Plans are printed in logs and comments: of secrets, not even their last characters. */
function shownDifference({ field, from, to }: Difference): Difference {
  const hidden = (value: unknown): unknown => {
    if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, hidden(each)]))
    return typeof value === 'string' && value !== UNKNOWN ? '********' : value
  }
  return field === 'secret' || field === 'headers' ? { field, from: hidden(from), to: hidden(to) } : { field, from, to }
}

/** Without what cannot be compared: secrets that the files leave to the server, and variables that are not set. */
function comparable(kind: KindName, field: string, from: unknown, to: unknown, wanted: Fields): [unknown, unknown] {
  if (to === UNKNOWN) return [from, from]
  if (kind === 'webhooks' && field === 'headers') {
    const known = Object.entries((from ?? {}) as Record<string, string>)
    const masks = Object.fromEntries(known)
    const compared = Object.entries(to as Record<string, string>).map(([name, mask]) => [
      name,
      mask === UNKNOWN ? (masks[name] ?? UNKNOWN) : mask,
    ])
    return [from, Object.fromEntries(compared)]
  }
  if (kind === 'channels' && field === 'settings' && isObject(from) && isObject(to)) {
    const unwritten = secretSettings(wanted.type).filter((name) => !(name in to))
    return [Object.fromEntries(Object.entries(from).filter(([name]) => !unwritten.includes(name))), to]
  }
  return [from, to]
}
