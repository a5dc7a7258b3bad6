import { execFileSync, spawn } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApi } from '#server/testing/api.ts'
import { freePort, PROJECT, run } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, eventually } from '#server/testing/server-world.ts'

const CA = '/etc/npm-ca.pem'
const textOf = (guide: string) => readFileSync(join(PROJECT, `docs/guides/${guide}.md`), 'utf8')
const blockWith = (text: string, guide = 'install') =>
  [...textOf(guide).matchAll(/^```sh\n([\s\S]*?)^```/gm)]
    .map(([, block = '']) => block)
    .find((block) => block.includes(text))!

let machine: string
let init: string
let url: string
let end: () => Promise<void> = async () => {}

/** A bare Debian whose own systemd runs: the guide is followed in it, as root. Its network is that of this machine. */
beforeAll(async () => {
  machine = mkdtempSync(join(tmpdir(), 'zonewatch-machine-'))
  const packages = '--include=systemd,systemd-sysv,dbus,npm,ca-certificates'
  execFileSync('mmdebstrap', ['--quiet', '--variant=minbase', '--mode=root', packages, 'bookworm', machine])
  execFileSync('npm', ['pack', '--pack-destination', join(machine, 'root')], { cwd: PROJECT, stdio: 'ignore' })
  cpSync(join(PROJECT, 'deploy'), join(machine, 'root/deploy'), { recursive: true })
  const npmrc = process.env.NPM_CONFIG_USERCONFIG ?? join(homedir(), '.npmrc')
  if (existsSync(npmrc)) copyFileSync(npmrc, join(machine, 'root/.npmrc'))
  const ca = process.env.NODE_EXTRA_CA_CERTS
  if (ca && existsSync(ca)) copyFileSync(ca, join(machine, CA))
  writeFileSync(join(machine, 'etc/hosts'), '127.0.0.1 localhost\n')
  const port = await freePort()
  url = `http://127.0.0.1:${port}`
  execFileSync('mkdir', ['-p', join(machine, 'etc/systemd/system/zonewatch.service.d')])
  const dropIn = join(machine, 'etc/systemd/system/zonewatch.service.d/port.conf')
  writeFileSync(dropIn, `[Service]\nEnvironment=PORT=${port}\n`)

  const boot = ['--directory', machine, '--register=no', '--keep-unit', '--boot', '--console=pipe']
  const nspawn = spawn('systemd-nspawn', boot, { stdio: 'ignore' })
  const ended = new Promise((resolve) => nspawn.once('exit', resolve))
  end = async () => {
    nspawn.kill('SIGKILL')
    await ended
  }
  const children = `/proc/${nspawn.pid}/task/${nspawn.pid}/children`
  await eventually(
    async () => {
      // Its first child prepares the machine and ends; then there is the one that boots it.
      init = readFileSync(children, 'utf8').trim().split(' ')[0]!
      return await inside('systemctl is-system-running')
    },
    ({ stdout }) => stdout.trim() === 'running',
  )
})

afterAll(async () => {
  await end()
  rmSync(machine, { recursive: true, force: true })
})

const inside = (script: string) =>
  run(['nsenter', '--target', init, '--mount', '--uts', '--ipc', '--pid', 'sh', '-c', `cd /root; ${script}`], {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: '/root',
    NODE_EXTRA_CA_CERTS: CA,
    DEBIAN_FRONTEND: 'noninteractive',
  }).ended
const show = async (property: string) => (await inside(`systemctl show zonewatch --value -p ${property}`)).stdout.trim()
const isServed = async () =>
  (await fetch(`${url}/monitors`, { headers: { 'x-api-key': ADMIN_KEY } }).catch(() => undefined))?.status === 200

test('the guide installs the service: ready when systemd says so, confined, backed up, and up again after each end', async () => {
  const block = blockWith('systemctl enable').replace('apt-get install', 'apt-get install -y')
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
  writeFileSync(join(machine, 'etc/zonewatch/environment'), lines.join(''))
  expect((await inside('systemctl restart zonewatch')).code).toBe(0)
  expect(await isServed()).toBe(true)
  const zonewatch = (command: string) => inside(`${blockWith('zonewatch() (')}\nzonewatch ${command}`)
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
  const [, install, restart] = /^\| with systemd \| `(.*?)`, then `(.*?)` \|$/m.exec(textOf('upgrade'))!
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
  const restored = await inside(`set -e\n${blockWith('zonewatch() (')}\n${block}`)
  expect(restored.code, restored.stdout + restored.stderr).toBe(0)
  expect(await isServed()).toBe(true)
  expect(await count()).toBe(0)
}
