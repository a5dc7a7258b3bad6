import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { run, type Settings, startServer } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, givenEnvironment, givenFolder } from '#server/testing/test-server.ts'
import { notesOf } from '../scripts/release.ts'

type Part = { name: string }

test('the package installs into an empty folder without install scripts, and serves API, documents and dashboard', async () => {
  const folder = await givenFolder()
  const release = join(folder, 'release')
  const built = await run(['npm', 'run', 'release', release], {}).ended
  expect(built.code, built.stderr).toBe(0)
  const [notes, sbom, client, file] = [
    'NOTES.md',
    'zonewatch-0.1.0.cdx.json',
    'zonewatch-client-0.1.0.tgz',
    'zonewatch-0.1.0.tgz',
  ]
  expect((await readdir(release)).sort()).toEqual([notes, 'SHA256SUMS', client, sbom, file].sort())
  expect(await run(['sha256sum', '-c', 'SHA256SUMS'], {}, { cwd: release }).ended).toMatchObject({ code: 0 })
  const parts = JSON.parse(await readFile(join(release, sbom!), 'utf8')).components.map(({ name }: Part) => name)
  expect(parts).toContain('fastify')
  expect(parts).not.toContain('vitest')
  expect((await stat(join(release, file!))).size).toBeLessThan(12_000_000)
  const install = [
    ...['npm', 'install', '--ignore-scripts', '--offline', '--no-audit', '--no-fund'],
    ...[`./release/${file}`, `./release/${client}`],
  ]
  // With the user's environment, which can hold the registry settings of npm.
  const installed = await run(install, process.env as Settings, { cwd: folder }).ended
  expect(installed.code, installed.stderr).toBe(0)
  expect(await readdir(join(folder, 'node_modules'))).toEqual(expect.arrayContaining(['@zonewatch', 'zonewatch']))
  expect(Object.keys(JSON.parse(await readFile(join(folder, 'package-lock.json'), 'utf8')).packages)).toHaveLength(3)
  expect(await readFile(join(folder, 'node_modules/zonewatch/LICENSES.txt'), 'utf8')).toMatch(/^fastify .*\(MIT\)$/m)
  const program = "import('@zonewatch/client').then(({ createClient }) => console.log(typeof createClient))"
  expect(await run([process.execPath, '-e', program], {}, { cwd: folder }).ended).toMatchObject({
    stdout: 'function\n',
  })

  const version = await run(['npx', 'zonewatch', '--version'], {}, { cwd: folder }).ended
  expect([version.code, version.stdout.trim()]).toEqual([0, '0.1.0'])
  const { settings } = await givenEnvironment('sqlite')
  const command = [join(folder, 'node_modules/.bin/zonewatch'), 'serve']
  const server = await startServer({ ...settings, ...ADMIN }, { command, cwd: folder })
  onTestFinished(server.kill)
  const get = async (path: string) => await fetch(server.url + path, { headers: { 'x-api-key': ADMIN_KEY } })
  expect(await (await get('/dashboard')).text()).toContain('<script type="module"')
  expect(await (await get('/docs/tutorials/first-monitor')).text()).toContain('<h1>Your first monitor</h1>')
  expect((await get('/monitors')).status).toBe(200)
  expect(await (await get('/openapi.json')).text()).toContain('Zonewatch monitors DNS records')
  server.send('SIGTERM')
  expect((await server.ended).code).toBe(0)
})

test('an older Node.js gets one sentence that names the required version', async () => {
  const older = 'data:text/javascript,Object.defineProperty(process,"versions",{value:{node:"24.1.0"}})'
  const { code, stderr } = await run([process.execPath, '--import', older, 'bin/zonewatch.js', 'serve'], {}).ended
  expect(code).toBe(1)
  expect(stderr).toMatch(
    /^Zonewatch needs Node\.js 26 or newer; this is v[\d.]+\. Install it from https:\/\/nodejs\.org\.\n$/,
  )
})

test('the notes of a release are the section of its version in the changelog', () => {
  const changelog =
    '# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2027-01-01\n\n### Added\n\n- This.\n\n## [0.1.0]\n\n- That.\n'
  expect(notesOf(changelog, '0.2.0')).toBe('### Added\n\n- This.\n')
  expect(() => notesOf(changelog, '0.3.0')).toThrow('CHANGELOG.md has no section for 0.3.0.')
  expect(() => notesOf('## [0.1.0]\n', '0.1.0')).toThrow('has no section')
})
