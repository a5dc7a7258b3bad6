import { fork } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, symlink } from 'node:fs/promises'
import { setInterval } from 'node:timers/promises'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import type { Engine } from '#server/database/database.ts'
import { openDatabase } from '#server/database/open.ts'
import { PROJECT, run, runCommand } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, givenEnvironment, givenFolder, givenServer } from '#server/testing/test-server.ts'

const CLIENT = `${PROJECT}e2e/api/client`
const TOOLS = `${CLIENT}/node_modules/.bin`
const CHECKS = '--noEmit --strict --noUncheckedIndexedAccess --skipLibCheck --module nodenext --types node'

test('a client generated from /openapi.json type-checks and runs the main workflow on both engines', async () => {
  const [sqlite, postgres] = await Promise.all([givenServerOn('sqlite'), givenServerOn('postgres')])
  const folder = await givenFolder()
  await symlink(`${PROJECT}node_modules`, `${folder}/node_modules`)
  for (const file of ['main-workflow.ts', 'saas.ts', 'package.json'])
    await copyFile(`${CLIENT}/${file}`, `${folder}/${file}`)
  const program = `${folder}/main-workflow.ts`

  await runWell(`${TOOLS}/openapi-typescript`, `${sqlite}/openapi.json`, '--output', `${folder}/api.ts`)
  const programs = [program, `${folder}/saas.ts`]
  await runWell(`${TOOLS}/tsc`, ...CHECKS.split(' '), '--allowImportingTsExtensions', ...programs)
  await runWell(program, sqlite, ADMIN_KEY)
  await runWell(program, postgres, ADMIN_KEY)
})

/** `SAAS_CUSTOMERS=20000` tests a large SaaS. */
const CUSTOMERS = Number(process.env.SAAS_CUSTOMERS ?? 300)

for (const engine of ['sqlite', 'postgres'] as const) {
  test(
    `a SaaS of ${CUSTOMERS} customers onboards, changes, exports and offboards them within documented limits on ${engine}`,
    async () => {
      const { port, stop } = await startResponder()
      onTestFinished(stop)
      const { settings } = await givenEnvironment(engine)
      const limits = { READ_LIMIT: '20', WRITE_LIMIT: '5', CREATE_LIMIT: '250' }
      const all = { ...settings, ...ADMIN, ...limits, DNS_SERVERS: `127.0.0.1:${port}` }
      const { url } = await givenServer(all)
      const made = await runCommand(['keys', 'create', '--name', 'SaaS', '--role', 'admin', '--json'], all)
      const { id, key } = JSON.parse(made.stdout)
      const own = ['--read', '300', '--page', '600', '--write', '30']
      expect(await runCommand(['keys', 'limits', id, ...own], all)).toMatchObject({ code: 0 })
      if (engine === 'postgres') analyzeOften(settings.DATABASE_URL!)
      const program = run([process.execPath, `${CLIENT}/saas.ts`, url, key, String(CUSTOMERS)], {})
      const { code, stdout, stderr } = await program.ended
      expect([code, stderr]).toEqual([0, ''])
      const { events, requests } = JSON.parse(stdout)
      const dedicated = Math.ceil((CUSTOMERS - 1) / 10)
      expect(events).toBe(3 * (CUSTOMERS + dedicated))
      console.log(`${engine}: ${stdout}`)
      expect(requests).toBeLessThan(100 + CUSTOMERS)
    },
    120_000 + CUSTOMERS * 400,
  )
}

/** Replaces autovacuum, which the PostgreSQL of the tests lacks, so that the planner knows the tables. */
function analyzeOften(url: string): void {
  const db = openDatabase(url, { connections: 1 })
  const stop = new AbortController()
  const analyzing = (async () => {
    for await (const _ of setInterval(5_000, undefined, { signal: stop.signal })) await sql`analyze`.execute(db)
  })().catch(() => {})
  onTestFinished(async () => {
    stop.abort()
    await analyzing
    await db.destroy()
  })
}

/** A DNS server that answers every address query with 192.0.2.1. */
async function startResponder() {
  const responder = fork(`${PROJECT}bench/dns-responder.ts`)
  const [{ port }] = await once(responder, 'message')
  return { port: Number(port), stop: () => void responder.disconnect() }
}

/** A DNS server with records for the names that the program monitors. */
async function givenServerOn(engine: Engine): Promise<string> {
  const { dns, settings } = await givenEnvironment(engine)
  for (const name of ['www', 'api', 'cdn']) dns.set(`${name}.example.com`, 'A', ['192.0.2.1'])
  dns.set('old.example.com', 'A', ['192.0.2.99'])
  const { url } = await givenServer({ ...settings, ...ADMIN, WORKERS: '0' })
  return url
}

async function runWell(...args: string[]): Promise<void> {
  const { code, stdout, stderr } = await run([process.execPath, ...args], {}).ended
  expect([code, code === 0 ? '' : stdout + stderr]).toEqual([0, ''])
}
