import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApi } from '#server/testing/api-client.ts'
import { freePort } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, eventually } from '#server/testing/test-server.ts'
import { blockWith, copyPackage, type Debian, guideText, installDebian } from './debian.ts'

let machine: Debian
let url: string

/** Its network is that of this machine. */
beforeAll(async () => {
  machine = installDebian(['npm'])
  copyPackage(machine)
  const port = await freePort()
  url = `http://127.0.0.1:${port}`
  const dropIns = join(machine.folder, 'etc/systemd/system/zonewatch.service.d')
  mkdirSync(dropIns, { recursive: true })
  writeFileSync(join(dropIns, 'port.conf'), `[Service]\nEnvironment=PORT=${port}\n`)
  await machine.boot()
})

afterAll(() => machine?.remove())

const inside = (script: string) => machine.sh(script)
const show = async (property: string) => (await inside(`systemctl show zonewatch --value -p ${property}`)).stdout.trim()
const isServed = async () =>
  (await fetch(`${url}/monitors`, { headers: { 'x-api-key': ADMIN_KEY } }).catch(() => undefined))?.status === 200

test('the guide installs a service that is confined, backed up and restarted, and ready when systemd says so', async () => {
  const block = blockWith('systemctl enable', 'install')
  const installed = await inside(`set -e\napt-get update -qq\n${block}`)
  expect(installed.code, installed.stdout + installed.stderr).toBe(0)
  // systemctl returned when the server had reported that it is ready.
  expect((await fetch(`${url}/readyz`)).status).toBe(200)
  await eventually(
    async () => (await inside('journalctl -u zonewatch -o cat')).stdout,
    (log) => log.includes('/dashboard/setup/'),
  )

  const status = (await inside(`cat /proc/${await show('MainPID')}/status`)).stdout
  for (const line of [/^CapEff:\t0+$/m, /^CapBnd:\t0+$/m, /^NoNewPrivs:\t1$/m, /^Seccomp:\t2$/m]) {
    expect(status).toMatch(line)
  }
  expect(status).not.toMatch(/^Uid:\t0\t/m)

  const settings = { ...ADMIN, BACKUP_DIR: '/var/lib/zonewatch/backups', PORT: new URL(url).port }
  const lines = Object.entries(settings).map(([name, value]) => `${name}='${value}'\n`)
  writeFileSync(join(machine.folder, 'etc/zonewatch/environment'), lines.join(''))
  expect((await inside('systemctl restart zonewatch')).code).toBe(0)
  expect(await isServed()).toBe(true)
  const zonewatch = (command: string) => inside(`${blockWith('zonewatch() (', 'install')}\nzonewatch ${command}`)
  await eventually(
    async () => (await inside('ls /var/lib/zonewatch/backups')).stdout,
    (names) => names.includes('.backup\n'),
  )
  expect((await zonewatch('keys list')).stdout).toContain('First key')
  const found = JSON.parse((await zonewatch('doctor --json')).stdout) as { check: string; status: string }[]
  const statusOf = (name: string) => found.find(({ check }) => check === name)?.status
  expect(['file permissions', 'migrations', 'instances', 'backup'].map(statusOf)).toEqual(Array(4).fill('ok'))

  await inside('systemctl kill --signal=KILL --kill-whom=main zonewatch')
  await eventually(
    () => show('NRestarts'),
    (count) => count === '1',
  )
  await eventually(isServed, Boolean)
  await restoresByTheGuide()
  await inside('systemctl stop zonewatch')
  expect([await show('Result'), await show('ExecMainStatus')]).toEqual(['success', '0'])
  const [, install, restart] = /^\| with systemd \| `(.*?)`, then `(.*?)` \|$/m.exec(guideText('upgrade'))!
  expect((await inside(`${install!.replace('VERSION', '*')} && ${restart}`)).code).toBe(0)
  expect(await isServed()).toBe(true)
})

/** A monitor that was created after the backup is gone, and the service runs on what is restored. */
async function restoresByTheGuide(): Promise<void> {
  const api = createApi(url, ADMIN_KEY)
  await api.post('/monitors', { full_domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1' })
  const count = async () => (await api.get<{ data: object[] }>('/monitors')).body.data.length
  expect(await count()).toBe(1)
  const [backup = ''] = (await inside('ls /var/lib/zonewatch/backups')).stdout.split('\n')
  const block = blockWith('zonewatch restore', 'back-up-and-restore').replace(/zonewatch-\w+\.backup/, backup)
  const restored = await inside(`set -e\n${blockWith('zonewatch() (', 'install')}\n${block}`)
  expect(restored.code, restored.stdout + restored.stderr).toBe(0)
  expect(await isServed()).toBe(true)
  expect(await count()).toBe(0)
}
