import type { PlannedChange } from '#contract/planned-changes.ts'
import { visible } from '#contract/visible-text.ts'
import { systemClock } from '../clock.ts'
import { operatorContext, type RequestContext } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { monitorLabel } from '../monitors/monitor.ts'
import { deleteChange, getChange, insertChange, listChanges } from '../planned-changes/store.ts'
import {
  getMonitorId,
  getOrganizationBySlug,
  notFoundAs,
  parseRecord,
  print,
  printJson,
  throwProblemText,
  timeText,
} from './arguments.ts'
import { withDatabase } from './prepare-database.ts'
import { table } from './table.ts'

type ChangeOptions = { organization?: string; json?: boolean }

/** `from` and `to`: times as in the API. */
export async function planChange(
  name: string,
  type: string,
  values: string[],
  { organization, json, from, to }: ChangeOptions & { from?: string; to: string },
): Promise<void> {
  await withDatabase(async (db) => {
    const context = await contextOf(db, organization)
    const input = {
      monitor_id: await getMonitorId(
        db,
        context,
        parseRecord(name, type),
        'Plan the change with POST /planned-changes.',
      ),
      new_value: values,
      to,
      ...(from === undefined ? {} : { from }),
    }
    const id = await insertChange(db, context, input).catch(throwProblemText)
    const change = await getChange(db, context, id)
    if (json) return printJson(change)
    print(`${id} is planned from ${timeText(change.from)} to ${timeText(change.to)}.`)
    print(`Watch it with: zonewatch planned-changes show ${id}`)
  })
}

/** Prints the open planned changes. */
export async function printChanges({ organization, json }: ChangeOptions): Promise<void> {
  await withDatabase(async (db, _config, keyring) => {
    const context = await contextOf(db, organization)
    const { data } = await listChanges(db, keyring, context, { is_open: true, limit: 100 })
    if (json) return printJson(data)
    if (data.length === 0)
      return print('No planned changes are open. Create one with: zonewatch planned-changes create')
    const names = await namesOf(db, context, data)
    const rows = data.map((change) => [
      change.id,
      names.get(change.monitor_id) ?? change.monitor_id,
      change.state,
      timeText(change.from),
      timeText(change.to),
      progressText(change),
    ])
    print(table(['ID', 'MONITOR', 'STATE', 'FROM (UTC)', 'TO (UTC)', 'NEW VALUES'], rows))
  })
}

/** Prints which servers have the new values, and when the old ones expire in the last cache. */
export async function printChange(id: string, { organization, json }: ChangeOptions): Promise<void> {
  await withDatabase(async (db) => {
    const context = await contextOf(db, organization)
    const change = await getChange(db, context, id).catch(unknownChange(id))
    if (json) return printJson(change)
    const names = await namesOf(db, context, [change])
    print(`${change.state}  ${names.get(change.monitor_id) ?? change.monitor_id}`)
    print(`Old values: ${visible(change.old_value.join(', '))}`)
    print(`New values: ${visible(change.new_value.join(', '))}`)
    print(`Period (UTC): ${timeText(change.from)} to ${timeText(change.to)}`)
    const { progress } = change
    if (progress === null) return print('No check has been made in the period.')
    print(`Last check (UTC): ${timeText(progress.checked)}`)
    if (progress.caches_until !== null)
      print(`The old values expire in the last cache at (UTC): ${timeText(progress.caches_until)}`)
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

export async function cancelChange(id: string, { organization }: ChangeOptions): Promise<void> {
  await withDatabase(async (db) => {
    const context = await contextOf(db, organization)
    const { old_value, closed } = await getChange(db, context, id).catch(unknownChange(id))
    await deleteChange(db, context, id).catch(unknownChange(id))
    print(`${id} is deleted.${closed === null ? ` The monitor expects ${visible(old_value.join(', '))} again.` : ''}`)
  })
}

const contextOf = async (db: Database, organization: string | undefined): Promise<RequestContext> =>
  operatorContext((await getOrganizationBySlug(db, organization)).id, systemClock.now())

const unknownChange = (id: string) =>
  notFoundAs(`No planned change has the id ${id}. List them with: zonewatch planned-changes list`)

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

function progressText({ progress }: PlannedChange): string {
  if (progress === null) return '-'
  const updated = progress.servers.filter(({ answer }) => answer === 'new').length
  return `${updated} of ${progress.servers.length} servers`
}
