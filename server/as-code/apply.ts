import { ZonewatchError } from '#client/error.ts'
import { etagOf } from '#client/send.ts'
import type { NewMonitors } from '#contract/monitors.ts'
import { CliError } from '../cli-error.ts'
import type { Api } from './api.ts'
import type { Declared, Value } from './declared.ts'
import { type KindName, MANAGED_BY } from './format.ts'
import { type Fields, generatedId, isGenerated, isSame, KINDS, type Names } from './kinds.ts'
import { type Organization, readOrganization } from './organization.ts'
import { type Change, newPlan, type Plan, type PlanOptions, type Wanted } from './plan.ts'

export type Progress = (done: number, total: number, what: string) => void

type Created = Extract<Change, { action: 'create' }>
type Updated = Extract<Change, { action: 'update' }>
type Deleted = Extract<Change, { action: 'delete' }>
type Run = {
  api: Api
  declared: Declared
  options: PlanOptions
  /** The ids of channels by their names in the files. */
  channels: Map<string, string>
  slugs: Map<string, string>
  signal: AbortSignal
  done(count: number, what: string): void
  /** What somebody else changed meanwhile. */
  met: string[]
}

const MONITORS_AT_ONCE = 500
const MAX_DELETED_AT_ONCE = 10_000

/**
 * Makes the changes of a plan, groups and channels first. An interrupted run leaves each item as it was or as the files say, so that
 * the next run continues. Throws a `CliError` if somebody else changed something that differs from the files.
 */
export async function applyPlan(
  api: Api,
  {
    declared,
    organization,
    plan,
    options,
  }: { declared: Declared; organization: Organization; plan: Plan; options: PlanOptions },
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  let done = 0
  const { changes } = plan
  const run: Run = {
    ...{ api, declared, options, signal, met: [] },
    channels: new Map(organization.channels.map(({ key, id }) => [key, id])),
    slugs: new Map(organization.groups.map(({ id, fields }) => [id, String(fields.slug)])),
    done: (count, what) => {
      done += count
      progress(done, changes.length, what)
    },
  }
  const of = (kind: KindName) => changes.filter((change) => change.kind === kind && change.action !== 'delete')
  for (const kind of ['groups', 'channels', 'webhooks', 'alert_rules'] as const)
    for (const change of of(kind)) await makeChange(run, change)
  await applyMonitors(run, of('monitors') as (Created | Updated)[])
  let { monitorIds } = plan
  if (of('maintenance_windows').some(({ differences }) => differences.some(({ field }) => field === 'monitors')))
    monitorIds = newPlan(declared, await readOrganization(api, { zones: false }), options).monitorIds
  for (const change of of('maintenance_windows')) await makeChange(run, change, monitorIds)
  for (const change of of('zones')) await makeChange(run, change)
  const deleted = changes.filter((change): change is Deleted => change.action === 'delete')
  await deleteMonitors(
    run,
    deleted.filter(({ kind }) => kind === 'monitors'),
  )
  for (const change of deleted) if (change.kind !== 'monitors') await makeChange(run, change)
  if (run.met.length > 0) await refuseDifferent(run)
}

/** Two runs at the same time that want the same both succeed. */
async function refuseDifferent({ api, declared, options, met }: Run): Promise<void> {
  const zones = declared.items.some(({ kind }) => kind === 'zones')
  const { changes } = newPlan(declared, await readOrganization(api, { zones }), options)
  if (changes.length === 0) return
  throw new CliError(
    `Somebody else changed this meanwhile:\n${met.join('\n')}\nEverything else is done. Run plan again.`,
  )
}

type Operation = (input: object, request?: { signal: AbortSignal; ifMatch?: string }) => Promise<Value>
const PATHS: Record<Exclude<KindName, 'monitors'>, { parameter: string; name: string }> = {
  groups: { parameter: 'group', name: 'Group' },
  channels: { parameter: 'channel', name: 'Channel' },
  webhooks: { parameter: 'webhook', name: 'Webhook' },
  alert_rules: { parameter: 'rule', name: 'AlertRule' },
  maintenance_windows: { parameter: 'window', name: 'MaintenanceWindow' },
  zones: { parameter: 'zone', name: 'Zone' },
}

async function makeChange(run: Run, change: Change, monitorIds: Plan['monitorIds'] = new Map()): Promise<void> {
  run.signal.throwIfAborted()
  const what = `${KINDS[change.kind].noun} ${change.key}`
  try {
    await sendChange(run, change, monitorIds)
  } catch (error) {
    if (!(error instanceof ZonewatchError)) throw error
    if (error.code !== 409 && error.code !== 412 && error.code !== 404) throw new CliError(`${what}: ${error.message}`)
    run.met.push(`  ${what}: ${error.message}`)
  }
  run.done(1, what)
}

async function sendChange(run: Run, change: Change, monitorIds: Plan['monitorIds']): Promise<void> {
  const { parameter, name } = PATHS[change.kind as keyof typeof PATHS]
  const call = (verb: string, input: object, ifMatch?: string) => {
    const operation = (run.api as unknown as Record<string, Operation>)[`${verb}${name}`]!
    return operation(input, { signal: run.signal, ...(ifMatch !== undefined && { ifMatch }) })
  }
  if (change.action === 'create') {
    const { body, later } = newBody(run, change.wanted, monitorIds)
    const created = await call('create', { body })
    if (change.kind === 'channels') run.channels.set(change.key, String(created.id))
    if (later) await call('update', { [parameter]: created.id, body: later })
    return
  }
  const { existing } = change
  const include = change.kind === 'groups' ? { include: 'external_id,tags,metadata' } : {}
  const read = await call('get', { [parameter]: existing.id, ...include })
  refuseChanged(run, change, read)
  const tag = etagOf(read)
  if (change.action === 'delete') return void (await call('delete', { [parameter]: existing.id }, tag))
  const { body, secret } = changedBody(run, change, monitorIds)
  if (Object.keys(body).length > 0) await call('update', { [parameter]: existing.id, body }, tag)
  if (secret !== undefined)
    await run.api.rotateSecretOfWebhook({ webhook: existing.id, body: { secret } }, { signal: run.signal })
}

/** What is deleted or changed must still be what the plan showed. */
function refuseChanged(run: Run, { kind, key, existing }: Updated | Deleted, read: Value): void {
  if (kind === 'maintenance_windows') return // Its monitors are names in the plan; the tag protects the rest.
  const channels = new Map([...run.channels].map(([name, id]) => [id, name]))
  const names: Names = { groups: run.slugs, channels }
  if (!isSame(KINDS[kind].current(read, names), existing.fields))
    throw new ZonewatchError(`${KINDS[kind].noun} ${key} changed after it was read.`, {
      code: 412,
      errors: {},
      requestId: null,
      retryAfter: null,
    })
}

/** `later`: what POST does not take. */
function newBody(run: Run, wanted: Wanted, monitorIds: Plan['monitorIds']): { body: Fields; later?: Fields } {
  const { kind, fields, item } = wanted
  const { is_active, ...value } = item.value
  const inactive = is_active === false ? { later: { is_active } } : {}
  switch (kind) {
    case 'groups':
      return { body: { name: fields.slug, ...value, metadata: labeled(run, fields) } }
    case 'zones': {
      const { name, ...settings } = value
      return { body: { name }, ...(Object.keys(settings).length > 0 && { later: settings }) }
    }
    case 'alert_rules':
      return { body: withIds(run, { ...value, ...(is_active !== undefined && { is_active }) }, monitorIds) }
    default:
      return {
        body: withIds(
          run,
          kind === 'maintenance_windows' ? { ...value, monitors: fields.monitors } : value,
          monitorIds,
        ),
        ...inactive,
      }
  }
}

/** `secret`: of a webhook, which another request changes. */
function changedBody(
  run: Run,
  { kind, wanted, differences }: Updated,
  monitorIds: Plan['monitorIds'],
): { body: Fields; secret?: string } {
  const { fields, item } = wanted
  const changed = new Set(differences.map(({ field }) => field))
  const body: Fields = {}
  for (const field of changed) {
    if (field === 'secret' || field === 'secrets') continue
    if (field.startsWith('headers.')) {
      body.headers = item.value.headers ?? {}
      continue
    }
    if (field === 'metadata' || field === `metadata.${MANAGED_BY}`) body.metadata = labeled(run, fields)
    else body[field] = fields[field]
  }
  if (kind === 'channels' && (changed.has('settings') || changed.has('secrets'))) body.settings = item.value.settings
  return { body: withIds(run, body, monitorIds), ...(changed.has('secret') && { secret: String(item.value.secret) }) }
}

const labeled = ({ declared }: Run, { metadata }: Fields) => ({ ...(metadata as object), [MANAGED_BY]: declared.label })

/** Channels and monitors by their ids; groups are known by their slugs. */
function withIds({ channels }: Run, body: Fields, monitorIds: Plan['monitorIds']): Fields {
  const idOf = (ids: ReadonlyMap<string, string>, name: unknown) => ids.get(String(name)) ?? String(name)
  const { channels: names, escalation_channel: escalation, monitors } = body
  return {
    ...body,
    ...(Array.isArray(names) && { channels: names.map((name) => idOf(channels, name)) }),
    ...(escalation != null && { escalation_channel: idOf(channels, escalation) }),
    ...(Array.isArray(monitors) && { monitors: monitors.map((name) => idOf(monitorIds, name)) }),
  }
}

/** In bulk by external id where there is one; what many monitors change in the same way is one job; the others one by one. */
async function applyMonitors(run: Run, changes: readonly (Created | Updated)[]): Promise<void> {
  const bulk = changes.filter((change) => change.action === 'create' || hasSameId(change))
  for (let from = 0; from < bulk.length; from += MONITORS_AT_ONCE) {
    run.signal.throwIfAborted()
    const chunk = bulk.slice(from, from + MONITORS_AT_ONCE)
    const body = { on_conflict: 'update', monitors: chunk.map((change) => bulkItem(run, change)) } as NewMonitors
    await run.api.createMonitorsInBulk({ body }, { signal: run.signal }).catch((error) => throwWithNames(error, chunk))
    run.done(chunk.length, 'monitors')
  }
  const others = changes.filter((change): change is Updated => change.action === 'update' && !hasSameId(change))
  const bodies = new Map(others.map((change) => [change, changedMonitor(run, change)]))
  const isAlike = (change: Updated) => change.differences.every(({ field }) => field !== 'external_id')
  for (const alike of Map.groupBy(others, (change) => JSON.stringify([isAlike(change), bodies.get(change)])).values()) {
    const [first] = alike
    if (alike.length > 1 && isAlike(first!))
      await runJobs(run, { action: 'update', change: bodies.get(first!)! }, alike)
    else for (const change of alike) await updateMonitor(run, change, bodies.get(change)!)
  }
}

/** Whether the external id on the server is the one that the files want. */
const hasSameId = ({ existing, wanted }: Updated): boolean =>
  existing.fields.external_id != null &&
  (wanted.fields.external_id === undefined || wanted.fields.external_id === existing.fields.external_id)

function bulkItem(run: Run, change: Created | Updated): Fields {
  const { fields, key } = change.wanted
  const existing = change.action === 'update' ? change.existing.fields.external_id : undefined
  const external_id = fields.external_id ?? existing ?? generatedId(run.declared.label, key)
  const { full_domain, ...parts } = fields
  // A full name would replace the parts.
  const name = parts.domain === undefined ? { full_domain } : {}
  return { ...parts, ...name, external_id, metadata: labeled(run, fields) }
}

function changedMonitor(run: Run, { wanted, differences }: Updated): Fields {
  const { fields } = wanted
  const body: Fields = {}
  for (const { field } of differences) {
    if (field === 'metadata' || field === `metadata.${MANAGED_BY}`) body.metadata = labeled(run, fields)
    else body[field] = fields[field]
  }
  if (body.full_domain !== undefined && fields.domain !== undefined) delete body.full_domain
  return body
}

async function updateMonitor(run: Run, change: Updated, body: Fields): Promise<void> {
  run.signal.throwIfAborted()
  const { existing, key, wanted } = change
  const include = 'frequency,resolution,group,external_id,tags,metadata'
  try {
    const read = await run.api.getMonitor({ monitor: existing.id, include } as never, { signal: run.signal })
    refuseChanged(run, change, read as unknown as Value)
    // With an id, the next change of it is one of many in a request.
    const external_id = wanted.fields.external_id ?? generatedId(run.declared.label, key)
    const isNew = existing.fields.external_id == null || isGenerated(existing.fields.external_id)
    const ifMatch = etagOf(read)!
    await run.api.updateMonitor(
      { monitor: existing.id, body: { ...body, ...(isNew && { external_id }) } },
      { signal: run.signal, ifMatch },
    )
  } catch (error) {
    if (!(error instanceof ZonewatchError)) throw error
    if (![404, 409, 412].includes(error.code)) throw new CliError(`monitor ${key}: ${error.message}`)
    run.met.push(`  monitor ${key}: ${error.message}`)
  }
  run.done(1, `monitor ${key}`)
}

const deleteMonitors = (run: Run, changes: readonly Deleted[]): Promise<void> =>
  runJobs(run, { action: 'delete' }, changes)

async function runJobs(run: Run, action: object, changes: readonly (Updated | Deleted)[]): Promise<void> {
  for (let from = 0; from < changes.length; from += MAX_DELETED_AT_ONCE) {
    run.signal.throwIfAborted()
    const chunk = changes.slice(from, from + MAX_DELETED_AT_ONCE)
    const monitors = chunk.map(({ existing }) => existing.id)
    const job = await run.api.createJob({ body: { ...action, monitors } as never }, { signal: run.signal })
    const { state, failed } = await run.api.waitForJob(job.id, { timeoutSeconds: 3_600, signal: run.signal })
    if (state !== 'finished') throw new CliError(`The job ${job.id} is ${state}. GET /jobs/${job.id}/results says why.`)
    if (failed > 0) run.met.push(`  ${failed} monitors of job ${job.id}`)
    run.done(chunk.length, 'monitors')
  }
}

/** `monitors.17.expected_value` becomes the name of the monitor. */
function throwWithNames(error: unknown, chunk: readonly Change[]): never {
  if (!(error instanceof ZonewatchError)) throw error
  const lines = Object.entries(error.errors).map(([path, text]) => {
    const [, index, field] = /^monitors\.([0-9]{1,4})\.?(.*)$/.exec(path) ?? []
    return index === undefined ? `${path} ${text}` : `monitor ${chunk[Number(index)]?.key}: ${field} ${text}`
  })
  throw new CliError(lines.length === 0 ? error.message : lines.slice(0, 50).join('\n'))
}
