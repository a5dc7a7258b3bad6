import { execFileSync, spawn } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Ended, PROJECT, run } from '#server/testing/server-process.ts'
import { eventually } from '#server/testing/test-server.ts'

export const CA = '/etc/npm-ca.pem'

/** A minimal Debian with a running systemd. The tests run the guides as root in /root. */
export type Debian = {
  folder: string
  /** Folders of this machine to mount, such as `/tmp/one:/archive`. */
  binds: string[]
  /** Boots in the network namespace `space`, or in the network of this machine. Resolves when all services run. */
  boot(space?: string): Promise<void>
  /** Runs a script inside. */
  sh(script: string): Promise<Ended>
  /** Kills all processes at once. */
  powerOff(): Promise<void>
  /** A copy with the same files. The original must not run. */
  copy(): Debian
  remove(): Promise<void>
}

/** Installs a Debian with the folder `deploy` of the project. */
export function installDebian(packages: readonly string[]): Debian {
  const folder = mkdtempSync(join(tmpdir(), 'zonewatch-machine-'))
  const include = `--include=${['systemd', 'systemd-sysv', 'dbus', 'ca-certificates', ...packages].join(',')}`
  execFileSync('mmdebstrap', ['--quiet', '--variant=minbase', '--mode=root', include, 'bookworm', folder])
  cpSync(join(PROJECT, 'deploy'), join(folder, 'root/deploy'), { recursive: true })
  writeFileSync(join(folder, 'etc/hosts'), '127.0.0.1 localhost\n')
  return newDebian(folder)
}

function newDebian(folder: string): Debian {
  let init = ''
  let powerOff = async () => {}
  const debian: Debian = {
    folder,
    binds: [],
    async boot(space) {
      const network = space
        ? [`--network-namespace-path=/run/netns/${space}`, '--capability=CAP_NET_ADMIN,CAP_NET_RAW']
        : []
      const options = ['--directory', folder, '--register=no', '--keep-unit', '--boot', '--console=pipe']
      const binds = debian.binds.map((bind) => `--bind=${bind}`)
      const nspawn = spawn('systemd-nspawn', [...options, ...network, ...binds], { stdio: 'ignore' })
      const ended = new Promise((resolve) => nspawn.once('exit', resolve))
      powerOff = async () => {
        if (nspawn.exitCode === null) process.kill(Number(init), 'SIGKILL')
        await ended
      }
      const children = `/proc/${nspawn.pid}/task/${nspawn.pid}/children`
      await eventually(
        async () => {
          // The first child prepares the machine and ends. The second one boots it.
          init = readFileSync(children, 'utf8').trim().split(' ')[0]!
          return await debian.sh('systemctl is-system-running')
        },
        ({ stdout }) => stdout.trim() === 'running',
      )
    },
    sh: (script) =>
      run(
        ['nsenter', '--target', init, '--mount', '--uts', '--ipc', '--net', '--pid', 'sh', '-c', `cd /root; ${script}`],
        {
          PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
          HOME: '/root',
          NODE_EXTRA_CA_CERTS: CA,
          DEBIAN_FRONTEND: 'noninteractive',
        },
      ).ended,
    powerOff: () => powerOff(),
    copy() {
      const newFolder = mkdtempSync(join(tmpdir(), 'zonewatch-machine-'))
      execFileSync('cp', ['-a', `${folder}/.`, newFolder])
      return newDebian(newFolder)
    },
    async remove() {
      await powerOff()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  return debian
}

/** Copies the package of Zonewatch, and the npm settings to install it. */
export function copyPackage({ folder }: Debian): void {
  execFileSync('npm', ['run', 'package'], { cwd: PROJECT, stdio: 'ignore' })
  execFileSync('npm', ['pack', './build', '--pack-destination', join(folder, 'root')], {
    cwd: PROJECT,
    stdio: 'ignore',
  })
  const npmrc = process.env.NPM_CONFIG_USERCONFIG ?? join(homedir(), '.npmrc')
  if (existsSync(npmrc)) copyFileSync(npmrc, join(folder, 'root/.npmrc'))
  const ca = process.env.NODE_EXTRA_CA_CERTS
  if (ca && existsSync(ca)) copyFileSync(ca, join(folder, CA))
}

/** Fills the npm cache with all packages of the installation guide, for a machine without Internet. */
export function fillNpmCache({ folder }: Debian): void {
  const install = /npm install --prefix .*/.exec(blockWith('systemctl enable', 'install'))![0]
  const script = `cd /root && ${install} && rm -rf /opt/zonewatch && echo offline=true >> .npmrc`
  const options = ['--quiet', '--directory', folder, '--register=no', '--keep-unit', '--pipe']
  const command = ['/usr/bin/env', 'HOME=/root', `NODE_EXTRA_CA_CERTS=${CA}`, 'sh', '-c', script]
  execFileSync('systemd-nspawn', [...options, ...command], { stdio: ['ignore', 'ignore', 'inherit'] })
}

/** The shell block of a guide that contains this text, with `apt-get install -y`. */
export function blockWith(text: string, guide: string): string {
  const block = [...guideText(guide).matchAll(/^```sh\n([\s\S]*?)^```/gm)]
    .map(([, shell = '']) => shell)
    .find((shell) => shell.includes(text))!
  return block.replace('apt-get install', 'apt-get install -y')
}

export const guideText = (guide: string) => readFileSync(join(PROJECT, `docs/guides/${guide}.md`), 'utf8')
