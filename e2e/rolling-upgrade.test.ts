import { randomUUID } from 'node:crypto'
import { cp, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Monitor } from '#contract/monitors.ts'
import { createApi } from '#server/testing/api-client.ts'
import { PROJECT } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, givenEnvironment, givenFolder, givenServer } from '#server/testing/test-server.ts'

/** Additions of a next version to tables that are written all the time. */
const NEXT = `{
  name: 'of the next version',
  statements: ({ INTEGER }) => [
    \`alter table monitors add column of_tomorrow \${INTEGER} not null default 7\`,
    \`alter table webhook_requests add column of_tomorrow text\`,
    'create index monitors_of_tomorrow on monitors (organization_id, of_tomorrow)',
    'create table things_of_tomorrow (id text primary key)',
  ],
}`

test('two consecutive versions run side by side under load without an error for any caller', async () => {
  const { dns, receiver, settings } = await givenEnvironment('postgres', { isMigrated: false })
  dns.set('*.example.com', 'A', ['192.0.2.1'])
  const old = await givenServer({ ...settings, ...ADMIN })
  await createApi(old.url, ADMIN_KEY).post('/webhooks', { url: receiver.url, groups: ['default'] })
  const load = startLoad([old.url])
  await load.progress()

  const command = [process.execPath, join(await nextVersion(), 'server/main.ts'), 'serve']
  const next = await givenServer(settings, { command })
  load.urls.push(next.url)
  await load.progress()
  const oldAgain = await givenServer(settings) // a node of the old version that restarts after the migration
  load.urls.push(oldAgain.url)
  await load.progress()
  old.send('SIGTERM') // stops while callers still use it
  expect(await old.ended).toMatchObject({ code: 0 })
  await load.progress()

  const { made, refused } = await load.stop()
  expect(refused).toEqual([])
  for (const { url } of [next, oldAgain]) expect((await fetch(`${url}/readyz`)).status).toBe(200)
  await receiver.waitFor(made)
  expect(new Set(receiver.received.map(({ body }) => JSON.parse(body.toString()).id)).size).toBe(made)
  expect([old.stderr(), next.stderr(), oldAgain.stderr()]).toEqual(['', '', ''])
}, 300_000)

/** The same program with one more migration. */
async function nextVersion(): Promise<string> {
  const folder = await givenFolder()
  for (const part of ['server', 'contract', 'docs', 'package.json']) {
    await cp(join(PROJECT, part), join(folder, part), { recursive: true })
  }
  await symlink(join(PROJECT, 'node_modules'), join(folder, 'node_modules'))
  const file = join(folder, 'server/database/migrate.ts')
  const source = await readFile(file, 'utf8')
  const changed = source.replace(/(export const MIGRATIONS: [^=]*= \[[^\]]*?),?\s*\]/, `$1, ${NEXT}]`)
  expect(changed).not.toBe(source)
  await writeFile(file, changed)
  return folder
}

/** Callers that create, read and change monitors on all nodes in turn. Like a proxy, they skip a node that does not listen. */
function startLoad(urls: string[]) {
  const refused: string[] = []
  let made = 0
  let rounds = 0
  let isStopped = false
  const ask = async (at: number, method: string, path: string, body?: object) => {
    const key = method === 'POST' ? { 'idempotency-key': randomUUID() } : {}
    const headers = { 'x-api-key': ADMIN_KEY, ...key, ...(body ? { 'content-type': 'application/json' } : {}) }
    const sent = { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) }
    const askOne = (turn: number) => fetch(urls[turn % urls.length]! + path, sent)
    const answer = await askOne(at).catch(() => askOne(at + 1))
    const text = await answer.text()
    if (!answer.ok) refused.push(`${method} ${path}: ${answer.status} ${text}`)
    return (answer.ok && text !== '' ? JSON.parse(text) : {}) as Monitor
  }
  const caller = async (number: number) => {
    for (let count = 0; !isStopped; count++) {
      const name = `m${number}-${count}.example.com`
      const { id } = await ask(count, 'POST', '/monitors', {
        full_domain: name,
        record_type: 'A',
        expected_value: '192.0.2.1',
      })
      if (id) made++
      await ask(count, 'GET', '/monitors?limit=20&state=VALID')
      await ask(count, 'PATCH', `/monitors/${id}`, { frequency: 10 + (count % 2) })
      await ask(count, 'GET', '/events?limit=20')
      rounds++
    }
  }
  const callers = [0, 1, 2].map((number) => caller(number).catch((error: Error) => void refused.push(String(error))))
  return {
    urls,
    /** Some more rounds of each caller. */
    async progress() {
      const target = rounds + 15
      await expect.poll(() => rounds >= target || refused.length > 0).toBe(true)
    },
    async stop() {
      isStopped = true
      await Promise.all(callers)
      return { made, refused }
    },
  }
}
