import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { stringify } from 'yaml'
import { CliError } from '../cli-error.ts'
import type { Value } from './declared.ts'
import { DEFAULT_LABEL, jsonSchema, type KindName, SCHEMA_FILE } from './format.ts'
import { type Fields, isGenerated, isSame, isSplitAsUsual, KINDS } from './kinds.ts'
import type { Existing, Organization } from './organization.ts'
import { secretSettings } from './secrets.ts'

export type CodeFiles = Map<string, Value>

const MONITORS_IN_A_FILE = 2_000
const HEADER = '# yaml-language-server: $schema='

/** The files of an organization, by their paths. Secrets are variables of the environment. */
export function filesOf(organization: Organization): CodeFiles {
  const files: CodeFiles = new Map()
  const labels = new Set([...organization.groups, ...organization.monitors].flatMap(({ label }) => label ?? []))
  const [label] = labels
  const of = (kind: KindName, write: (each: Existing) => Fields = ({ fields }) => fields) => {
    const items = organization[kind].filter(({ isOver }) => !isOver)
    return items.length === 0 ? {} : { [kind]: items.map((each) => written(kind, write(each))) }
  }
  const variables = newVariables()
  files.set('organization.yaml', {
    ...(labels.size === 1 && label !== DEFAULT_LABEL && { managed_by: label }),
    ...of('groups', ({ fields }) => without(fields, fields.name === fields.slug ? ['name'] : [])),
    ...of('channels', ({ key, fields }) => withVariables(fields, key, variables)),
    ...of('webhooks', ({ fields }) => ({
      ...without(fields, ['secret']),
      headers: Object.fromEntries(
        Object.keys(fields.headers as object).map((name) => [name, variables(`${hostOf(fields.url)} ${name}`)]),
      ),
    })),
    ...of('alert_rules'),
    ...of('maintenance_windows', ({ fields }) => ({
      ...fields,
      monitors: monitorNames(fields.monitors, organization),
    })),
    ...zonesOf(organization),
  })
  for (const [name, file] of monitorFiles(organization)) files.set(name, file)
  return files
}

/** Without what is the default. */
function written(kind: KindName, fields: Fields): Fields {
  const { defaults, naming } = KINDS[kind]
  const isDefault = (field: string, value: unknown) => field in defaults && isSame(value, defaults[field])
  const first = naming.flatMap((field) => (fields[field] === undefined ? [] : [[field, fields[field]] as const]))
  return Object.fromEntries(
    Object.entries({ ...Object.fromEntries(first), ...fields }).filter(
      ([field, value]) => value !== undefined && !isDefault(field, value),
    ),
  )
}

const without = (fields: Fields, names: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))

function withVariables(fields: Fields, key: string, variables: (text: string) => string): Fields {
  const secrets = secretSettings(fields.type)
  const settings = Object.entries(fields.settings as object).map(([name, value]) => [
    name,
    secrets.includes(name) ? variables(`${key} ${name}`) : value,
  ])
  return { ...fields, settings: Object.fromEntries(settings) }
}

/** `Operations webhook_url` becomes `${ZONEWATCH_OPERATIONS_WEBHOOK_URL}`, each time another one. */
function newVariables(): (text: string) => string {
  const taken = new Set<string>()
  return (text) => {
    const name = `ZONEWATCH_${text.toUpperCase().replace(/[^A-Z0-9]+/g, '_')}`.replace(/_$/, '')
    let variable = name
    for (let number = 2; taken.has(variable); number++) variable = `${name}_${number}`
    taken.add(variable)
    return `\${${variable}}`
  }
}

const hostOf = (url: unknown): string => (URL.canParse(String(url)) ? new URL(String(url)).hostname : 'webhook')

/** By external id, else by name and type. */
function monitorNames(ids: unknown, { monitors }: Organization): string[] | null {
  if (!Array.isArray(ids)) return null
  const names = new Map(
    monitors.map(({ id, key, fields: { external_id } }) => [
      id,
      external_id == null || isGenerated(external_id) ? key : String(external_id),
    ]),
  )
  return ids.map((id) => names.get(id) ?? id)
}

/** Only those with settings: the others exist because of their monitors. */
function zonesOf({ zones }: Organization): Fields {
  const set = zones.filter(({ fields }) => fields.expected_name_servers !== null || (fields.ignored as []).length > 0)
  const shown = set.map(({ fields }) =>
    written('zones', fields.expected_name_servers === null ? without(fields, ['expected_name_servers']) : fields),
  )
  return shown.length === 0 ? {} : { zones: shown }
}

/** A file for each group, of several parts if it is large. */
function monitorFiles({ monitors, groups }: Organization): CodeFiles {
  const files: CodeFiles = new Map()
  const byGroup = Map.groupBy(monitors, ({ fields }) => String(fields.group))
  const standard = groups.find(({ isDefault }) => isDefault)?.fields.slug
  for (const [group, own] of byGroup) {
    const name = /^[a-z0-9-]{1,100}$/.test(group) ? group : 'monitors'
    for (let from = 0, part = 1; from < own.length; from += MONITORS_IN_A_FILE, part++) {
      const chunk = own.slice(from, from + MONITORS_IN_A_FILE)
      const frequency = mostFrequent(chunk.map(({ fields }) => fields.frequency))
      const defaults = { ...(group !== standard && { group }), frequency }
      const items = chunk.map(({ fields }) => monitorItem(fields, frequency))
      files.set(`monitors/${name}${part === 1 ? '' : `.${part}`}.yaml`, { defaults, monitors: items })
    }
  }
  return files
}

/** `group` and `frequency` are defaults of the file. */
function monitorItem(fields: Fields, frequency: unknown): Fields {
  const {
    full_domain,
    domain,
    subdomain,
    record_type,
    expected_value,
    group: _group,
    ...others
  } = written('monitors', fields)
  const name = isSplitAsUsual(fields) ? { full_domain } : { domain, ...(subdomain !== '' && { subdomain }) }
  const values = expected_value as string[]
  const left = [
    ...(others.frequency === frequency ? ['frequency'] : []),
    ...(isGenerated(others.external_id) ? ['external_id'] : []),
  ]
  return { ...name, record_type, expected_value: values.length === 1 ? values[0] : values, ...without(others, left) }
}

function mostFrequent(values: readonly unknown[]): unknown {
  const counts = [...Map.groupBy(values, (value) => value)].map(([value, all]) => ({ value, count: all.length }))
  return counts.toSorted((one, other) => other.count - one.count)[0]?.value
}

/**
 * Writes the files into a folder, with their schema. Refuses if the folder has YAML files; with `force` it replaces them, and removes
 * those of an earlier pull.
 */
export function writeFiles(folder: string, files: CodeFiles, force: boolean): void {
  const present = existsSync(folder)
    ? readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.ya?ml$/.test(name))
    : []
  if (present.length > 0 && !force)
    throw new CliError(
      `${folder} already has YAML files, such as ${present[0]}. Name another folder, or add --force to replace them.`,
    )
  for (const name of present)
    if (!files.has(name) && readFileSync(join(folder, name), 'utf8').startsWith(HEADER)) rmSync(join(folder, name))
  for (const [name, content] of files) {
    const path = join(folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, fileText(name, content))
  }
  writeFileSync(join(folder, SCHEMA_FILE), jsonSchema())
}

export function fileText(name: string, content: Value): string {
  const schema = `${'../'.repeat(name.split('/').length - 1)}${SCHEMA_FILE}`
  const text =
    Object.keys(content).length === 0 ? '{}\n' : stringify(content, { lineWidth: 0, aliasDuplicateObjects: false })
  return `${HEADER}${schema}\n${text}`
}
