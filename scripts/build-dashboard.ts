import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

const PROJECT = fileURLToPath(new URL('..', import.meta.url))
const BUILT = join(PROJECT, 'dashboard/dist')
/** A file of the build with the digest of its sources. */
const DIGEST_FILE = 'sources.sha256'
const SOURCES = [
  'dashboard/**/*.*',
  'contract/*.ts',
  'examples/receive-webhook/*',
  'package-lock.json',
  'docs/**/*.{md,png}',
  'scripts/docs-site/*',
]
/** A twentieth of the time of the best, for a tenth more octets. */
const FAST_BROTLI_QUALITY = 9
const COMPRESSED = /\.(js|css|html|svg)$/

/** Builds `dashboard/dist` and the documentation in `dashboard/dist/docs`, unless the sources are unchanged. Returns the folder. */
export async function buildDashboard(): Promise<string> {
  const digest = sourcesDigest()
  if (builtDigest() === digest) return BUILT
  const folder = await mkdtemp(`${BUILT}-`)
  try {
    // Development dependencies, loaded only for a build.
    const [vite, { buildDocs }] = await Promise.all([import('vite'), import('./docs-site/build.ts')])
    process.env.NODE_ENV = 'production'
    await vite.build({ root: join(PROJECT, 'dashboard'), logLevel: 'warn', build: { outDir: folder } })
    await buildDocs(folder, PROJECT)
    await compressAll(folder)
    await writeFile(join(folder, DIGEST_FILE), digest)
    await chmod(folder, 0o755) // the server may run as another user
    await replaceBuild(folder, digest)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  return BUILT
}

function sourcesDigest(): string {
  const paths = globSync(SOURCES, {
    cwd: PROJECT,
    exclude: (path) => path.startsWith('dashboard/dist'),
  })
  const digest = createHash('sha256')
  for (const path of paths.sort()) digest.update(path).update(readFileSync(join(PROJECT, path)))
  return digest.digest('hex')
}

function builtDigest(): string | undefined {
  const file = join(BUILT, DIGEST_FILE)
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}

/** Writes compressed copies of each text file, so that the server does not compress. */
async function compressAll(folder: string): Promise<void> {
  for (const path of await readdir(folder, { recursive: true })) {
    if (!COMPRESSED.test(path)) continue
    const file = join(folder, path)
    const text = await readFile(file)
    const quality = text.length < 1_000_000 ? constants.BROTLI_MAX_QUALITY : FAST_BROTLI_QUALITY
    const params = { [constants.BROTLI_PARAM_QUALITY]: quality }
    await writeFile(`${file}.br`, await promisify(brotliCompress)(text, { params }))
    await writeFile(`${file}.gz`, await promisify(gzip)(text))
  }
}

async function replaceBuild(folder: string, digest: string): Promise<void> {
  await rm(BUILT, { recursive: true, force: true })
  // Another process may have finished the same build.
  await rename(folder, BUILT).catch((error: unknown) => {
    if (builtDigest() !== digest) throw error
  })
}
