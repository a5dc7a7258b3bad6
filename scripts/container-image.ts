import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * `node scripts/container-image.ts TAG`, as root: builds the Dockerfile with Debian's buildah, on a base made from Debian's
 * packages and npm's. Needs no Docker engine and no registry of images. Where there is one, `docker build .` does the same.
 */
const root = fileURLToPath(new URL('..', import.meta.url))

/** Installs with the lock file's exact versions, as the npm of the official image does. */
const NPM = 'npm@11'
const BASE = 'localhost/zonewatch-base'

/** Where buildah and podman keep images and containers: undefined for the machine's own storage. */
export type Storage = string | undefined

export const storageOptions = (storage: Storage): string[] =>
  storage ? ['--root', join(storage, 'images'), '--runroot', join(storage, 'run'), '--storage-driver', 'overlay'] : []

export function buildImage(tag: string, storage?: Storage): void {
  const folder = mkdtempSync(join(tmpdir(), 'zonewatch-image-'))
  try {
    makeBase(folder, storage)
    const base = ['--build-arg', `NODE_IMAGE=${BASE}`]
    build(tag, root, [...base, ...secrets(), '--format', 'docker', '--ignorefile', '.dockerignore'], storage)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** What `node:…-slim` is: a minimal Debian with the Node of package.json and an npm. */
function makeBase(folder: string, storage: Storage): void {
  const debian = ['--quiet', '--variant=minbase', '--mode=root', '--include=libatomic1', 'bookworm']
  run('mmdebstrap', [...debian, join(folder, 'debian.tar')])
  copyFileSync(join(root, 'node_modules/node/bin/node'), join(folder, 'node'))
  run('npm', ['install', '--silent', '--no-audit', '--no-fund', '--prefix', join(folder, 'npm'), NPM])
  writeFileSync(
    join(folder, 'Dockerfile'),
    `FROM scratch
ADD debian.tar /
COPY node /usr/local/bin/node
COPY npm/node_modules/npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm\n`,
  )
  build(BASE, folder, [], storage)
}

/** What npm needs to reach its registry from here, which is not to be found in the image. */
function secrets(): string[] {
  const npmrc = process.env.NPM_CONFIG_USERCONFIG ?? join(homedir(), '.npmrc')
  const ca = process.env.NODE_EXTRA_CA_CERTS ?? ''
  return [
    ...(existsSync(npmrc) ? ['--secret', `id=npmrc,src=${npmrc}`] : []),
    ...(existsSync(ca) ? ['--secret', `id=ca,src=${ca}`] : []),
  ]
}

function build(tag: string, context: string, options: string[], storage: Storage): void {
  // Its other ways to isolate a step need a control group of their own.
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
  buildImage(tag)
  process.stdout.write(`Built ${tag}.\n`)
}
