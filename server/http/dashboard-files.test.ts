import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import Fastify from 'fastify'
import { expect, test } from 'vitest'
import { givenApp } from '../testing/test-app.ts'
import { dashboardFiles } from './dashboard-files.ts'

test('files are cached for a year, pages are revalidated, and a 404 is not cached', async () => {
  const { call } = await givenApp('sqlite')
  const get = async (path: string) => {
    const { status, headers } = await call(`/dashboard/${path}`, { key: null })
    return [status, headers['cache-control'] ?? null]
  }
  const script = readdirSync('dashboard/dist/assets').find((name) => name.endsWith('.js'))!
  expect(await get(`assets/${script}`)).toEqual([200, 'public, max-age=31536000, immutable'])
  expect(await get('monitors/mon_1')).toEqual([200, 'no-cache'])
  for (const path of ['assets/gone-4f3a.js', 'assets/..%2f..%2fpackage.json', 'assets/%00.js', `assets/${script}.br`]) {
    expect(await get(path), path).toEqual([404, 'private, no-store'])
  }
})

test('if the dashboard is not built, the page shows the command that builds it', async () => {
  const app = Fastify().register(dashboardFiles, { folder: tmpdir() })
  const answer = await app.inject('/dashboard')
  expect([answer.statusCode, answer.body]).toEqual([503, expect.stringContaining('Run <code>npm ci</code>')])
  await app.close()
})
