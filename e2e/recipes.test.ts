import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { migratedDatabaseUrl } from '../server/testing/database.ts'
import { PROJECT, run, type Settings, startServer } from '../server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY } from '../server/testing/test-server.ts'

/** What the test changes is copied, the rest linked. */
const COPIED = ['contract', 'server', 'scripts', 'package.json']

/** A copy of the project whose sources a test may change. Deleted afterwards. */
function givenCopy() {
  const folder = mkdtempSync(join(tmpdir(), 'zonewatch-recipe-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const name of readdirSync(PROJECT)) {
    if (name.startsWith('.git')) continue
    if (COPIED.includes(name)) cpSync(join(PROJECT, name), join(folder, name), { recursive: true })
    else if (name === 'docs') {
      const isText = (source: string) => !source.endsWith('screenshots')
      cpSync(join(PROJECT, name), join(folder, name), { recursive: true, filter: isText })
    } else symlinkSync(join(PROJECT, name), join(folder, name))
  }
  return {
    folder,
    edit(file: string, before: string, after: string): void {
      const path = join(folder, file)
      const text = readFileSync(path, 'utf8')
      if (text.split(before).length !== 2) throw new Error(`${file} has not exactly one ${before}`)
      writeFileSync(
        path,
        text.replace(before, () => after),
      )
    },
  }
}

const ORDERS = ['created', 'name', 'domain', 'subdomain', 'record_type', 'state', 'incidence_count']

test.each(['sqlite', 'postgres'] as const)(
  'docs/recipes/add-a-list-filter.md on %s: steps 1 and 2 add a filter that works in every order',
  async (engine) => {
    const { folder, edit } = givenCopy()
    // Step 1: the parameter.
    const list = 'contract/monitor-list.ts'
    edit(list, 'import { Include, STATES }', 'import { Include, NOTIFY, STATES }')
    const parameter = "notify: Type.Optional(Type.Enum(NOTIFY, { description: 'Only monitors that notify then.' })),"
    edit(list, 'export const monitorFilters = {', `export const monitorFilters = {\n  ${parameter}`)
    // Step 2: an entry of Equalities. The column has no index.
    const filter = 'server/monitors/filter.ts'
    edit(filter, "| 'external_id',", "| 'external_id' | 'notify',")
    edit(filter, 'search, value, ...names } = query', 'search, value, notify, ...names } = query')
    edit(filter, '  const words = search', '  if (notify !== undefined) equals.notify = notify\n  const words = search')

    const { url: databaseUrl, drop } = await migratedDatabaseUrl(engine)
    onTestFinished(drop)
    const settings = {
      DATABASE_URL: databaseUrl,
      DATA_DIR: join(folder, 'data'),
      WORKERS: '0',
      ROLES: 'api',
      SECRET: 's'.repeat(32),
    }
    const server = await startServer({ ...ADMIN, ...settings }, { cwd: folder })
    onTestFinished(() => server.kill())
    const call = async (path: string, body?: object) => {
      const headers = { 'x-api-key': ADMIN_KEY, 'content-type': 'application/json' }
      const request = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) }
      const response = await fetch(`${server.url}${path}`, request)
      return { status: response.status, body: await response.json() }
    }

    const monitor = { record_type: 'A', expected_value: '192.0.2.1' }
    const monitors = ['immediately', 'on_success'].map((notify) => ({
      ...monitor,
      full_domain: `${notify}.example`,
      notify,
    }))
    expect((await call('/monitors/bulk', { monitors })).status).toBe(201)
    for (const order of ORDERS) {
      const { status, body } = await call(`/monitors?notify=on_success&order_by=${order}`)
      expect([order, status, body.data?.map(({ notify }: { notify: string }) => notify)]).toEqual([
        ...[order, 200],
        ['on_success'],
      ])
    }
    expect((await call('/monitors?notify=on_success&state=UNSET&group=default')).body.data).toHaveLength(1)
    expect((await call('/monitors/counts?notify=on_success')).body.active).toBe(1)
    expect((await call('/monitors?notify=never')).body.errors).toHaveProperty('notify')
  },
)

/** The commands that a recipe shows, in the order of its text. */
const commandsOf = (recipe: string) =>
  [...readFileSync(join(PROJECT, recipe), 'utf8').matchAll(/`npm exec -- node ([^`]+)`/g)].map(
    ([, command]) => command!,
  )

test('docs/recipes/add-a-setting.md: a field with a read is a setting, with its row in the documentation', async () => {
  const recipe = 'docs/recipes/add-a-setting.md'
  const { folder, edit } = givenCopy()
  // Step 1: one field with a read.
  edit(
    'server/config/operations.ts',
    '    jobStoredBytes: read(',
    `    exampleLimit: read('EXAMPLE_LIMIT', '7', 'what the recipe limits', (text) => parseInteger(text, 1, 10)),
    jobStoredBytes: read(`,
  )
  const inCopy =
    (...args: string[]) =>
    (settings: Settings) =>
      run([process.execPath, ...args], { DATA_DIR: join(folder, 'data'), ...settings }, { cwd: folder }).ended
  const config = inCopy('server/main.ts', 'config')
  expect((await config({ EXAMPLE_LIMIT: '9' })).stdout).toMatch(/EXAMPLE_LIMIT +9 +set/)
  const refused = await config({ EXAMPLE_LIMIT: '11' })
  expect([refused.code, refused.stdout + refused.stderr]).toEqual([
    expect.any(Number),
    expect.stringContaining('EXAMPLE_LIMIT must be a whole number from 1 to 10, not "11".'),
  ])
  // Step 3: the command of the recipe writes the row.
  const commands = commandsOf(recipe)
  expect(commands).toHaveLength(1)
  for (const command of commands) expect((await inCopy(...command.split(' '))({})).stderr).toBe('')
  const page = readFileSync(join(folder, 'docs/reference/settings.md'), 'utf8')
  expect(page).toContain('| `EXAMPLE_LIMIT` | `7` | what the recipe limits |')
  // The files that the recipe names exist.
  const named = [...readFileSync(join(PROJECT, recipe), 'utf8').matchAll(/`((?:server|docs|scripts)\/[\w./-]+\.\w+)`/g)]
  expect(named.length).toBeGreaterThan(3)
  for (const [, file] of named) expect([file, existsSync(join(PROJECT, file!))]).toEqual([file, true])
})
