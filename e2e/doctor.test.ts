import { chmod } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { Finding } from '#server/doctor/finding.ts'
import { createApi } from '#server/testing/api-client.ts'
import { freePort, runCommand, type Settings } from '#server/testing/server-process.ts'
import { startMailServer } from '#server/testing/smtp.ts'
import { ADMIN, ADMIN_KEY, givenEnvironment, givenServer, SEVERAL_PROCESSES } from '#server/testing/test-server.ts'

const CLIENT = '198.51.100.7'

/** A reverse proxy that sets X-Forwarded-For while `forwards` returns true. */
async function givenProxy(port: number, forwards: () => boolean): Promise<string> {
  const proxy = createServer((incoming, outgoing) => {
    const { 'x-forwarded-for': _, ...headers } = incoming.headers
    if (forwards()) headers['x-forwarded-for'] = CLIENT
    const { method, url: path } = incoming
    const forwarded = request({ host: '127.0.0.1', port, method, path, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers)
      response.pipe(outgoing)
    })
    forwarded.on('error', () => outgoing.writeHead(502).end())
    incoming.pipe(forwarded)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void proxy.close())
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
}

async function doctor(settings: Settings) {
  const { code, stdout, stderr } = await runCommand(['doctor', '--json'], settings)
  expect(stderr).toBe('')
  const findings = JSON.parse(stdout) as Finding[]
  const line = (check: string) => {
    const finding = findings.find((candidate) => candidate.check === check)
    return finding && `${finding.status}: ${finding.detail}`
  }
  return { code, line, failures: findings.filter(({ status }) => status === 'failure').map(({ check }) => check) }
}

test('doctor of a user who cannot read the data folder is one sentence', async () => {
  const { settings } = await givenEnvironment('sqlite')
  await chmod(settings.DATA_DIR!, 0o000)
  const userId = process.getuid?.() === 0 ? 65_534 : undefined
  const { code, stdout, stderr } = await runCommand(['doctor'], settings, undefined, userId)
  await chmod(settings.DATA_DIR!, 0o700)
  expect([code, stderr]).toEqual([1, ''])
  expect(stdout).toMatch(
    /^failure +DATA_DIR +user \d+ cannot read \S+\. Run this as the user of the server, and with its settings\.$/m,
  )
  expect(stdout).toContain('OK: 0, warnings: 0, failures: 1')
})

test.each(['sqlite', 'postgres'] as const)(
  'doctor reports no failure of a healthy server, and one for each broken part (%s)',
  async (engine) => {
    const { dns, receiver, settings: common } = await givenEnvironment(engine)
    const mail = await startMailServer()
    dns.set('www.example.com', 'A', ['192.0.2.1'])
    const port = await freePort()
    let forwards = true
    const baseUrl = await givenProxy(port, () => forwards)
    const settings = {
      ...{
        ...common,
        ...ADMIN,
        ...SEVERAL_PROCESSES,
        PORT: String(port),
        BASE_URL: baseUrl,
        TRUSTED_PROXIES: '127.0.0.1',
      },
      ...{ DNS_CANARIES: 'www.example.com', SMTP_URL: mail.url, MAIL_FROM: 'alerts@example.com' },
    }
    const server = await givenServer(settings)
    const api = createApi(server.url, ADMIN_KEY)
    expect((await api.post('/webhooks', { url: receiver.url })).status).toBe(201)
    const healthy = await doctor(settings)
    // The PostgreSQL of the tests runs without fsync.
    const unsafe = engine === 'postgres' ? ['durability'] : []
    expect(healthy).toMatchObject({ code: unsafe.length, failures: unsafe })
    expect(healthy.line('reverse proxy')).toBe('ok: X-Forwarded-For from 127.0.0.1 is trusted')
    expect(healthy.line('instances')).toMatch(/^ok: \d processes are running$/)
    expect(healthy.line('clocks')).toBe('ok: agree')
    if (engine === 'postgres')
      expect(healthy.line('connections')).toMatch(/^ok: \d processes open up to \d+; PostgreSQL allows/)
    expect(healthy.line('secret')).toBe('ok: opens the database')
    expect(receiver.received).toEqual([])

    forwards = false
    await mail.close()
    await receiver.close()
    dns.drop('*')
    const broken = await doctor({ ...settings, SECRET: 'y'.repeat(40) })
    expect(broken.code).toBe(1)
    // The probe of doctor is signed with another secret than that of the server.
    expect(broken.line('reverse proxy')).toMatch(/^failure: .*but is not this server/)
    expect(broken.failures.map((check) => check.replace(/ 127\S+/, '')).sort()).toEqual(
      ['SMTP', 'canaries', 'reverse proxy', 'secret', 'upstream UDP', 'webhook egress', ...unsafe].sort(),
    )
    const { stdout } = await runCommand(['doctor'], settings)
    expect(stdout).toMatch(/^STATUS {3}CHECK +FINDING\nok {7}settings {2,}\d+ settings are valid\n/)
    expect(stdout).toMatch(
      /\nfailure {2}SMTP {2,}127.*\. Check host and port of SMTP_URL, and that this machine can connect to it\.\n/,
    )
    expect(stdout).toMatch(/\nfailure {2}reverse proxy {2,}X-Forwarded-For does not arrive/)
    expect(stdout).toMatch(/\n\nOK: \d+, warnings: \d+, failures: [1-9]\d*\n$/)
  },
)

test('doctor names every invalid setting, and creates no database', async () => {
  const { settings } = await givenEnvironment('sqlite')
  const invalid = await doctor({ ...settings, PORT: 'many', WORKERS: '-1' })
  expect(invalid).toMatchObject({ code: 1, failures: ['settings', 'settings'] })
  const missingDatabase = `sqlite:${settings.DATA_DIR}/none.db`
  const withoutDatabase = await doctor({ ...settings, DATABASE_URL: missingDatabase, BASE_URL: 'http://127.0.0.1:1' })
  expect(withoutDatabase.line('database')).toMatch(/^failure: there is none at/)
  expect(withoutDatabase.line('reverse proxy')).toMatch(/^failure: http:\/\/127\.0\.0\.1:1 does not answer/)
  expect((await doctor({ ...settings, DATABASE_URL: missingDatabase })).line('database')).toMatch(/there is none at/)
})
