import { copyFile, symlink } from 'node:fs/promises'
import { expect, test } from 'vitest'
import type { Engine } from '#server/database/database.ts'
import { PROJECT, run } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, givenFolder, givenServer, givenWorld } from '#server/testing/server-world.ts'

const CLIENT = `${PROJECT}e2e/api/client`
const TOOLS = `${CLIENT}/node_modules/.bin`
const CHECKS = '--noEmit --strict --noUncheckedIndexedAccess --skipLibCheck --module nodenext --types node'

test('a client that is generated from /openapi.json has types for the main job, and does it on both engines', async () => {
  const [sqlite, postgres] = await Promise.all([givenServerOn('sqlite'), givenServerOn('postgres')])
  const folder = await givenFolder()
  await symlink(`${PROJECT}node_modules`, `${folder}/node_modules`)
  for (const file of ['main-job.ts', 'package.json']) await copyFile(`${CLIENT}/${file}`, `${folder}/${file}`)
  const program = `${folder}/main-job.ts`

  await runWell(`${TOOLS}/openapi-typescript`, `${sqlite}/openapi.json`, '--output', `${folder}/api.ts`)
  await runWell(`${TOOLS}/tsc`, ...CHECKS.split(' '), '--allowImportingTsExtensions', program)
  await runWell(program, sqlite, ADMIN_KEY)
  await runWell(program, postgres, ADMIN_KEY)
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
