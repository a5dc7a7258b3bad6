import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Webhook as Verifier } from 'standardwebhooks'
import { expect, test } from 'vitest'
import type { Monitor } from '#contract/monitors.ts'
import type { Webhook } from '#contract/webhooks.ts'
import { systemClock } from '#server/clock.ts'
import { createApi } from '#server/testing/api-client.ts'
import type { Receiver } from '#server/testing/receiver.ts'
import { run, runCommand, type ServerProcess, type Settings, zonewatch } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, eventually, givenEnvironment, givenServer } from '#server/testing/test-server.ts'

const EMAIL = ADMIN.ADMIN_EMAIL!

/** Data that was encrypted and signed before a rotation, and its expected content afterwards. */
async function givenSigned(nodes: [ServerProcess, ...ServerProcess[]], receiver: Receiver) {
  const [server] = nodes
  const api = createApi(server.url, ADMIN_KEY)
  for (const name of ['a', 'b', 'c']) {
    await api.post('/monitors', { full_domain: `${name}.example.com`, record_type: 'A', expected_value: ['192.0.2.1'] })
  }
  const { body: webhook } = await api.post<Webhook>('/webhooks', { url: receiver.url })
  const { body: page } = await api.get<{ after: string }>('/monitors?limit=1')
  const post = (url: string, path: string, body: object, cookie = '') =>
    fetch(`${url}/dashboard/auth/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: url, cookie },
      body: JSON.stringify(body),
    })
  const signedIn = await post(server.url, 'sign-in/email', { email: EMAIL, password: ADMIN.ADMIN_PASSWORD })
  const cookie = signedIn.headers
    .getSetCookie()
    .map((each) => each.split(';')[0])
    .join('; ')
  await post(server.url, 'request-password-reset', { email: EMAIL })
  // Any node can claim and send an email.
  const logs = () => nodes.map((node) => node.stdout()).join('')
  const token = await eventually(
    async () => /\/dashboard\/reset-password\/([\w-]+)/.exec(logs())?.[1],
    (found) => found !== undefined,
  )
  return {
    session: async ({ url }: ServerProcess) => (await fetch(`${url}/dashboard/api/me`, { headers: { cookie } })).status,
    cursor: async ({ url }: ServerProcess) => {
      const next = await createApi(url, ADMIN_KEY).get<{ data: Monitor[] }>(`/monitors?limit=1&after=${page.after}`)
      return next.body.data?.[0]?.subdomain ?? next.status
    },
    /** Expects a delivery with a valid signature. */
    delivery: async ({ url }: ServerProcess) => {
      const before = receiver.received.length
      await createApi(url, ADMIN_KEY).post(`/webhooks/${webhook.id}/test`)
      const { headers, body } = (await receiver.waitFor(before + 1)).at(-1)!
      return new Verifier(webhook.secret).verify(body.toString(), headers as Record<string, string>) !== null
    },
    reset: async ({ url }: ServerProcess) => {
      const given = { token, newPassword: 'another long password' }
      return (await post(url, 'reset-password', given)).status
    },
  }
}

/** Uses a session, a cursor and a delivery on each node repeatedly. All must work until the end. */
function load(signed: Awaited<ReturnType<typeof givenSigned>>, nodes: () => readonly ServerProcess[]) {
  let hasEnded = false
  const seen: unknown[] = []
  const asking = (async () => {
    while (!hasEnded) {
      for (const node of nodes()) {
        seen.push(await signed.session(node), await signed.cursor(node), await signed.delivery(node))
      }
      await systemClock.sleep(20)
    }
  })()
  return {
    async end() {
      hasEnded = true
      await asking
      expect(new Set(seen)).toEqual(new Set([200, 'b', true]))
      expect(seen.length).toBeGreaterThan(6)
    },
  }
}

const restarted = async (server: ServerProcess, settings: Settings) => {
  server.send('SIGTERM')
  await server.ended
  return await givenServer(settings)
}

/** Only for a test that hangs: the many starts take long on a busy machine. */
const BOUND = { timeout: 400_000 }

test(
  'an installation with a secret file rotates the secret while it runs, even if it is killed during the rotation',
  BOUND,
  async () => {
    const { receiver, settings: world } = await givenEnvironment('sqlite', { isMigrated: false })
    const { SECRET: _, DATABASE_URL: __, ...own } = world
    const settings = { ...own, ...ADMIN }
    const path = join(settings.DATA_DIR!, 'secret')
    const lines = () => readFileSync(path, 'utf8').trim().split('\n')
    let server = await givenServer(settings)
    const signed = await givenSigned([server], receiver)
    const [first] = lines()

    const under = load(signed, () => [server])
    const killed = run(zonewatch('rotate-secret'), settings)
    await eventually(
      async () => killed.stdout(),
      (text) => text.includes('is in use'),
    )
    killed.send('SIGKILL')
    await killed.ended
    expect(lines()).toHaveLength(2)
    const again = await runCommand(['rotate-secret'], settings)
    expect(again).toMatchObject({ code: 0, stderr: '' })
    expect(again.stdout).toContain('Nothing in the database needs the previous SECRET any more.')
    await under.end()

    const [second, previous] = lines()
    expect(previous).toBe(first)
    expect(second).not.toBe(first)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    server = await restarted(server, settings)
    expect([await signed.session(server), await signed.cursor(server), await signed.delivery(server)]).toEqual([
      200,
      'b',
      true,
    ])
    expect(await signed.reset(server)).toBe(200)

    const thorough = await runCommand(['rotate-secret', '--forget-previous'], settings)
    expect(thorough).toMatchObject({ code: 0, stderr: '' })
    expect(lines()).toHaveLength(1)
    expect([first, second]).not.toContain(lines()[0])
    server = await restarted(server, settings)
    expect([await signed.cursor(server), await signed.delivery(server)]).toEqual([400, true])
  },
)

test(
  'two nodes on PostgreSQL switch to a new SECRET one after the other, and both can always read everything',
  BOUND,
  async () => {
    const { receiver, settings: world } = await givenEnvironment('postgres')
    const settings: Settings = { ...world, ...ADMIN }
    const SECRET = 'the next secret of the test, longer than 32 characters'
    const both = { ...settings, SECRET, SECRET_PREVIOUS: settings.SECRET! }
    let nodes = await Promise.all([givenServer(settings), givenServer(settings)])
    const signed = await givenSigned(nodes, receiver)
    const all = async () =>
      await Promise.all(nodes.map(async (node) => [await signed.session(node), await signed.cursor(node)]))
    const good = [200, 'b']
    expect(await all()).toEqual([good, good])
    const alone = await runCommand(['rotate-secret'], settings)
    expect(alone).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('SECRET is the one in use. Set SECRET to a new one'),
    })
    const other = await runCommand(['keys', 'list'], { ...settings, SECRET })
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining('was created with another SECRET') })

    nodes = [await restarted(nodes[0]!, both), nodes[1]!]
    expect(await all()).toEqual([good, good])
    expect([await signed.delivery(nodes[0]!), await signed.delivery(nodes[1]!)]).toEqual([true, true])
    nodes = [nodes[0]!, await restarted(nodes[1]!, both)]
    const under = load(signed, () => nodes)
    const rotated = await runCommand(['rotate-secret'], both)
    await under.end()
    expect(rotated).toMatchObject({ code: 0, stderr: '' })
    expect(rotated.stdout).toMatch(/^The new SECRET is in use.*\n[1-9]\d* values were re-encrypted\./)
    expect(await all()).toEqual([good, good])

    nodes = [await restarted(nodes[0]!, { ...settings, SECRET }), await restarted(nodes[1]!, { ...settings, SECRET })]
    expect(await signed.delivery(nodes[0]!)).toBe(true)
    expect(await all()).toEqual([
      [200, 400],
      [200, 400],
    ])
    expect(await runCommand(['keys', 'list'], settings)).toMatchObject({ code: 1 })
  },
)
