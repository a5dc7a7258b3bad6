import type { PlannedChange } from '#contract/planned-changes.ts'
import { CliError } from '../cli-error.ts'
import { systemClock } from '../clock.ts'
import { operatorContext, type RequestContext } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { monitorLabel } from '../monitors/monitor.ts'
import { deleteChange, getChange, insertChange, listChanges } from '../planned-changes/store.ts'
import { organizationNamed, print, recordNamed, refused, unknown } from './named.ts'
import { withDatabase } from './open.ts'
import { table } from './table.ts'

type Choice = { organization?: string; json?: boolean }

/** `to` and `from`: times as in the API. */
export async function planChange(
  name: string,
  type: string,
  values: string[],
  { organization, json, from, to }: Choice & { from?: string; to: string },
): Promise<void> {
  await withDatabase(async (db) => {
    const context = await contextOf(db, organization)
    const given = { monitor_id: await monitorNamed(db, context, name, type), new_value: values, to }
    const id = await insertChange(db, context, from === undefined ? given : { ...given, from }).catch(refused)
    const change = await getChange(db, context, id)
    if (json) return print(JSON.stringify(change))
    print(`${id} is planned from ${shownTime(change.from)} to ${shownTime(change.to)}.`)
    print(`Watch it with: zonewatch planned-changes show ${id}`)
  })
}

/** Those that are open. */
export async function printChanges({ organization, json }: Choice): Promise<void> {
  await withDatabase(async (db, _config, seal) => {
    const context = await contextOf(db, organization)
    const { data } = await listChanges(db, seal, context, { is_open: true, limit: 100 })
    if (json) return print(JSON.stringify(data))
    if (data.length === 0)
      return print('No planned changes are open. Create one with: zonewatch planned-changes create')
    const names = await namesOf(db, context, data)
    const rows = data.map((change) => [
      change.id,
      names.get(change.monitor_id) ?? change.monitor_id,
      change.state,
      shownTime(change.from),
      shownTime(change.to),
      arrivedOf(change),
    ])
    print(table(['ID', 'MONITOR', 'STATE', 'FROM (UTC)', 'TO (UTC)', 'NEW VALUES'], rows))
  })
}

/** Which servers have the new values, and when the old ones expire in the last cache. */
export async function printChange(id: string, { organization, json }: Choice): Promise<void> {
  await withDatabase(async (db) => {
    const context = await contextOf(db, organization)
    const change = await getChange(db, context, id).catch(isUnknown(id))
    if (json) return print(JSON.stringify(change))
    const names = await namesOf(db, context, [change])
    print(`${change.state}  ${names.get(change.monitor_id) ?? change.monitor_id}`)
    print(`Old values: ${change.old_value.join(', ')}`)
    print(`New values: ${change.new_value.join(', ')}`)
    print(`Period (UTC): ${shownTime(change.from)} to ${shownTime(change.to)}`)
    const { progress } = change
    if (progress === null) return print('No check has been made in the period.')
    print(`Last check (UTC): ${shownTime(progress.checked)}`)
    if (progress.caches_until !== null)
      print(`The old values expire in the last cache at (UTC): ${shownTime(progress.caches_until)}`)
    const rows = progress.servers.map(({ kind, server, answer, values, ttl }) => [
      kind === 'name_server' ? 'name server' : 'resolver',
      server,
      answer,
      ttl === null ? '-' : `${ttl} s`,
      values.join(', ') || '-',
    ])
    print(`\n${table(['KIND', 'SERVER', 'VALUES', 'TTL', 'ANSWER'], rows)}`)
  })
}

export async function cancelChange(id: string, { organization }: Choice): Promise<void> {
  await withDatabase(async (db) => {
    const context = await contextOf(db, organization)
    const { old_value, closed } = await getChange(db, context, id).catch(isUnknown(id))
    await deleteChange(db, context, id).catch(isUnknown(id))
    const expects = closed === null ? ` The monitor expects ${old_value.join(', ')} again.` : ''
    print(`${id} is deleted.${expects}`)
  })
}

const contextOf = async (db: Database, organization: string | undefined): Promise<RequestContext> =>
  operatorContext((await organizationNamed(db, organization)).id, systemClock.now())

const isUnknown = (id: string) =>
  unknown(`No planned change has the id ${id}. List them with: zonewatch planned-changes list`)

async function monitorNamed(db: Database, { organizationId }: RequestContext, name: string, type: string) {
  const { owner, recordType } = recordNamed(name, type)
  const found = await db
    .selectFrom('monitors')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('owner', '=', owner)
    .where('record_type', '=', recordType)
    .limit(2)
    .execute()
  if (found.length === 0) throw new CliError(`No monitor checks ${owner} ${recordType}.`)
  if (found.length > 1)
    throw new CliError(`Several monitors check ${owner} ${recordType}. Plan the change with POST /planned-changes.`)
  return found[0]!.id
}

async function namesOf(db: Database, { organizationId }: RequestContext, changes: readonly PlannedChange[]) {
  const ids = changes.map(({ monitor_id }) => monitor_id)
  const rows = await db
    .selectFrom('monitors')
    .select(['id', 'owner', 'record_type'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'id', ids))
    .execute()
  return new Map(rows.map((row) => [row.id, monitorLabel(row)]))
}

function arrivedOf({ progress }: PlannedChange): string {
  if (progress === null) return '-'
  const arrived = progress.servers.filter(({ answer }) => answer === 'new').length
  return `${arrived} of ${progress.servers.length} servers`
}

const shownTime = (iso: string): string => iso.slice(0, 16).replace('T', ' ')
