import type { Api } from './api.ts'
import type { Value } from './declared.ts'
import { KIND_NAMES, type KindName, MANAGED_BY } from './format.ts'
import { type Fields, KINDS, keysOf, type Names } from './kinds.ts'

/** Something of the server. `label`: whose files it is in; null where nothing says so. */
export type Existing = {
  kind: KindName
  key: string
  id: string
  fields: Fields
  label: string | null
  isDefault: boolean
  isOver: boolean
}

export type Organization = Record<KindName, Existing[]>

const INCLUDE = ['external_id', 'tags', 'metadata']

/** Reads everything that files can describe. Zones are many pages, and most have no settings. */
export async function readOrganization(api: Api, { zones = true } = {}): Promise<Organization> {
  const groups = await all(api.listGroups({ include: INCLUDE } as never))
  const channels = await all(api.listChannels())
  const names: Names = {
    groups: new Map(groups.map(({ id, slug }) => [String(id), String(slug)])),
    channels: new Map(
      keysOf(channels.map(({ name }) => String(name))).map((key, index) => [String(channels[index]!.id), key]),
    ),
  }
  const read: Record<KindName, Value[]> = {
    ...{ groups, channels },
    webhooks: await all(api.listWebhooks()),
    alert_rules: await all(api.listAlertRules()),
    maintenance_windows: await all(api.listMaintenanceWindows()),
    monitors: (await api.exportMonitors({ format: 'json' } as never)) as unknown as Value[],
    zones: zones ? await all(api.listZones()) : [],
  }
  const lists = KIND_NAMES.map((kind) => [kind, existingOf(kind, read[kind], names)])
  return Object.fromEntries(lists) as Organization
}

async function all(pages: AsyncIterable<unknown>): Promise<Value[]> {
  return (await Array.fromAsync(pages)) as Value[]
}

function existingOf(kind: KindName, resources: readonly Value[], names: Names): Existing[] {
  const fields = resources.map((resource) => KINDS[kind].current(resource, names))
  const keys = keysOf(fields.map((each) => KINDS[kind].nameOf(each)))
  return resources.map((resource, index) => ({
    ...{ kind, key: keys[index]!, id: String(resource.id), fields: fields[index]! },
    label: (resource.metadata as Record<string, string> | undefined)?.[MANAGED_BY] ?? null,
    isDefault: resource.is_default === true,
    // A window that has ended is history.
    isOver: kind === 'maintenance_windows' && (resource.occurrences as unknown[]).length === 0,
  }))
}
