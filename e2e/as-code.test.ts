import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createApi } from '#server/testing/api-client.ts'
import { run, runCommand } from '#server/testing/server-process.ts'
import {
  ADMIN,
  ADMIN_KEY,
  eventually,
  givenEnvironment,
  givenFolder,
  givenServer,
} from '#server/testing/test-server.ts'

test('monitors as code: pull, plan, apply, delete, adopt and continue against a running server', async () => {
  const { settings } = await givenEnvironment('sqlite')
  const { url } = await givenServer({ ...settings, ...ADMIN })
  const api = createApi(url, ADMIN_KEY)
  const folder = await givenFolder()
  const zonewatch = (...args: string[]) => runCommand(args, { ZONEWATCH_URL: url, ZONEWATCH_KEY: ADMIN_KEY })

  expect(await runCommand(['plan', folder], {})).toMatchObject({
    code: 1,
    stderr: expect.stringMatching('no YAML files'),
  })
  const old = { full_domain: 'old.example.com', record_type: 'A', expected_value: '192.0.2.9' }
  for (const group of ['one', 'two']) await api.post('/monitors', { ...old, group })
  const pulled = join(folder, 'pulled')
  expect(await zonewatch('pull', pulled)).toMatchObject({ code: 0, stderr: '' })
  expect((await readdir(pulled, { recursive: true })).sort()).toEqual([
    ...['monitors', 'monitors/one.yaml', 'monitors/two.yaml', 'organization.yaml', 'zonewatch.schema.json'],
  ])
  expect(await readFile(join(pulled, 'monitors/one.yaml'), 'utf8')).toBe(
    '# yaml-language-server: $schema=../zonewatch.schema.json\ndefaults:\n  group: one\n  frequency: 5\nmonitors:\n  - full_domain: old.example.com\n    record_type: A\n    expected_value: 192.0.2.9\n',
  )
  expect(await zonewatch('plan', pulled)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^No changes\.\n4 in /),
  })
  expect(await zonewatch('pull', pulled)).toMatchObject({ code: 1, stderr: expect.stringMatching('add --force') })

  // Two monitors get the label in one job.
  expect(await zonewatch('apply', pulled, '--adopt', '--yes')).toMatchObject({ code: 0 })
  expect((await api.get<{ data: unknown[] }>('/monitors?metadata.managed-by=monitors-as-code')).body.data).toHaveLength(
    2,
  )
  expect(await zonewatch('plan', pulled, '--adopt')).toMatchObject({ code: 0, stdout: 'No changes.\n' })

  const own = join(folder, 'own')
  await mkdir(own)
  const write = (names: string[]) => {
    const monitors = names.map((name) => ({ full_domain: name, record_type: 'A', expected_value: '192.0.2.1' }))
    return writeFile(join(own, 'zonewatch.yaml'), JSON.stringify({ managed_by: 'own', monitors }))
  }
  await write(['a.example.com', 'b.example.com', 'c.example.com'])
  const planned = await zonewatch('plan', own, '--json')
  expect(planned.code).toBe(2)
  expect(JSON.parse(planned.stdout)).toMatchObject({
    counts: { create: 3, update: 0, delete: 0 },
    changes: [{ action: 'create', name: 'a.example.com A', line: 1 }, {}, {}],
  })
  expect(await zonewatch('apply', own)).toMatchObject({ code: 1, stderr: expect.stringMatching('Add --yes') })
  expect(await zonewatch('apply', own, '--yes')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/Done: 3 created/),
    stderr: '3 of 3: monitors\n',
  })
  await write(['a.example.com'])
  expect(await zonewatch('apply', own, '--yes', '--max-deletions', '1')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching('2 would be deleted'),
  })
  expect(await zonewatch('apply', own, '--yes')).toMatchObject({ code: 0 })
  const { data } = (await api.get<{ data: { subdomain: string }[] }>('/monitors')).body
  expect(data.map(({ subdomain }) => subdomain).sort()).toEqual(['a', 'old', 'old'])
  expect(await runCommand(['plan', own], { ZONEWATCH_URL: url, ZONEWATCH_KEY: 'zw_no' })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching('Unauthorized'),
  })

  // An interrupted run says so, and the next one continues.
  const { key } = (await api.post<{ key: string }>('/api-keys', { name: 'CI', role: 'write', limits: { write: 2 } }))
    .body
  const many = await givenFolder()
  const groups = ['a', 'b', 'c', 'd'].map((slug) => ({ slug }))
  await writeFile(join(many, 'zonewatch.yaml'), JSON.stringify({ managed_by: 'many', groups }))
  const first = run([process.execPath, 'server/main.ts', 'apply', many, '--yes'], {
    ZONEWATCH_URL: url,
    ZONEWATCH_KEY: key,
  })
  await eventually(
    async () => first.stderr(),
    (text) => text.includes('The rate limit of the key is reached: waiting'),
  )
  first.send('SIGINT')
  expect(await first.ended).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^1 of 4: group a\n2 of 4: group b\n.*\nInterrupted\./),
  })
  const second = await runCommand(['apply', many, '--yes'], { ZONEWATCH_URL: url, ZONEWATCH_KEY: ADMIN_KEY })
  expect(second).toMatchObject({ code: 0, stdout: expect.stringMatching('Done: 2 created') })
})
