import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { givenApp } from '../testing/app-world.ts'
import { builtFolder } from './built.ts'

test('files are kept for a year, pages are asked for again, and what is not there is not remembered', async () => {
  const { call } = await givenApp('sqlite')
  const get = async (path: string) => {
    const { status, headers } = await call(`/dashboard/${path}`, { key: null })
    return [status, headers['cache-control'] ?? null]
  }
  const script = readdirSync(join(builtFolder(), 'assets')).find((name) => name.endsWith('.js'))!
  expect(await get(`assets/${script}`)).toEqual([200, 'public, max-age=31536000, immutable'])
  expect(await get('monitors/mon_1')).toEqual([200, 'no-cache'])
  for (const path of ['assets/gone-4f3a.js', 'assets/..%2f..%2fpackage.json', 'assets/%00.js', `assets/${script}.br`]) {
    expect(await get(path), path).toEqual([404, 'private, no-store'])
  }
})
