import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../server/database/open.ts'
import { migratedDatabaseUrl } from '../server/testing/database.ts'
import { formatServers, startDnsTree } from '../server/testing/dns-server-tree.ts'
import { startReceiver } from '../server/testing/receiver.ts'
import { PROJECT, run, type Settings, startServer } from '../server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY } from '../server/testing/test-server.ts'

/** What the test changes is copied, the rest linked. */
const COPIED = ['contract', 'server', 'scripts', 'dashboard', 'e2e', 'package.json', 'tsconfig.json']
/** Large, and changed by no recipe. */
const NOT_COPIED = [join(PROJECT, 'docs/screenshots'), join(PROJECT, 'dashboard/dist')]

type Block = { kind: string; file: string; lines: string[] }

/** The code blocks of a recipe that name a file: a `diff` changes it, another one is the whole of a new file. */
function blocksOf(recipe: string): Block[] {
  const text = readFileSync(join(PROJECT, 'docs/recipes', recipe), 'utf8')
  const blocks = [...text.matchAll(/^```(\w+) (\S+)\n(.*?)^```$/gms)]
  return blocks.map(([, kind, file, content]) => ({
    kind: kind!,
    file: file!,
    lines: content!.split('\n').slice(0, -1),
  }))
}

/** A copy of the project whose sources a test may change. Deleted afterwards. */
function givenCopy() {
  const folder = mkdtempSync(join(tmpdir(), 'zonewatch-recipe-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const name of readdirSync(PROJECT)) {
    if (name.startsWith('.git')) continue
    if ([...COPIED, 'docs'].includes(name)) {
      const filter = (source: string) => !NOT_COPIED.includes(source)
      cpSync(join(PROJECT, name), join(folder, name), { recursive: true, filter })
    } else symlinkSync(join(PROJECT, name), join(folder, name))
  }
  symlinkSync(join(PROJECT, 'dashboard/dist'), join(folder, 'dashboard/dist'))
  return {
    folder,
    /** Applies the changes of a recipe, letter by letter. */
    follow(recipe: string): void {
      const blocks = blocksOf(recipe)
      expect([recipe, blocks.length]).not.toEqual([recipe, 0])
      for (const { kind, file, lines } of blocks) {
        const path = join(folder, file)
        if (kind !== 'diff') {
          mkdirSync(dirname(path), { recursive: true })
          writeFileSync(path, `${lines.join('\n')}\n`, { flag: 'wx' })
          continue
        }
        const textOf = (kept: string[]) => kept.map((line) => line.slice(1)).join('\n')
        const before = `\n${textOf(lines.filter((line) => line[0] !== '+'))}\n`
        const after = `\n${textOf(lines.filter((line) => line[0] !== '-'))}\n`
        const text = `\n${readFileSync(path, 'utf8')}`
        if (text.split(before).length !== 2) throw new Error(`${recipe}: ${file} has not exactly one${before}`)
        writeFileSync(path, text.replace(before, () => after).slice(1))
      }
    },
  }
}

const ORDERS = ['created', 'name', 'domain', 'subdomain', 'record_type', 'state', 'incidence_count']
const TOKEN = 't'.repeat(16)

const OF_BOTH_ENGINES = ['add-a-list-filter.md', 'add-a-worker-loop.md']
const RECIPES = [
  ...OF_BOTH_ENGINES,
  ...['job-action', 'metric', 'channel', 'record-type', 'warning', 'zone-check', 'page'].map(
    (name) => `add-a-${name}.md`,
  ),
  'add-an-endpoint.md',
]

test.each(['sqlite', 'postgres'] as const)(
  'on %s, the examples of the recipes work when they are followed by the letter, one after the other',
  async (engine) => {
    const { folder, follow } = givenCopy()
    for (const recipe of engine === 'sqlite' ? RECIPES : OF_BOTH_ENGINES) follow(recipe)

    const { url: databaseUrl, drop } = await migratedDatabaseUrl(engine)
    onTestFinished(drop)
    const settings = {
      DATABASE_URL: databaseUrl,
      DATA_DIR: join(folder, 'data'),
      WORKERS: '0',
      ROLES: 'api,delivery',
      SECRET: 's'.repeat(32),
      METRICS_TOKEN: TOKEN,
      WRITE_LIMIT: '0',
      READ_LIMIT: '0',
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    }
    const command = [process.execPath, 'server/main.ts', 'serve']
    const server = await startServer({ ...ADMIN, ...settings }, { command, cwd: folder })
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

    // The table of the worker loop was created at the start, and the loop does what is due.
    const db = await openDatabase(databaseUrl)
    onTestFinished(() => db.destroy())
    await sql`insert into due_reminders (organization_id, monitor_id, due_at)
      select organization_id, id, 0 from monitors where notify = 'on_success'`.execute(db)
    const reminders = async () => (await sql`select monitor_id from due_reminders`.execute(db)).rows.length
    await expect.poll(reminders, { timeout: 20_000 }).toBe(0)
    if (engine === 'postgres') return

    const job = { action: 'add_value', all: true }
    expect((await call('/jobs', { ...job, value: '192.0.2.9' })).body).toMatchObject({ change: { value: '192.0.2.9' } })
    expect((await call('/jobs', job)).body.errors).toEqual({ value: 'is required.' })

    const smimea = { full_domain: 'a._smimecert.example', record_type: 'SMIMEA', expected_value: '3 0 0 0C72AC70' }
    const created = await call('/monitors', smimea)
    expect(created).toMatchObject({ status: 201, body: { expected_value: ['3 0 0 0c72ac70'] } })
    const path = `/monitors/${created.body.id}`
    expect((await call(`${path}/age`)).body).toEqual({ milliseconds: expect.any(Number) })
    expect((await call('/monitors/mon_1/age')).status).toBe(404)
    expect((await call(`${path}/check`, {})).status).toBe(202)
    const metrics = await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })
    expect(await metrics.text()).toMatch(/^zonewatch_manual_checks_total\S* 1$/m)

    const receiver = await startReceiver()
    onTestFinished(() => receiver.close())
    const channel = { name: 'Chat', type: 'example_chat', settings: { url: `${receiver.url}/chat` } }
    const { body } = await call('/channels', channel)
    expect((await call(`/channels/${body.id}/test`, {})).body).toMatchObject({ status: 'SENT' })
    expect(JSON.parse(receiver.received[0]!.body.toString()).message).toContain('test')

    const inCopy = (args: string[], more: Settings) =>
      run([process.execPath, ...args], { DATA_DIR: settings.DATA_DIR, ...more }, { cwd: folder }).ended
    const tree = await startDnsTree()
    onTestFinished(() => tree.close())
    const [zone, resolver] = [(await tree.zone('example', ['ns1.example']))[0]!, await tree.server()]
    for (const each of [zone, resolver]) each.set('www.example', 'A', ['192.0.2.1'])
    const dns = { DNS_ROOTS: formatServers([tree.root]), DNS_SERVERS: formatServers([resolver]), DNS_CANARIES: 'off' }
    const checked = await inCopy(['server/main.ts', 'check', 'www.example', 'A', '192.0.2.1'], dns)
    expect(checked.stdout).toContain('Warning: example has only one name server, ns1.example.')
    const types = await run([...TSC, join(folder, 'dashboard')], {}, { cwd: folder }).ended
    expect(types.stdout + types.stderr).toBe('')
    for (const command of commandsOf('docs/recipes/add-a-warning.md')) await inCopy(command.split(' '), {})
    expect(readFileSync(join(folder, 'docs/reference/reason-codes.md'), 'utf8')).toContain('| `single_name_server` |')
    expect(readFileSync(join(folder, 'docs/reference/zones.md'), 'utf8')).toContain(
      '| `expire_before_refresh` | warning |',
    )
  },
)

/** Checks the types of a project, as `npm run check` does. */
const TSC = [process.execPath, join(PROJECT, 'node_modules/typescript/bin/tsc'), '--noEmit', '-p']

/** The commands that a recipe shows, in the order of its text. */
const commandsOf = (recipe: string) =>
  [...readFileSync(join(PROJECT, recipe), 'utf8').matchAll(/`npm exec -- node ([^`]+)`/g)].map(
    ([, command]) => command!,
  )

test('docs/recipes/add-a-setting.md: a field with a read is a setting, with its row in the documentation', async () => {
  const recipe = 'docs/recipes/add-a-setting.md'
  const { folder, follow } = givenCopy()
  follow('add-a-setting.md')
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
