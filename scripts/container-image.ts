import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * `node scripts/container-image.ts TAG [amd64|arm64]`, as root: builds the Dockerfile with Debian's buildah, on a base made from Debian's
 * packages and npm's. It needs no Docker engine and no image registry. With Docker, `docker build .` does the same.
 */
const root = fileURLToPath(new URL('..', import.meta.url))

/** The npm version of the official Node image. */
const NPM = 'npm@11'
const BASE = 'localhost/zonewatch-base'

/** The folder for images and containers of buildah and podman. Undefined: the storage of the machine. */
export type Storage = string | undefined

export const storageOptions = (storage: Storage): string[] =>
  storage ? ['--root', join(storage, 'images'), '--runroot', join(storage, 'run'), '--storage-driver', 'overlay'] : []

export type Architecture = 'amd64' | 'arm64'
const LOCAL: Architecture = process.arch === 'arm64' ? 'arm64' : 'amd64'

export function buildImage(tag: string, storage?: Storage, architecture = LOCAL): void {
  const folder = mkdtempSync(join(tmpdir(), 'zonewatch-image-'))
  try {
    makeBase(LOCAL, folder, storage)
    if (architecture !== LOCAL) {
      enableEmulation()
      makeBase(architecture, folder, storage)
    }
    const bases = [`NODE_IMAGE=${BASE}-${architecture}`, `BUILD_IMAGE=${BASE}-${LOCAL}`]
    const options = [...bases.flatMap((base) => ['--build-arg', base]), '--platform', `linux/${architecture}`]
    const format = [
      '--build-arg',
      `BUILDPLATFORM=linux/${LOCAL}`,
      '--format',
      'docker',
      '--ignorefile',
      '.dockerignore',
    ]
    build(tag, root, [...options, ...format, ...secrets()], storage)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Builds an equivalent of `node:…-slim`: a minimal Debian with the Node of package.json, and npm for the own architecture. */
function makeBase(architecture: Architecture, folder: string, storage: Storage): void {
  const context = join(folder, architecture)
  mkdirSync(context)
  const debian = ['--quiet', '--variant=minbase', '--mode=root', '--include=libatomic1']
  run('mmdebstrap', [...debian, `--architectures=${architecture}`, 'bookworm', join(context, 'debian.tar')])
  const hasNpm = architecture === LOCAL
  if (hasNpm) {
    copyFileSync(join(root, 'node_modules/node/bin/node'), join(context, 'node'))
    install(NPM, join(context, 'npm'))
  } else {
    const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    install(`node-linux-${architecture}@${devDependencies.node}`, join(context, 'other'))
    copyFileSync(join(context, `other/node_modules/node-linux-${architecture}/bin/node`), join(context, 'node'))
  }
  const npm = `COPY npm/node_modules/npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm\n`
  writeFileSync(
    join(context, 'Dockerfile'),
    `FROM scratch\nADD debian.tar /\nCOPY node /usr/local/bin/node\n${hasNpm ? npm : ''}`,
  )
  build(`${BASE}-${architecture}`, context, ['--platform', `linux/${architecture}`], storage)
}

function install(what: string, prefix: string): void {
  // --force installs packages for other architectures too.
  run('npm', ['install', '--silent', '--no-audit', '--no-fund', '--force', '--prefix', prefix, what])
}

/** Lets the kernel run arm64 programs with Debian's QEMU. With systemd the package has done this already. */
function enableEmulation(): void {
  const folder = '/proc/sys/fs/binfmt_misc'
  if (existsSync(join(folder, 'qemu-aarch64'))) return
  if (!existsSync(join(folder, 'register'))) run('mount', ['-t', 'binfmt_misc', 'binfmt_misc', folder])
  writeFileSync(join(folder, 'register'), readFileSync('/usr/lib/binfmt.d/qemu-aarch64.conf'))
}

/** The npm settings of this machine as build secrets, so that they do not get into the image. */
function secrets(): string[] {
  const npmrc = process.env.NPM_CONFIG_USERCONFIG ?? join(homedir(), '.npmrc')
  const ca = process.env.NODE_EXTRA_CA_CERTS ?? ''
  return [
    ...(existsSync(npmrc) ? ['--secret', `id=npmrc,src=${npmrc}`] : []),
    ...(existsSync(ca) ? ['--secret', `id=ca,src=${ca}`] : []),
  ]
}

function build(tag: string, context: string, options: string[], storage: Storage): void {
  // The other isolation modes need their own control group.
  const isolation = ['--isolation', 'chroot', '--network', 'host']
  run('buildah', [...storageOptions(storage), 'bud', '--quiet', ...isolation, ...options, '--tag', tag, context])
}

function run(command: string, args: string[]): void {
  execFileSync(command, args, {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` },
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const tag = process.argv[2] ?? 'localhost/zonewatch'
  buildImage(tag, undefined, process.argv[3] === undefined ? LOCAL : (process.argv[3] as Architecture))
  process.stdout.write(`Built ${tag}.\n`)
}
