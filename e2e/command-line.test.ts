import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { systemClock } from '#server/clock.ts'
import { openDatabase } from '#server/database/open.ts'
import { currentCode } from '#server/testing/accounts.ts'
import { createApi } from '#server/testing/api-client.ts'
import { runCommand } from '#server/testing/server-process.ts'
import {
  ADMIN,
  ADMIN_KEY,
  eventually,
  givenEnvironment,
  givenFolder,
  givenServer,
} from '#server/testing/test-server.ts'

const HOUR_MS = 3_600_000

test('keys are created, listed and revoked while the server runs', async () => {
  const { settings } = await givenEnvironment('postgres')
  const server = await givenServer({ ...settings, ...ADMIN })
  const made = await runCommand(['keys', 'create', '--name', 'ci', '--role', 'read', '--json'], settings)
  const { id, key } = JSON.parse(made.stdout)
  expect(key).toMatch(/^zw_[0-9A-Za-z]{43}$/)
  const reader = createApi(server.url, key)
  expect((await reader.get('/monitors')).status).toBe(200)
  expect((await reader.post('/monitors', {})).status).toBe(403)

  const listed = await runCommand(['keys', 'list'], settings)
  expect(listed.stdout).toMatch(new RegExp(`^${id} .* ci +read .* live$`, 'm'))
  expect(listed.stdout).not.toContain(key)
  const limited = await runCommand(['keys', 'limits', id, '--read', '3000', '--write', 'default'], settings)
  expect(limited).toMatchObject({ code: 0, stdout: expect.stringMatching(/^read +3000$/m), stderr: '' })
  expect(await runCommand(['keys', 'limits', 'key_nobody', '--read', '1'], settings)).toMatchObject({ code: 1 })
  expect(await runCommand(['keys', 'revoke', id], settings)).toMatchObject({ code: 0, stderr: '' })
  const refused = await reader.get('/monitors')
  expect(refused).toMatchObject({ status: 401, body: { code: 401, error: 'Unauthorized' } })
  expect((await createApi(server.url, ADMIN_KEY).get('/monitors')).status).toBe(200)

  expect(JSON.parse((await runCommand(['keys', 'list', '--json'], settings)).stdout)).toMatchObject([
    { name: 'First key', revoked: null },
    { id, name: 'ci', role: 'read', revoked: expect.any(String), last_used: expect.any(String) },
  ])
  const again = await runCommand(['keys', 'revoke', id], settings)
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining(`No active key has the id ${id}`) })
})

test('assign-plan assigns a plan while the server runs, and names the plans and organizations that it does not know', async () => {
  const { settings } = await givenEnvironment('sqlite')
  const plans = [
    { id: 'free', name: 'Free', limits: { monitors: 0 } },
    { id: 'partner', name: 'Partner', limits: { monitors: 7 } },
  ]
  const world = { ...settings, ...ADMIN, PLANS: JSON.stringify(plans) }
  const server = await givenServer(world)
  const api = createApi(server.url, ADMIN_KEY)
  const { slug } = (await api.get<{ slug: string }>('/organization')).body

  expect(await runCommand(['assign-plan', slug, 'partner'], world)).toMatchObject({ code: 0, stderr: '' })
  expect((await api.get('/organization/subscription')).body).toMatchObject({ plan: 'partner', limits: { monitors: 7 } })

  expect(await runCommand(['assign-plan', slug, 'gold'], world)).toMatchObject({
    code: 1,
    stderr: 'Unknown plan "gold". PLANS has free, partner.\n',
  })
  expect(await runCommand(['assign-plan', 'nobody', 'free'], world)).toMatchObject({
    code: 1,
    stderr: 'No organization has the slug "nobody".\n',
  })
})

test('check prints the verdict with its evidence, and exits with 0 only if the record is as expected', async () => {
  const { dns, settings } = await givenEnvironment('sqlite')
  dns.set('example.com', 'MX', ['10 mail.example.com'])
  const good = await runCommand(['check', 'example.com', 'mx', 'mail.example.com'], settings)
  expect(good).toMatchObject({ code: 0, stderr: '' })
  expect(good.stdout).toMatch(/^VALID {2}example\.com MX\n/)
  expect(good.stdout).toMatch(
    new RegExp(`^recursive +127\\.0\\.0\\.1:${dns.address.port} +udp +NOERROR .* 10 mail\\.example\\.com`, 'm'),
  )

  const bad = await runCommand(['check', 'example.com', 'MX', 'mx.example.net'], settings)
  expect(bad).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^MISMATCH {2}example\.com MX\n\n.*mx\.example\.net/),
  })
  const gone = await runCommand(['check', 'nowhere.example.com', 'A', '--json'], settings)
  expect(gone.code).toBe(1)
  expect(JSON.parse(gone.stdout)).toMatchObject({
    state: 'NOT_FOUND',
    values: [],
    evidence: [{ rcode: 'NXDOMAIN' }, {}],
  })
  dns.set('example.com', 'TXT', ['v=one\u202e\u001b[2J\u200b'])
  for (const options of [[], ['--json']]) {
    const hidden = await runCommand(['check', 'example.com', 'TXT', ...options], settings)
    expect(hidden.stdout).toMatch(/v=one(<U\+202E><U\+001B>\[2J<U\+200B>|\\u202e\\u001b\[2J\\u200b)/)
    expect(hidden.stdout).not.toMatch(/[\u200b\u202e]/)
  }
  const unknown = await runCommand(['check', 'example.com', 'DNSKEY'], settings)
  expect(unknown).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('Unknown record type "DNSKEY"'),
  })
})

test('config lists every setting and hides what is secret', async () => {
  const given = {
    DATA_DIR: await givenFolder(),
    SECRET: 'hush-hush-hush-hush-hush-hush-hush',
    DATABASE_URL: 'postgres://zonewatch:hunter2@db.example.com/zonewatch',
    ...ADMIN,
  }
  for (const args of [['config'], ['config', '--json']]) {
    const { code, stdout } = await runCommand(args, given)
    expect(code).toBe(0)
    for (const name of [
      'HOST',
      'PORT',
      'BASE_URL',
      'DATA_DIR',
      'DATABASE_URL',
      'ROLES',
      'SECRET',
      'DNS_SERVERS',
      'LOG_LEVEL',
    ]) {
      expect(stdout).toContain(name)
    }
    expect(stdout).toContain('db.example.com')
    for (const secret of [given.SECRET, 'hunter2', ADMIN.ADMIN_PASSWORD, ADMIN_KEY])
      expect(stdout).not.toContain(secret)
    // The text output for a terminal.
    if (args.length === 1) expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBe(100)
  }
})

test('disable-two-factor turns off two-factor authentication of a user once, and the audit log records it', async () => {
  const { settings } = await givenEnvironment('sqlite')
  const [email, password] = ['owner@example.com', 'a long password']
  const server = await givenServer({ ...settings, ...ADMIN, ADMIN_EMAIL: email, ADMIN_PASSWORD: password })
  const post = async (path: string, body: object, cookie = '') => {
    const headers = { 'content-type': 'application/json', origin: server.url, cookie }
    const sent = { method: 'POST', headers, body: JSON.stringify(body) }
    const answer = await fetch(`${server.url}/dashboard/auth/${path}`, sent)
    const cookies = answer.headers.getSetCookie().map((each) => each.split(';')[0])
    return { status: answer.status, body: await answer.json(), cookie: cookies.join('; ') }
  }
  const { cookie } = await post('sign-in/email', { email, password })
  const enabled = await post('two-factor/enable', { password }, cookie)
  await post('two-factor/verify-totp', { code: currentCode(enabled.body.totpURI) }, cookie)
  expect((await post('sign-in/email', { email, password })).body).toEqual({ twoFactorRedirect: true })

  expect(await runCommand(['disable-two-factor', email.toUpperCase()], settings)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`${email} signs in with the password alone.`),
  })
  expect((await post('sign-in/email', { email, password })).body).toEqual({ twoFactorRedirect: false })
  const { body } = await createApi(server.url, ADMIN_KEY).get('/audit-log?action=agent.second_factor_disabled')
  expect(body).toMatchObject({
    data: expect.arrayContaining([
      expect.objectContaining({
        action: 'agent.second_factor_disabled',
        actor: { type: 'operator', id: 'operator', label: 'Command line' },
      }),
    ]),
  })

  expect(await runCommand(['disable-two-factor', email], settings)).toMatchObject({
    code: 1,
    stderr: `${email} does not use two-factor authentication.\n`,
  })
  expect(await runCommand(['disable-two-factor', 'nobody@example.com'], settings)).toMatchObject({
    code: 1,
    stderr: 'No account has the address "nobody@example.com".\n',
  })
})

test('planned-changes plans a change, shows which servers have it, and deletes it', async () => {
  const { dns, settings } = await givenEnvironment('sqlite')
  const server = await givenServer({ ...settings, ...ADMIN })
  const api = createApi(server.url, ADMIN_KEY)
  dns.set('www.example.com', 'A', ['192.0.2.1'])
  const monitor = { full_domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1' }
  await api.post('/monitors', monitor)
  const run = (...args: string[]) => runCommand(['planned-changes', ...args], settings)
  const to = new Date(systemClock.now() + 3_600_000).toISOString()

  const made = await run('create', 'WWW.example.com', 'a', '192.0.2.2', '--to', to, '--json')
  const { id } = JSON.parse(made.stdout)
  const progress = async () =>
    (await api.get<{ progress: { servers: object[] } | null }>(`/planned-changes/${id}`)).body.progress
  await eventually(progress, (seen) => seen !== null)
  expect((await run('list')).stdout).toMatch(
    new RegExp(`^${id} +www.example.com A +IN_PROGRESS .* 0 of \\d servers$`, 'm'),
  )
  const shown = await run('show', id)
  expect(shown).toMatchObject({ code: 0, stderr: '' })
  expect(shown.stdout).toMatch(/^IN_PROGRESS {2}www\.example\.com A\n/)
  expect(shown.stdout).toMatch(/^resolver +127\.0\.0\.1:\d+ +old +\d+ s +192\.0\.2\.1$/m)

  expect(await run('create', 'www.example.com', 'A', '192.0.2.3', '--to', to)).toMatchObject({
    code: 1,
    stderr: 'The monitor already has a planned change. Change or delete that one.\n',
  })
  expect((await run('create', 'www.example.com', 'A', '192.0.2.300', '--to', 'noon')).stderr).toMatch(
    /^to .*\nnew_value.*\n$/,
  )
  expect((await run('create', 'shop.example.com', 'A', '192.0.2.3', '--to', to)).stderr).toBe(
    'No monitor checks shop.example.com A.\n',
  )
  expect((await run('delete', id)).stdout).toBe(`${id} is deleted. The monitor expects 192.0.2.1 again.\n`)
  expect((await run('show', id)).stderr).toContain(`No planned change has the id ${id}.`)
  expect(JSON.parse((await run('list', '--json')).stdout)).toEqual([])
})

test('delete-organization ends all access to it and nothing else, and delete-person deletes who left', async () => {
  const { settings } = await givenEnvironment('sqlite')
  const world = { ...settings, ...ADMIN }
  const first = await givenServer(world)
  const api = createApi(first.url, ADMIN_KEY)
  const { slug, name } = (await api.get<{ slug: string; name: string }>('/organization')).body
  const monitors = Array.from({ length: 300 }, (_, index) => ({ full_domain: `m${index}.example.com` }))
  const bulk = monitors.map((monitor) => ({ ...monitor, record_type: 'A', expected_value: ['192.0.2.1'] }))
  expect((await api.post('/monitors/bulk', { monitors: bulk })).status).toBe(201)
  const other = ['--organization', 'Second', '--email', 'second@example.com', '--password', 'a long password']
  const { api_key: key } = JSON.parse((await runCommand(['setup', ...other, '--json'], world)).stdout)

  const remove = (...options: string[]) => runCommand(['delete-organization', slug, '--name', ...options], world)
  expect((await remove('Other')).stderr).toBe(`name must be the name of the organization: ${name}.\n`)
  expect((await remove(name)).stdout).toContain(`To cancel that: zonewatch keep-organization ${slug}`)
  expect((await api.get<{ deletes: string }>('/organization/deletion')).body.deletes).not.toBeNull()
  expect((await runCommand(['keep-organization', slug], world)).stdout).toBe(`${slug} is not deleted.\n`)
  expect((await api.get<{ deletes: string }>('/organization/deletion')).body.deletes).toBeNull()
  const person = ['delete-person', ADMIN.ADMIN_EMAIL!]
  expect((await runCommand(person, world)).stderr).toContain(`is the last owner of ${name}.`)
  expect((await remove(name, '--now')).stdout).toContain(`deletes everything of ${slug} from now on`)
  first.send('SIGTERM')
  await first.ended

  const second = await givenServer(world)
  const statusOf = async (organizationKey: string) =>
    (await createApi(second.url, organizationKey).get('/organization')).status
  await eventually(
    () => statusOf(ADMIN_KEY),
    (status) => status === 401,
  )
  await eventually(
    async () => second.stdout(),
    (text) => text.includes('An organization is being deleted.'),
  )
  expect(await statusOf(key)).toBe(200)
  expect(second.stdout()).not.toContain('"level":"error"')
  expect((await runCommand(person, world)).stdout).toContain('Organizations left: 0.')
  expect((await runCommand(person, world)).stderr).toBe(`No account has the address "${ADMIN.ADMIN_EMAIL}".\n`)
})

test('proof shows which checks of a record, or of all monitors, were made, as the API does', async () => {
  const { dns, settings } = await givenEnvironment('sqlite')
  const server = await givenServer({ ...settings, ...ADMIN })
  const api = createApi(server.url, ADMIN_KEY)
  dns.set('www.example.com', 'A', ['192.0.2.1'])
  const monitor = { full_domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1', frequency: 5 }
  const { body } = await api.post<{ id: string }>('/monitors', monitor)
  const now = systemClock.now()
  const period = [
    '--since',
    new Date(now - 30 * HOUR_MS).toISOString(),
    '--until',
    new Date(now - HOUR_MS).toISOString(),
  ]
  const run = (...args: string[]) => runCommand(['proof', ...args, ...period], settings)
  expect(await run()).toMatchObject({ code: 0, stdout: expect.stringContaining('Every check was made in time.') })

  const db = openDatabase(settings.DATABASE_URL ?? `sqlite:${settings.DATA_DIR}/zonewatch.db`)
  await sql`update migrations set applied_at = 0`.execute(db)
  await sql`update monitors set created_at = ${now - 29 * HOUR_MS}`.execute(db)
  const { organization_id } = await db.selectFrom('monitors').select('organization_id').executeTakeFirstOrThrow()
  const gap = { from_at: now - 27 * HOUR_MS, until_at: now - 26 * HOUR_MS, withheld_since: null }
  await db
    .insertInto('check_gaps')
    .values({ organization_id, monitor_id: body.id, ...gap })
    .execute()
  await db.destroy()

  const shown = await run('WWW.example.com', 'a')
  expect(shown).toMatchObject({ code: 1, stderr: '' })
  expect(shown.stdout).toMatch(/^Checks of www\.example\.com A from .*\nDUE .*\n\d+ +\d+ +\d +1[12] +0\n/)
  expect(shown.stdout).toContain('The longest gap lasted 3600 s. All gaps:')
  const query = `?since=${period[1]}&until=${period[3]}`
  expect(JSON.parse((await run('--json')).stdout)).toEqual((await api.get(`/organization/checks${query}`)).body)
  expect((await run()).stdout).toMatch(new RegExp(`^${body.id} +.* 3600 +1[12] +0$`, 'm'))
  expect((await run('shop.example.com', 'A')).stderr).toBe('No monitor checks shop.example.com A.\n')
  expect((await run('www.example.com')).stderr).toContain('zonewatch proof www.example.com A')
})
