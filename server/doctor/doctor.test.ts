import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Answer, decode, encode } from 'dns-packet'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { recordFailedBackup, recordMadeBackup } from '../backup/last-backup.ts'
import { systemClock } from '../clock.ts'
import { readConfig } from '../config/config.ts'
import type { Database } from '../database/database.ts'
import { openDatabase } from '../database/open.ts'
import { sqlitePathOf } from '../database/url.ts'
import { createDnsClient } from '../dns/client.ts'
import { createNetworkCheck } from '../dns/network-check.ts'
import { RDATA_FORMATS } from '../record-types/record-types.ts'
import { parseNetworks } from '../safe-http/address-policy.ts'
import { createSafeFetch } from '../safe-http/safe-fetch.ts'
import { migratedDatabaseUrl, onBothEngines } from '../testing/database.ts'
import { startDnsServer } from '../testing/dns-server.ts'
import { startReceiver } from '../testing/receiver.ts'
import { startMailServer } from '../testing/smtp.ts'
import { checkDatabase } from './database.ts'
import { checkFiles, checkSettings, unwritableFinding } from './files.ts'
import { type Finding, runCheck } from './finding.ts'
import { checkCanaries, checkEgress, checkSmtp } from './outbound.ts'
import { checkRoots, checkUpstream } from './upstreams.ts'

const TIMEOUT_MS = 1_500

type Resolver = Awaited<ReturnType<typeof givenResolver>>

async function givenResolver(options: Parameters<typeof startDnsServer>[0] = {}) {
  const dns = await startDnsServer(options)
  onTestFinished(() => dns.close())
  dns.set('www.example.com', 'A', ['192.0.2.1'])
  dns.set('dnssec-failed.org', 'A', ['192.0.2.2'])
  dns.validate('dnssec-failed.org', { code: 6, text: '' })
  return dns
}

/** What a raw server sends over UDP, and over TCP nothing. */
const overUdpAlone = (flags: number, answers: Answer[]) => (query: Buffer, transport: 'udp' | 'tcp') => {
  const { id, questions = [] } = decode(query)
  return transport === 'tcp' ? null : encode({ type: 'response', id: id!, flags, questions, answers })
}

/** The status of the line whose name ends so, and all that it says. */
function lineOf(findings: Finding[], check: string): string {
  const found = findings.find((each) => each.check.endsWith(check))
  return found ? `${found.status}: ${found.detail}. ${found.remedy ?? ''}` : `no line ${check}`
}

const upstreamOf = (dns: Resolver) =>
  checkUpstream(dns.address, { clock: systemClock, knownName: 'www.example.com', timeoutMs: TIMEOUT_MS })

test('of a good resolver every line is ok', async () => {
  const findings = await upstreamOf(await givenResolver())
  expect(findings.filter(({ status }) => status !== 'ok')).toEqual([])
  expect(findings.map(({ check }) => check.split(' ')[2])).toEqual([
    ...['UDP', 'latency', 'TCP', 'EDNS', 'truncation', 'DNSSEC', 'NXDOMAIN'],
  ])
})

const RA = 0x0080
const faults: [line: string, expected: RegExp, break_: (dns: Resolver) => void][] = [
  ['UDP', /^failure: no answer within 1500 ms\. Check the address in DNS_SERVERS/, (dns) => dns.drop('*')],
  ['UDP', /^failure: answers REFUSED\. Allow the address/, (dns) => dns.fail('www.example.com', 'REFUSED')],
  [
    'UDP',
    /^failure: answers NXDOMAIN with 0 records for www\.example\.com/,
    (dns) => dns.remove('www.example.com', 'A'),
  ],
  ['UDP', /^failure: does not resolve for others/, (dns) => dns.respond('www.example.com', overUdpAlone(0, []))],
  [
    'latency',
    /^warning: \d+ ms for a cached answer\. Use a resolver nearby/,
    (dns) => dns.delay('www.example.com', 600),
  ],
  ['TCP', /^failure: no answer.*Open TCP port 53 to it/, (dns) => dns.respond('www.example.com', overUdpAlone(RA, []))],
  ['EDNS', /^warning: answers FORMERR without EDNS\./, (dns) => dns.refuseEdns()],
  ['truncation', /^failure: a long answer: no answer/, (dns) => dns.drop('.')],
  [
    'truncation',
    /^failure: truncates over UDP, and over TCP: no answer/,
    (dns) => dns.respond('.', overUdpAlone(RA | 0x0200, [])),
  ],
  [
    'truncation',
    /^failure: omits 1 records over UDP/,
    (dns) =>
      dns.respond('.', (query, transport) => {
        const { id, questions = [] } = decode(query)
        const answers: Answer[] = transport === 'udp' ? [] : [{ type: 'A', name: '.', data: '192.0.2.3' }]
        return encode({ type: 'response', id: id!, flags: RA, questions, answers })
      }),
  ],
  [
    'truncation',
    /^warning: sends 6\d\d octets, although the query allows 512/,
    (dns) =>
      dns.respond('.', (query) => {
        const { id, questions = [] } = decode(query)
        const data = ['x'.repeat(200), 'x'.repeat(200), 'x'.repeat(200)]
        return encode({ type: 'response', id: id!, flags: RA, questions, answers: [{ type: 'TXT', name: '.', data }] })
      }),
  ],
  ['DNSSEC', /^warning: does not validate \(dnssec-failed\.org resolves\)/, (dns) => dns.recover('dnssec-failed.org')],
  ['DNSSEC', /^ok: not known/, (dns) => dns.drop('dnssec-failed.org')],
  [
    'NXDOMAIN',
    /^failure: invents 1 records for a name that does not exist\. Use/,
    (dns) => dns.set('*.com', 'A', ['192.0.2.9']),
  ],
  ['NXDOMAIN', /^warning: answers NOERROR for a name that does not exist/, (dns) => dns.set('*.com', 'A', [])],
]

test.each(faults)('a resolver that fails shows in the line %s as %s', async (line, expected, break_) => {
  const dns = await givenResolver()
  break_(dns)
  expect(lineOf(await upstreamOf(dns), line)).toMatch(expected)
})

test('root servers: reachable, closed off, intercepted, and without TCP', async () => {
  const roots = async (dns: Resolver) =>
    lineOf(await checkRoots([dns.address], { clock: systemClock, timeoutMs: TIMEOUT_MS }), 'roots')
  const root = await givenResolver({ authoritative: true })
  expect(await roots(root)).toBe('ok: answer: IPv4 1 of 1, IPv6 0 of 0. ')
  root.respond('.', overUdpAlone(0x0400, []))
  expect(await roots(root)).toMatch(/^warning: answer over UDP, not over TCP/)
  root.drop('.')
  expect(await roots(root)).toMatch(
    /^failure: none of 1 root servers answers: port 53 is closed\. Open UDP and TCP port 53/,
  )
  expect(await roots(await givenResolver())).toMatch(
    /^failure: something else answers for the root server 127\.0\.0\.1/,
  )
  expect(lineOf(await checkRoots([], { clock: systemClock }), 'roots')).toMatch(/^warning: off/)
  // As on a machine without IPv6: the system refuses to connect, and sends nothing.
  const withoutRoute = [{ ip: '255.255.255.255', port: 53 }]
  expect(lineOf(await checkRoots(withoutRoute, { clock: systemClock }), 'roots')).toMatch(/^failure: none of 1 root/)
})

test('canary names: resolving, offline and captive portal', async () => {
  const dns = await givenResolver()
  const names = ['www.example.com']
  const line = async () => {
    const client = createDnsClient({
      servers: [dns.address],
      clock: systemClock,
      formats: RDATA_FORMATS,
      timeoutMs: 200,
      attempts: 1,
    })
    const canaries = createNetworkCheck({
      dns: client,
      clock: systemClock,
      canaries: names,
      onOutage: () => {},
      onRecovery: () => {},
    })
    const found = await checkCanaries(canaries, names)
    await client.close()
    return lineOf([found], 'canaries')
  }
  expect(await line()).toMatch(/^ok: www\.example\.com: at least one resolves/)
  dns.set('nothing.invalid', 'A', ['192.0.2.1'])
  expect(await line()).toMatch(/^failure: they resolve to the same address as every other name/)
  dns.drop('*')
  expect(await line()).toMatch(/^failure: none of www\.example\.com resolves/)
  expect(lineOf([await checkCanaries(undefined, [])], 'canaries')).toMatch(/^warning: off/)
})

test('the mail server works, refuses the password, does not support TLS, or is unreachable', async () => {
  const server = await startMailServer({ password: 'right' })
  const line = async (smtp: { url: string } | null) => lineOf([await checkSmtp(smtp)], 'SMTP')
  expect(await line({ url: server.url })).toMatch(/^ok: 127\.0\.0\.1:\d+ accepts the sign-in/)
  expect(await line({ url: server.url.replace(':right', ':wrong') })).toMatch(
    /^failure: .* refuses the sign-in: .*Check user and password/,
  )
  expect(await line({ url: server.url.replace('smtp:', 'smtps:') })).toMatch(/^failure: .*use smtp:\/\/ in SMTP_URL/)
  await server.close()
  expect(await line({ url: server.url })).toMatch(/^failure: .*Check host and port of SMTP_URL/)
  expect(await line(null)).toMatch(/^warning: not set/)
  expect(server.received).toEqual([])
})

test('webhook egress: connects and sends nothing; says which endpoints cannot be reached', async () => {
  const receiver = await startReceiver()
  onTestFinished(() => receiver.close())
  const networks = parseNetworks('127.0.0.0/8')
  if (!networks.ok) throw new Error(networks.reason)
  const fetchOf = (more = {}) => {
    const options = {
      lookup: async () => [],
      clock: systemClock,
      allowedNetworks: networks.networks,
      deniedPorts: [],
      ...more,
    }
    const safeFetch = createSafeFetch(options)
    onTestFinished(() => safeFetch.close())
    return safeFetch
  }
  const safeFetch = fetchOf()
  const closed = `http://127.0.0.1:${await closedPort()}`
  const line = async (urls: string[], by = safeFetch, proxy: URL | null = null) =>
    lineOf(await checkEgress(urls, by, proxy), 'webhook egress')
  expect(await line([receiver.url])).toBe(`ok: connected to 127.0.0.1:${receiver.port}. `)
  expect(await line([receiver.url, closed])).toMatch(/^warning: 127\.0\.0\.1:\d+: .*Other endpoints can be reached/)
  expect(await line([closed])).toMatch(/^failure: none can be reached: .*WEBHOOK_PROXY/)
  const proxy = new URL(closed)
  expect(await line([receiver.url], fetchOf({ proxy }), proxy)).toMatch(
    /^failure: none can be reached through 127.*Check WEBHOOK_PROXY/,
  )
  expect(await line([])).toMatch(/^ok: no webhook to try/)
  expect(receiver.connections()).toBeGreaterThan(0)
  expect(receiver.received).toEqual([])
})

async function closedPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

onBothEngines('the database', (fresh, engine) => {
  const lines = async (db: Database, settings: Record<string, string> = {}) =>
    await checkDatabase({ db, config: readConfig({ DATABASE_URL: 'sqlite:x', ...settings }), clock: systemClock })

  test('a good one is ok, and says that nobody works on it', async () => {
    const findings = await lines(await fresh())
    const bad = findings.filter(({ status }) => status !== 'ok').map(({ check }) => check)
    expect(bad).toEqual(engine === 'sqlite' ? ['backup', 'instances'] : ['durability', 'backup', 'instances'])
    expect(lineOf(findings, 'database')).toMatch(engine === 'sqlite' ? /^ok: SQLite 3\./ : /^ok: PostgreSQL \d+/)
  })

  test('migrations that did not run, or that are not known, are failures', async () => {
    const db = await fresh()
    await sql`insert into migrations (number, name, applied_at) values (99, 'of tomorrow', 0)`.execute(db)
    expect(lineOf(await lines(db), 'migrations')).toMatch(
      /^failure: the database is newer: its migration "of tomorrow"/,
    )
    await sql`update migrations set needs = 0 where number = 99`.execute(db)
    expect(lineOf(await lines(db), 'migrations')).toMatch(/^warning: the database is that of the next version/)
    await sql`delete from migrations where number = 99`.execute(db)
    const { rows } = await sql<{
      number: number
      name: string
    }>`select number, name from migrations order by number desc limit 1`.execute(db)
    await sql`delete from migrations where number = ${rows[0]!.number}`.execute(db)
    expect(lineOf(await lines(db), 'migrations')).toMatch(/^failure: 1 of \d+ have not run\. Restart the server/)
    await sql`insert into migrations (number, name, applied_at) values (${rows[0]!.number}, ${rows[0]!.name}, 0)`.execute(
      db,
    )
  })

  test('the clock of another instance that is wrong shows while it reports itself', async () => {
    const db = await fresh()
    const report = async (id: number, offsetMs: number) =>
      void (await db
        .updateTable('processes')
        .set({ seen_at: Date.now() + offsetMs })
        .where('id', '=', id)
        .execute())
    const start = async (machine: string, offsetMs: number) => {
      const row = { pid: 1, machine, started_at: 0, seen_at: 0 }
      const { id } = await db.insertInto('processes').values(row).returning('id').executeTakeFirstOrThrow()
      const timer = setInterval(() => void report(id, offsetMs), 100)
      onTestFinished(() => clearInterval(timer))
      return timer
    }
    const first = await start('one', 0)
    expect(lineOf(await lines(db), 'clocks')).toMatch(/^ok: agree/)
    const second = await start('two', 9_000)
    expect(lineOf(await lines(db), 'clocks')).toMatch(
      /^failure: the clock of two is [89]\.\d s ahead of this machine's\. Run an NTP client/,
    )
    for (const timer of [first, second]) clearInterval(timer)
    await systemClock.sleep(100)
    if (engine === 'postgres') expect(lineOf(await lines(db), 'clock of PostgreSQL')).toBe('ok: agrees. ')
  })
})

test('the last backup: none, none scheduled, failed, too old, good', async () => {
  const { url, drop } = await migratedDatabaseUrl('sqlite')
  const db = openDatabase(url)
  onTestFinished(async () => {
    await db.destroy()
    await drop()
  })
  const line = async (settings: Record<string, string> = { BACKUP_DIR: '/backups' }) =>
    lineOf(
      await checkDatabase({ db, config: readConfig({ DATABASE_URL: url, ...settings }), clock: systemClock }),
      'backup',
    )
  const made = (at: number) => recordMadeBackup(db, { at, path: '/backups/one', bytes: 2_048, durationMs: 5 })
  expect(await line({})).toMatch(/^warning: none was ever made\. Set BACKUP_DIR/)
  expect(await line()).toMatch(/^failure: none was made yet/)
  await made(Date.now() - 3 * 24 * 60 * 60_000)
  expect(await line()).toMatch(/^failure: the last is too old: \/backups\/one, 2\.0 KiB, 3 d ago/)
  await made(Date.now() - 60 * 60_000)
  expect(await line()).toMatch(/^ok: \/backups\/one, 2\.0 KiB, 1 h ago/)
  expect(await line({})).toMatch(/^warning: none is scheduled; the last: \/backups\/one/)
  await recordFailedBackup(db, 'The disk is full.', Date.now())
  expect(await line()).toMatch(
    /^failure: the last one failed: The disk is full\. Before that: \/backups\/one.* Zonewatch retries every 10 minutes\.$/,
  )
  expect(await line({})).toMatch(/^failure: .* Fix the cause, and make a backup again\.$/)
})

test('a damaged SQLite file is a failure', async () => {
  const { url, drop } = await migratedDatabaseUrl('sqlite')
  onTestFinished(drop)
  const before = openDatabase(url)
  for (let number = 0; number < 200; number++) {
    const row = { id: `org_${number}`, created_at: 0, name: 'x'.repeat(1_000), slug: `org-${number}` }
    await before.insertInto('organizations').values(row).execute()
  }
  await before.destroy()
  const bytes = readFileSync(sqlitePathOf(url)!)
  const pages = bytes.length / 4_096
  for (let page = pages - 40; page < pages; page++) bytes.fill(0xee, page * 4_096, page * 4_096 + 200)
  writeFileSync(sqlitePathOf(url)!, bytes)
  const db = openDatabase(url)
  onTestFinished(() => db.destroy())
  const findings = await checkDatabase({ db, config: readConfig({ DATABASE_URL: url }), clock: systemClock })
  expect(lineOf(findings, 'integrity')).toMatch(/^failure: /)
})

test('a file that is no database is a failure that says to restore a backup', async () => {
  const { url, drop } = await migratedDatabaseUrl('sqlite')
  onTestFinished(drop)
  writeFileSync(sqlitePathOf(url)!, 'x'.repeat(100))
  const db = openDatabase(url)
  onTestFinished(() => db.destroy())
  const findings = await checkDatabase({ db, config: readConfig({ DATABASE_URL: url }), clock: systemClock })
  expect(lineOf(findings, 'database')).toMatch(
    /^failure: file is not a database\. Stop the server, .* restore the last good/,
  )
})

test('a data folder that cannot be written is a failure', async () => {
  const refused = (code: string) => () => {
    throw Object.assign(new Error(code), { code })
  }
  expect(lineOf(unwritableFinding('/data', refused('EROFS')), 'DATA_DIR')).toMatch(
    /^failure: \/data cannot be written \(EROFS\)\. .* mount the disk/,
  )
  expect(lineOf(unwritableFinding('/data', refused('EACCES')), 'DATA_DIR')).toMatch(/ as the user of the server/)
  const folder = await mkdtemp(join(tmpdir(), 'zonewatch-test-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  expect(unwritableFinding(folder)).toEqual([])
})

test('what others can read is a failure with the command that mends it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'zonewatch-test-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const config = readConfig({ DATA_DIR: folder, BACKUP_DIR: join(folder, 'none') })
  writeFileSync(join(folder, 'secret'), 'x', { mode: 0o600 })
  writeFileSync(join(folder, 'zonewatch.db'), 'x', { mode: 0o600 })
  expect(lineOf(checkFiles(config), 'file permissions')).toMatch(/^ok: /)
  writeFileSync(join(folder, 'token'), 'x'.repeat(40))
  const withFile = (mode: number) => {
    chmodSync(join(folder, 'token'), mode)
    return lineOf(checkFiles(readConfig({ DATA_DIR: folder, SECRET_FILE: join(folder, 'token') })), 'secret files')
  }
  expect(withFile(0o640)).toBe('no line secret files')
  expect(withFile(0o644)).toBe(`warning: every user can read ${folder}/token. chmod 600 ${folder}/token`)
  chmodSync(join(folder, 'secret'), 0o640)
  expect(lineOf(checkFiles(config), 'file permissions')).toBe(
    `failure: others can read ${folder}/secret. chmod 600 ${folder}/secret`,
  )
  expect(lineOf(checkFiles({ ...config, dataDir: join(folder, 'none') }), 'DATA_DIR')).toMatch(
    /^failure: .* does not exist/,
  )
})

test('settings that are valid and dangerous are named', () => {
  const line = (settings: Record<string, string>, check: string) =>
    lineOf(checkSettings(readConfig(settings), 3), check)
  expect(line({}, 'settings')).toBe('ok: 3 settings are valid. ')
  expect(line({}, 'BASE_URL')).toBe('no line BASE_URL')
  expect(line({ BASE_URL: 'http://dns.example.com' }, 'BASE_URL')).toMatch(
    /^warning: .*passwords and API keys are sent without encryption/,
  )
  expect(line({ READ_LIMT: '9' }, 'READ_LIMT')).toMatch(/^warning: .* Did you mean READ_LIMIT\?/)
  expect(line({ SIGN_UP: 'open' }, 'SIGN_UP')).toMatch(/^failure: open without SMTP_URL/)
})

test('what cannot be checked is a failure, and the rest goes on', async () => {
  const found = await runCheck('SMTP', async () => {
    throw new Error('no such thing')
  })
  expect(lineOf(found, 'SMTP')).toMatch(/^failure: could not be checked: no such thing/)
})
