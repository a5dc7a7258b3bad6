import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Ended, PROJECT, run } from '#server/testing/server-process.ts'
import { buildImage, storageOptions } from '../../scripts/container-image.ts'

/** Podman with its own storage in a network namespace. Only `curl` reaches the published ports. */
export type Podman = {
  call(...args: string[]): Promise<Ended>
  /** Runs a block of a guide in the project folder, with podman-compose as `docker compose`. */
  sh(script: string, input?: string): Promise<Ended>
  curl(...args: string[]): Promise<Ended>
  remove(): Promise<void>
}

/** podman-compose adds lines to the output of `exec`, so podman runs it instead. */
const DOCKER = `#!/bin/sh
shift
if [ "$3" = exec ]; then
  shift 3
  [ "$1" != -T ] || shift
  name=deploy_$1_1
  shift
  exec podman exec --interactive "$name" "$@"
fi
exec podman-compose "$@"
`

/** Podman with the image of the Compose files, and substitutes for the other images. */
export function givenPodman(settings: Record<string, string>): Podman {
  const folder = mkdtempSync(join(tmpdir(), 'zonewatch-podman-'))
  const at = (name: string) => join(folder, name)
  buildImage('localhost/zonewatch', folder)
  buildSubstitutes(folder)

  writeFileSync(at('namespace'), '')
  execFileSync('unshare', [`--net=${at('namespace')}`, 'ip', 'link', 'set', 'lo', 'up'])
  writeFileSync(
    at('storage.conf'),
    `[storage]\ndriver = "overlay"\ngraphroot = "${at('images')}"\nrunroot = "${at('run')}"\n`,
  )
  writeFileSync(
    at('containers.conf'),
    // The limits of this machine may be lower than podman's.
    `[containers]\ndefault_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[network]\nnetwork_backend = "netavark"\nnetwork_config_dir = "${at('networks')}"
[engine]\ncgroup_manager = "cgroupfs"\nruntime = "runc"\nevents_logger = "file"\n`,
  )
  const env = {
    ...settings,
    CONTAINERS_CONF: at('containers.conf'),
    CONTAINERS_STORAGE_CONF: at('storage.conf'),
    // Without systemd podman has no timers, so the tests run the health checks.
    DISABLE_HC_SYSTEMD: 'true',
    PATH: `${at('commands')}:${process.env.PATH}:/usr/sbin:/sbin`,
  }
  mkdirSync(at('commands'))
  const podman = `#!/bin/sh\nexec nsenter --net=${at('namespace')} /usr/bin/podman "$@"\n`
  for (const [name, script] of Object.entries({ podman, docker: DOCKER }))
    writeFileSync(at(`commands/${name}`), script, { mode: 0o755 })
  const call = (...args: string[]) => run([at('commands/podman'), ...args], env).ended
  return {
    call,
    sh: (script, input = '') => run(['sh', '-euc', script], env, { input }).ended,
    curl: (...args) => run(['nsenter', `--net=${at('namespace')}`, 'curl', '-sS', '-m', '10', ...args], env).ended,
    async remove() {
      await call('pod', 'rm', '--all', '--force', '--time', '0')
      await call('rm', '--all', '--force', '--time', '0', '--volumes')
      await call('network', 'prune', '--force')
      await run(['umount', at('namespace')], env).ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The same names as in compose.postgres.yaml. */
function buildSubstitutes(folder: string): void {
  const source = join(PROJECT, 'e2e/deploy/substitutes')
  const context = mkdtempSync(join(folder, 'substitutes-'))
  const packages = '--include=postgresql,caddy'
  const debian = ['--quiet', '--variant=minbase', '--mode=root', packages, 'bookworm', join(context, 'debian.tar')]
  execFileSync('mmdebstrap', debian)
  for (const name of ['Dockerfile', 'postgres.sh']) copyFileSync(join(source, name), join(context, name))
  for (const [target, tag] of Object.entries({ postgres: 'postgres:18', caddy: 'caddy:2' })) {
    const options = ['bud', '--quiet', '--layers', '--isolation', 'chroot', '--network', 'host', '--target', target]
    execFileSync('buildah', [...storageOptions(folder), ...options, '--tag', `localhost/${tag}`, context])
  }
  rmSync(context, { recursive: true })
}

export const textOf = (path: string) => readFileSync(join(PROJECT, path), 'utf8')
