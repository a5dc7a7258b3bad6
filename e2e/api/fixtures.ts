import { insertAgent } from '#server/accounts/memberships.ts'
import { ensureUser } from '#server/accounts/users.ts'
import { newId } from '#server/ids.ts'
import { insertCanceledJob } from '#server/testing/jobs.ts'
import type { TestApp } from '#server/testing/test-app.ts'
import { startWaits } from '#server/waits/waits.ts'
import type { Operation } from './openapi-document.ts'

/** The id of one object of each kind, by the name of its path parameter. */
export type Fixtures = { organization: string; key: string; ids: Record<string, string> }

/** An organization with one object of each kind. All their texts contain the name in lower case, so that leaks are found. */
export async function givenFixtures(world: TestApp, name: string): Promise<Fixtures> {
  const { id: organization, key } = await world.organization(name)
  const mark = name.toLowerCase()
  const create = async (path: string, body: unknown) => {
    const response = await world.call(path, { method: 'POST', key, body })
    if (response.status >= 300) throw new Error(`POST ${path} answered ${response.status} ${response.text}`)
    return response.body.id as string
  }
  const webhook = await create('/webhooks', { url: `https://${mark}.example.com/hook`, headers: { 'X-Mark': mark } })
  const group = await create('/groups', { name: `${mark} group`, webhooks: [webhook] })
  const monitor = await create('/monitors', {
    full_domain: `www.${mark}.example.com`,
    record_type: 'TXT',
    expected_value: [mark],
    group,
    external_id: `${mark}-external`,
    tags: [mark],
    metadata: { mark },
  })
  const external_id = `${mark}-external`
  const request = await create(`/webhooks/${webhook}/test`, undefined)
  const invitation = await create('/agents/invitations', { email: `guest@${mark}.example.com` })
  const channel = await create('/channels', {
    name: mark,
    type: 'http',
    settings: { endpoint: `https://${mark}.example.com/alerts` },
  })
  const rule = await create('/alert-rules', {
    name: mark,
    channels: [await defaultChannel(world, key)],
    name_pattern: `*.${mark}.example.com`,
  })
  const setup_page = await insertPage(world, { organization, monitor, mark })
  const window = await create('/maintenance-windows', {
    name: mark,
    monitors: [monitor],
    ...{ from: '2030-01-01T02:00:00Z', to: '2030-01-01T04:00:00Z' },
  })
  const otherMonitor = { full_domain: `moved.${mark}.example.com`, record_type: 'TXT', expected_value: [mark] }
  const change = await create('/planned-changes', {
    monitor_id: await create('/monitors', otherMonitor),
    new_value: `${mark} later`,
    ...{ from: '2030-01-01T02:00:00Z', to: '2030-01-01T04:00:00Z' },
  })
  const view = await create('/views', {
    name: mark,
    filter: { state: 'MISMATCH', record_type: 'MX' },
    columns: ['name'],
  })
  const zone = await create('/zones', { name: `zone.${mark}.example.com` })
  const apiKey = await create('/api-keys', { name: mark, role: 'read' })
  const { incident, alert } = await insertIncident(world, { organization, channel, rule, mark })
  const event = await insertEvent(world, { organization, monitor, group, mark })
  const job = await insertCanceledJob(world, organization, `${mark}.example.com`)
  const agent = await insertMember(world, organization, mark)
  return {
    organization,
    key,
    ids: {
      webhook,
      group,
      monitor,
      request,
      invitation,
      event,
      agent,
      channel,
      rule,
      incident,
      alert,
      job,
      setup_page,
      external_id,
      window,
      change,
      view,
      zone,
      key: apiKey,
      name,
      ids: monitor,
    },
  }
}

/** The path of the operation with these ids. Throws if an id is missing. */
export function pathOf({ id, path, parameters }: Operation, ids: Record<string, string>): string {
  const exampleOf = (name: string) => {
    const value = ids[name]
    if (value === undefined) throw new Error(`no example for the parameter ${name} of operation ${id}`)
    return value
  }
  const required = parameters.filter((each) => each.in === 'query' && each.required)
  const query = required.map(({ name }) => `${name}=${encodeURIComponent(exampleOf(name))}`).join('&')
  return path.replace(/\{(\w+)\}/g, (_, name: string) => exampleOf(name)) + (query === '' ? '' : `?${query}`)
}

/** The documented example body, with the ids of the fixtures instead of the documented ones. */
export function bodyOf({ id, body }: Operation, ids: Record<string, string>): unknown {
  if (!body) return undefined
  if (body.example === undefined) throw new Error(`no example for operation ${id}`)
  const byPrefix: Record<string, string> = Object.fromEntries(
    Object.values(ids).map((value) => [value.slice(0, 4), value]),
  )
  const replaced = (value: unknown): unknown => {
    if (typeof value === 'string')
      return (/^[a-z]{3}_[0-9a-z]{26}$/.test(value) && byPrefix[value.slice(0, 4)]) || value
    if (Array.isArray(value)) return value.map(replaced)
    if (value === null || typeof value !== 'object') return value
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, replaced(each)]))
  }
  return replaced(body.example)
}

type EventKeys = { organization: string; monitor: string; group: string; mark: string }

async function insertEvent({ deps: { db, clock } }: TestApp, { organization, monitor, group, mark }: EventKeys) {
  const id = newId('evt', clock.now())
  await db
    .insertInto('events')
    .values({
      id,
      organization_id: organization,
      monitor_id: monitor,
      group_id: group,
      occurred_at: clock.now(),
      old_state: 'VALID',
      new_state: 'MISMATCH',
      previous_values: JSON.stringify([mark]),
      current_values: '[]',
      incidence_count: 1,
      domain: `${mark}.example.com`,
      subdomain: 'www',
      record_type: 'TXT',
      expected_values: JSON.stringify([mark]),
      is_exact_match: 1,
      diagnosis: null,
    })
    .execute()
  return id
}

async function insertPage(
  { deps: { db, keyring, clock } }: TestApp,
  { organization, monitor, mark }: Omit<EventKeys, 'group'>,
): Promise<string> {
  await startWaits(db, { keyring, maxWaiting: 1_000 }, { organizationId: organization, now: clock.now() }, [
    { monitorId: monitor, key: mark },
  ])
  const pages = db.selectFrom('setup_pages').select('id').where('organization_id', '=', organization)
  return (await pages.executeTakeFirstOrThrow()).id
}

async function defaultChannel(world: TestApp, key: string): Promise<string> {
  return (await world.call('/channels', { key })).body.data[0].id
}

type IncidentKeys = { organization: string; channel: string; rule: string; mark: string }

async function insertIncident({ deps: { db, clock } }: TestApp, { organization, channel, rule, mark }: IncidentKeys) {
  const now = clock.now()
  const incident = newId('inc', now)
  const alert = newId('alr', now)
  await db
    .insertInto('incidents')
    .values({
      ...{ organization_id: organization, id: incident, cause: mark, zone: `${mark}.example.com`, state: 'MISMATCH' },
      ...{ opened_at: now, monitors: 1, failing: 1, note: mark },
    })
    .execute()
  await db
    .insertInto('alerts')
    .values({
      ...{ organization_id: organization, id: alert, created_at: now, kind: 'failing' as const, incident_id: incident },
      ...{
        rule_id: rule,
        channel_id: channel,
        status: 'SENT' as const,
        attempts: 1,
        last_attempt_at: now,
        title: mark,
      },
    })
    .execute()
  return { incident, alert }
}

async function insertMember({ deps: { db, clock } }: TestApp, organization: string, mark: string): Promise<string> {
  const user = await ensureUser(db, { email: `member@${mark}.example.com`, name: mark }, clock.now())
  const id = await insertAgent(db, organization, { user, role: 'member' }, clock.now())
  if (id === undefined) throw new Error('The member exists already.')
  return id
}
