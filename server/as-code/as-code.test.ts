import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { givenApp, type TestApp } from '../testing/test-app.ts'
import { type Api, connect } from './api.ts'
import { applyPlan } from './apply.ts'
import type { Declared } from './declared.ts'
import { readOrganization } from './organization.ts'
import { newPlan, type PlanOptions } from './plan.ts'
import { planText } from './plan-text.ts'
import { readFiles } from './read-files.ts'
import type { Environment } from './secrets.ts'
import { filesOf, writeFiles } from './write-files.ts'

const SECRET_URL = 'http://127.0.0.1:19009/a-secret-that-nobody-may-see'
/** Every variable is set. */
const SECRETS: Environment = new Proxy({}, { get: () => SECRET_URL })

test('what is exported, applied to an empty organization and exported again is equal, and a plan finds no changes', async () => {
  const world = await givenApp('sqlite')
  let number = 0
  await fc.assert(
    fc.asyncProperty(organizations, async (content) => {
      const [one, other] = await Promise.all([givenApi(world, `A${number}`), givenApi(world, `B${number++}`)])
      await apply(one, givenFiles(content))
      const first = await pulled(one)
      expect(await planned(one, first.folder)).toBe('No changes.')
      await apply(other, first.folder)
      const second = await pulled(other)
      expect(second.files).toEqual(first.files)
      expect(await planned(other, first.folder)).toBe('No changes.')
      const { monitors, alert_rules, webhooks } = await readOrganization(one)
      const counts = [monitors.length, alert_rules.length - 1, webhooks.length]
      expect(counts).toEqual([content.monitors.length, content.alert_rules.length, content.webhooks.length])
    }),
    { numRuns: 6 },
  )
})

test('runs at the same time that want the same all succeed, and create everything once', async () => {
  const world = await givenApp('sqlite')
  const api = await givenApi(world)
  const folder = givenFiles({
    groups: [{ slug: 'shop' }],
    monitors: [0, 1, 2].map((index) => ({ ...MONITOR, full_domain: `w${index}.example.com`, group: 'shop' })),
  })
  await Promise.all([0, 1].map(() => apply(api, folder)))
  expect((await world.call('/monitors')).body.data).toHaveLength(3)
  expect(await planned(api, folder)).toBe('No changes.')
})

test('what somebody else changes after the plan was shown is not overwritten', async () => {
  const world = await givenApp('sqlite')
  const api = await givenApi(world)
  const group = (name: string) => ({ groups: [{ slug: 'shop', name }], monitors: [{ ...MONITOR, group: 'shop' }] })
  await apply(api, givenFiles(group('Shop')))
  const changed = await compare(api, givenFiles(group('The shop')))
  await world.call('/groups/shop', { method: 'PATCH', body: { name: 'Mine' } })
  await expect(run(api, changed)).rejects.toThrow('Somebody else changed this meanwhile:\n  group shop')
  expect((await world.call('/groups/shop')).body.name).toBe('Mine')
})

test('what exists is adopted by external id, else by name and type, and keeps what the files do not mention', async () => {
  const world = await givenApp('sqlite')
  const api = await givenApi(world)
  const create = async (body: object) => (await world.call('/monitors', { method: 'POST', body })).body.id
  const byId = await create({ ...MONITOR, full_domain: 'old.example.com', external_id: 'shop', frequency: 60 })
  const byName = await create({ ...MONITOR, expected_value: '192.0.2.9', notify: 'on_success' })
  const another = await create({ ...MONITOR, full_domain: 'other.example.com' })
  const monitors = [
    { ...MONITOR, full_domain: 'new.example.com', external_id: 'shop' },
    { ...MONITOR, tags: ['prod'] },
  ]
  await apply(api, givenFiles({ monitors }))
  const read = async (id: string) =>
    (await world.call(`/monitors/${id}?include=frequency,external_id,tags,metadata`)).body
  expect(await read(byId)).toMatchObject({
    subdomain: 'new',
    frequency: 60,
    metadata: { 'managed-by': 'monitors-as-code' },
  })
  expect(await read(byName)).toMatchObject({ expected_value: ['192.0.2.1'], notify: 'immediately', tags: ['prod'] })
  expect((await world.call('/monitors')).body.data).toHaveLength(3)
  // What the files never had is not theirs to delete.
  const { plan } = await compare(api, givenFiles({ monitors: monitors.slice(1) }))
  expect(plan.changes).toMatchObject([{ action: 'delete', existing: { id: byId } }])
  expect(plan.kept.map(({ id }) => id)).toContain(another)
})

test('the files of another repository are not changed', async () => {
  const api = await givenApi(await givenApp('sqlite'))
  await apply(api, givenFiles({ managed_by: 'one', monitors: [MONITOR] }))
  const { plan } = await compare(
    api,
    givenFiles({ managed_by: 'two', monitors: [{ ...MONITOR, notify: 'on_success' }] }),
  )
  expect(plan.conflicts).toEqual(['monitor www.example.com A belongs to the files with managed_by: one.'])
  expect((await compare(api, givenFiles({ managed_by: 'two', groups: [] }))).plan.changes).toEqual([])
})

test('channels, webhooks, rules and windows are deleted only if the files say that they have all of them', async () => {
  const api = await givenApi(await givenApp('sqlite'))
  const channels = [{ name: 'Chat', type: 'slack', settings: { webhook_url: variable('CHAT') } }]
  await apply(api, givenFiles({ channels, webhooks: [{ url: SECRET_URL }] }))
  const { plan } = await compare(api, givenFiles({ owns: ['webhooks'] }))
  expect(plan.changes).toMatchObject([{ action: 'delete', kind: 'webhooks' }])
})

test.each([
  ['groups:\n  - slug: shop\n    nmae: Shop\n', 'x.yaml:3:5: nmae is unknown. Did you mean name?'],
  ['monitor:\n  - {}\n', 'x.yaml:1:1: monitor is unknown. Did you mean monitors?'],
  ['groups:\n- slug: a\n  slug: b\n', 'x.yaml:3:3: The key slug is repeated.'],
  ['groups: [', 'x.yaml:1:10: Flow sequence in block collection must be'],
  [
    monitorYaml('expected_value: 1.10'),
    'x.yaml:4:5: expected_value must be a list or text, not 1.1. Write it in quotation marks.',
  ],
  [monitorYaml('expected_value: 192.0.2.256'), 'x.yaml:4:5: expected_value'],
  [monitorYaml('expected_value: [192.0.2.1, x]'), 'x.yaml:4:33: expected_value.1'],
  [monitorYaml('expected_value: 192.0.2.1\n    group: shpo'), 'There is no group shpo in the files. Add it to groups.'],
  [monitorYaml('expected_value: 192.0.2.1\n    metadata: {managed-by: me}'), 'metadata.managed-by is set by apply.'],
  ['webhooks:\n- url: http://a.example\n  secret: hunter2hunter2hunter2\n', 'x.yaml:3:3: secret is a secret. Put it'],
  [`x: ${'['.repeat(10_000)}`, 'nested too deeply'],
  [
    `${'abcdefgh'
      .split('')
      .map((name, index) => `${name}: &${name} [${index === 0 ? 'x' : Array(9).fill(`*${'abcdefgh'[index - 1]}`)}]`)
      .join('\n')}`,
    'The aliases of the file repeat too much',
  ],
])('a wrong file is refused with the place and what to do: %#', (text, message) => {
  const folder = givenFolder()
  writeFileSync(join(folder, 'x.yaml'), text)
  const read = () => readFiles([folder], {})
  expect(read).toThrow(message)
  expect(read).not.toThrow('hunter2')
})

test('a variable that is not set is named, and compares as equal', async () => {
  const api = await givenApi(await givenApp('sqlite'))
  const headers = { 'X-Team': 'infra', Authorization: variable('TOKEN') }
  const folder = givenFiles({ webhooks: [{ url: SECRET_URL, secret: variable('HOOK'), headers }] })
  await apply(api, folder, { HOOK: 'a secret of 16 characters', TOKEN: 'Bearer 0123456789' })
  const { plan, declared } = await compare(api, folder, {})
  expect([plan.changes, declared.missing]).toEqual([[], ['HOOK', 'TOKEN']])
  const text = await planned(api, folder, { HOOK: 'another secret of 16', TOKEN: 'Bearer 9876543210' })
  expect(text).toContain('~ webhook http://127.0.0.1:19009/')
  expect(text).toContain('    headers.authorization: changed\n    secret: changed\n')
  expect(text).not.toMatch(/of 16|3210/)
})

const variable = (name: string) => `\${${name}}`
const MONITOR = { full_domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1' }

function monitorYaml(line: string): string {
  return `monitors:\n  - full_domain: www.example.com\n    record_type: A\n    ${line}\n`
}

function givenFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'zonewatch-as-code-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

/** JSON is YAML. */
function givenFiles(content: object): string {
  const folder = givenFolder()
  writeFileSync(join(folder, 'zonewatch.yaml'), JSON.stringify(content))
  return folder
}

/** A client of an organization, without a port. */
async function givenApi(world: TestApp, name?: string): Promise<Api> {
  const { key } = await world.organization(name)
  const inject = (async (input: URL, init: RequestInit) => {
    const headers = Object.fromEntries(new Headers(init.headers))
    const { pathname, search } = new URL(input)
    const payload = init.body === undefined ? {} : { payload: String(init.body) }
    const response = await world.app.inject({
      method: init.method as 'GET',
      url: pathname + search,
      headers,
      ...payload,
    })
    const sent = new Headers(Object.entries(response.headers).map(([header, value]) => [header, String(value)]))
    const hasNoBody = [204, 304].includes(response.statusCode)
    return new Response(hasNoBody ? null : response.body, { status: response.statusCode, headers: sent })
  }) as typeof fetch
  return connect({ ZONEWATCH_URL: 'http://127.0.0.1', ZONEWATCH_KEY: key }, () => {}, inject)
}

const options = (): PlanOptions => ({ now: Date.now() })

async function compare(api: Api, folder: string, environment: Environment = SECRETS) {
  const declared: Declared = readFiles([folder], environment)
  const organization = await readOrganization(api)
  return { declared, organization, plan: newPlan(declared, organization, options()) }
}

async function run(api: Api, compared: Awaited<ReturnType<typeof compare>>): Promise<void> {
  expect(compared.plan.conflicts).toEqual([])
  await applyPlan(api, { ...compared, options: options() }, () => {}, new AbortController().signal)
}

async function apply(api: Api, folder: string, environment: Environment = SECRETS): Promise<void> {
  await run(api, await compare(api, folder, environment))
}

async function planned(api: Api, folder: string, environment?: Environment): Promise<string> {
  const { plan } = await compare(api, folder, environment)
  expect(plan.conflicts).toEqual([])
  return planText(plan)
}

async function pulled(api: Api) {
  const folder = givenFolder()
  const files = filesOf(await readOrganization(api))
  writeFiles(folder, files, false)
  return { folder, files: Object.fromEntries(files) }
}

const slugs = fc.constantFrom('shop', 'blog', 'mail-2')
const names = fc.constantFrom('Operations', 'On call', 'Chat #2', 'Ünïcode: "x" # {y}', '1.10', 'yes')
const tags = fc.uniqueArray(fc.constantFrom('prod', 'eu', '007', 'null'), { maxLength: 3 })
const metadata = fc.dictionary(fc.constantFrom('team', 'a.b', '1'), fc.constantFrom('x', '', '0x10', '~', 'a: b # c'))
const optional = { requiredKeys: [] as never[] }
const VALUES = {
  A: ['192.0.2.1', '192.0.2.2'],
  MX: ['10 mail.example.com', '20 b.example.com.'],
  TXT: ['v=spf1 -all', 'a "quoted" \\ text', '1e3'],
  CNAME: ['Target.Example.NET'],
}
const monitors = fc
  .constantFrom(...(Object.keys(VALUES) as (keyof typeof VALUES)[]))
  .chain((record_type) =>
    fc.tuple(
      fc.constantFrom<object>(
        { full_domain: 'www.example.com' },
        { full_domain: 'Example.com.' },
        { domain: 'a.b.example.net' },
        { domain: 'bücher.example', subdomain: 'x' },
      ),
      fc.subarray(VALUES[record_type], { minLength: 1 }).map((expected_value) => ({ record_type, expected_value })),
      fc.record(
        {
          is_exact_match: fc.boolean(),
          is_active: fc.boolean(),
          notify: fc.constantFrom('immediately', 'on_success'),
          frequency: fc.constantFrom(5, 60),
          resolution: fc.constantFrom('auto', 'public'),
          group: slugs,
          tags,
          metadata,
        },
        optional,
      ),
    ),
  )
  .map((parts) => Object.assign({}, ...parts))

const organizations = fc
  .record({
    groups: fc.tuple(
      ...['shop', 'blog', 'mail-2'].map((slug) =>
        fc.record({ slug: fc.constant(slug), name: names, tags, metadata }, { requiredKeys: ['slug'] }),
      ),
    ),
    channels: fc.array(
      fc.record({
        name: names,
        type: fc.constant('slack'),
        settings: fc.constant({ webhook_url: variable('CHAT') }),
        is_active: fc.boolean(),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    webhooks: fc.array(
      fc.record(
        {
          url: fc.constantFrom('http://127.0.0.1:19009/a', 'http://127.0.0.1:19009/b'),
          headers: fc.constantFrom({}, { 'X-Team': variable('TEAM') }),
          groups: fc.uniqueArray(slugs),
          payload_includes: fc.constantFrom([], ['tags', 'group']),
          all_groups: fc.boolean(),
          zone_events: fc.boolean(),
          batch: fc.constantFrom(null, { max_events: 10 }),
          is_active: fc.boolean(),
        },
        { requiredKeys: ['url'] },
      ),
      { maxLength: 3 },
    ),
    rules: fc.array(
      fc.record(
        {
          name: names,
          groups: fc.uniqueArray(slugs, { minLength: 1 }),
          delay: fc.nat(60),
          tags: fc.constantFrom(null, ['prod']),
          name_pattern: fc.constantFrom(null, '*.Example.com.'),
          is_active: fc.boolean(),
          quiet_hours: fc.constantFrom(null, { from: '22:00', until: '07:00' }),
          timezone: fc.constantFrom('UTC', 'europe/berlin'),
          zone_levels: fc.constantFrom([], ['critical']),
        },
        { requiredKeys: ['name'] },
      ),
      { maxLength: 3 },
    ),
    ids: fc.boolean(),
    monitors: fc.array(monitors, { maxLength: 8 }),
    windows: fc.array(
      fc.record({
        name: names,
        groups: fc.constantFrom(null, ['shop']),
        rrule: fc.constantFrom(null, 'FREQ=WEEKLY;BYDAY=SU'),
      }),
      { maxLength: 2 },
    ),
    zones: fc.constantFrom<object[]>(
      [],
      [
        {
          name: 'Example.com',
          expected_name_servers: ['NS1.example.net.'],
          ignored: [{ code: 'single_network', reason: 'on purpose' }],
        },
      ],
    ),
  })
  .map(({ rules, windows, ids, ...others }) => ({
    ...others,
    monitors: others.monitors.map((monitor, index) => ({ ...monitor, ...(ids && { external_id: `m/${index}` }) })),
    alert_rules: rules.map((rule) => ({ ...rule, channels: [others.channels[0]!.name] })),
    maintenance_windows: windows.map((window, index) => ({
      ...window,
      ...{ from: '2030-01-06T01:00:00+01:00', to: '2030-01-06T03:00:00+01:00' },
      ...(ids && others.monitors.length > index && { monitors: [`m/${index}`] }),
    })),
  }))
