import { once } from 'node:events'
import { copyFile, symlink } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { insertKey } from '#server/accounts/api-keys.ts'
import { operatorContext } from '#server/context.ts'
import type { Engine } from '#server/database/database.ts'
import { givenApp } from '#server/testing/app-world.ts'
import { PROJECT, run } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, givenFolder, givenServer, givenWorld } from '#server/testing/server-world.ts'

const CLIENT = `${PROJECT}e2e/api/client`
const TOOLS = `${CLIENT}/node_modules/.bin`
const CHECKS = '--noEmit --strict --noUncheckedIndexedAccess --skipLibCheck --module nodenext --types node'

test('a client that is generated from /openapi.json has types for the main job, and does it on both engines', async () => {
  const [sqlite, postgres] = await Promise.all([givenServerOn('sqlite'), givenServerOn('postgres')])
  const folder = await givenFolder()
  await symlink(`${PROJECT}node_modules`, `${folder}/node_modules`)
  for (const file of ['main-job.ts', 'saas.ts', 'package.json'])
    await copyFile(`${CLIENT}/${file}`, `${folder}/${file}`)
  const program = `${folder}/main-job.ts`

  await runWell(`${TOOLS}/openapi-typescript`, `${sqlite}/openapi.json`, '--output', `${folder}/api.ts`)
  const programs = [program, `${folder}/saas.ts`]
  await runWell(`${TOOLS}/tsc`, ...CHECKS.split(' '), '--allowImportingTsExtensions', ...programs)
  await runWell(program, sqlite, ADMIN_KEY)
  await runWell(program, postgres, ADMIN_KEY)
})

test('a SaaS onboards, changes, exports and offboards its customers within the limits of its API key', async () => {
  const world = await givenApp('sqlite', { READ_LIMIT: '20', WRITE_LIMIT: '5', CREATE_LIMIT: '250' })
  const { id } = await world.organization()
  const given = { name: 'SaaS', role: 'admin', limits: { page: 1, write: 60 } } as const
  const { key } = await insertKey(world.deps.db, operatorContext(id, world.deps.clock.now()), given)
  const url = await world.app.listen({ host: '127.0.0.1', port: 0 })
  const clock = createServer(({ url }, response) => {
    world.pass(Number(url?.slice(1)) * 1_000)
    response.end()
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void clock.close())
  await once(clock, 'listening')
  const CLOCK = `http://127.0.0.1:${(clock.address() as AddressInfo).port}`
  const program = run([process.execPath, `${CLIENT}/saas.ts`, url, key, '40'], { CLOCK })
  const { code, stdout, stderr } = await program.ended
  expect([code, stderr]).toEqual([0, ''])
  const { requests, waitedSeconds } = JSON.parse(stdout)
  // 160 deletions with 60 a minute take two minutes; what the requests take passes by itself.
  expect(requests).toBeGreaterThan(160)
  expect(waitedSeconds).toBeGreaterThanOrEqual(60)
})

/** With records for the names that the program watches. */
async function givenServerOn(engine: Engine): Promise<string> {
  const { dns, settings } = await givenWorld(engine)
  for (const name of ['www', 'api', 'cdn']) dns.set(`${name}.example.com`, 'A', ['192.0.2.1'])
  dns.set('old.example.com', 'A', ['192.0.2.99'])
  const { url } = await givenServer({ ...settings, ...ADMIN, WORKERS: '0' })
  return url
}

async function runWell(...args: string[]): Promise<void> {
  const { code, stdout, stderr } = await run([process.execPath, ...args], {}).ended
  expect([code, code === 0 ? '' : stdout + stderr]).toEqual([0, ''])
}
