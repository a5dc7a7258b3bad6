import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { run, type Settings, startServer } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, givenEnvironment, givenFolder } from '#server/testing/test-server.ts'

/** npm downloads about 150 packages. */
const INSTALL_TIMEOUT_MS = 400_000

test(
  'the package installs into an empty folder without install scripts, and serves API, documents and dashboard',
  async () => {
    const folder = await givenFolder()
    const packed = await run(['npm', 'pack', '--pack-destination', folder], {}).ended
    expect(packed.code, packed.stderr).toBe(0)
    const [file] = await readdir(folder)
    const install = ['npm', 'install', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', `./${file}`]
    // With the user's environment, which can hold the registry settings of npm.
    const installed = await run(install, process.env as Settings, { cwd: folder }).ended
    expect(installed.code, installed.stderr).toBe(0)
    expect(await readdir(join(folder, 'node_modules'))).not.toContain('react')

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
  },
  INSTALL_TIMEOUT_MS,
)

test('an older Node.js gets one sentence that names the required version', async () => {
  const older = 'data:text/javascript,Object.defineProperty(process,"versions",{value:{node:"24.1.0"}})'
  const { code, stderr } = await run([process.execPath, '--import', older, 'bin/zonewatch.js', 'serve'], {}).ended
  expect(code).toBe(1)
  expect(stderr).toMatch(
    /^Zonewatch needs Node\.js 26 or newer; this is v[\d.]+\. Install it from https:\/\/nodejs\.org\.\n$/,
  )
})
