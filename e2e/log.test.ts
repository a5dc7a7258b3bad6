import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { LOG_LEVELS } from '#server/config/parse.ts'
import { createApi } from '#server/testing/api-client.ts'
import { ADMIN, ADMIN_KEY, givenEnvironment, givenServer } from '#server/testing/test-server.ts'

test('each line of the log is JSON with the documented fields, and its level is a word', async () => {
  const { settings } = await givenEnvironment('sqlite')
  const server = await givenServer({ ...settings, ...ADMIN, WORKERS: '1', LOG_FORMAT: 'json', LOG_LEVEL: 'debug' })
  await createApi(server.url, ADMIN_KEY).get('/monitors')
  server.send('SIGTERM')
  expect(await server.ended).toMatchObject({ code: 0, stderr: '' })

  const lines: object[] = server
    .stdout()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const document = await readFile('docs/reference/logs.md', 'utf8')
  const documented = [...document.matchAll(/^\| `(\w+)` \|/gm)].map(([, word]) => word)
  for (const line of lines) {
    expect(line).toMatchObject({
      level: expect.toBeOneOf([...LOG_LEVELS]),
      time: expect.any(Number),
      msg: expect.any(String),
    })
  }
  expect(documented).toEqual(expect.arrayContaining([...LOG_LEVELS, 'level', 'time', 'msg']))
  expect(lines).toContainEqual(expect.objectContaining({ level: 'info', msg: expect.stringContaining('listening') }))
  expect(lines).toContainEqual(expect.objectContaining({ level: 'debug', method: 'GET', url: '/monitors' }))
})
