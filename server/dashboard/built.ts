import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import type { Logger } from 'pino'

const PROJECT = fileURLToPath(new URL('../..', import.meta.url))
const BUILT = join(PROJECT, 'dashboard/dist')
const COMPRESSED = /\.(js|css|html|svg)$/
/** Folders of earlier builds that stay, for servers that still run from them. */
const KEPT = 2
/** A build that was not done after this never will be. */
const ABANDONED_MS = 3_600_000

/**
 * Where the dashboard made from these very sources lies, or would lie. Each state of the sources has a folder of its own, so
 * a running server keeps its files while a newer one is made.
 */
export function builtFolder(): string {
  const sources = globSync(['dashboard/**/*', 'contract/*.ts', 'examples/receive-webhook/*', 'package-lock.json'], {
    cwd: PROJECT,
    exclude: (path) => path.startsWith('dashboard/dist') || path === 'dist',
  })
  const digest = createHash('sha256')
  for (const path of sources.sort()) {
    const file = join(PROJECT, path)
    if (/\.\w+$/.test(path)) digest.update(path).update(readFileSync(file))
  }
  return join(BUILT, digest.digest('hex').slice(0, 16))
}

/** Makes the files that browsers get, where they are not there yet: a few seconds, once. Resolves with their folder; does not reject. */
export async function buildDashboard(log: Logger, signal: AbortSignal): Promise<string> {
  const folder = builtFolder()
  if (existsSync(folder)) return folder
  log.info('The dashboard is being built, once; this takes some seconds. The API is there already.')
  try {
    await build(folder, signal)
    log.info('The dashboard is built.')
  } catch (err) {
    if (!signal.aborted) log.error({ err }, 'The dashboard could not be built; the API works without it.')
  }
  return folder
}

async function build(folder: string, signal: AbortSignal): Promise<void> {
  await mkdir(BUILT, { recursive: true })
  const making = await mkdtemp(join(BUILT, 'making-'))
  try {
    await runVite(making, signal)
    await compressAll(making)
    // Another process may have been quicker; its files are the same.
    await rename(making, folder).catch((error: NodeJS.ErrnoException) => {
      if (!existsSync(folder)) throw error
    })
    await removeOld(folder)
  } finally {
    await rm(making, { recursive: true, force: true })
  }
}

function runVite(outDir: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const args = ['node_modules/vite/bin/vite.js', 'build', 'dashboard', '--outDir', outDir, '--logLevel', 'warn']
    const child = spawn(process.execPath, args, { cwd: PROJECT, signal, stdio: ['ignore', 'pipe', 'pipe'] })
    const output: Buffer[] = []
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(chunk))
    child.on('error', reject)
    child.on('close', (code) => {
      if (code === 0) resolve()
      else reject(new Error(`Vite ended with ${code}: ${Buffer.concat(output).toString().slice(-2_000)}`))
    })
  })
}

/** Beside each text its compressed forms, so that no request waits for compression. */
async function compressAll(folder: string): Promise<void> {
  for (const path of await readdir(folder, { recursive: true })) {
    if (!COMPRESSED.test(path)) continue
    const file = join(folder, path)
    const text = await readFile(file)
    await writeFile(`${file}.br`, await promisify(brotliCompress)(text))
    await writeFile(`${file}.gz`, await promisify(gzip)(text))
  }
}

const isMaking = (name: string) => name.startsWith('making-')

async function removeOld(newest: string): Promise<void> {
  const names = await readdir(BUILT)
  const dated = await Promise.all(names.map(async (name) => ({ name, at: (await stat(join(BUILT, name))).mtimeMs })))
  const [making, made] = [dated.filter(({ name }) => isMaking(name)), dated.filter(({ name }) => !isMaking(name))]
  const others = made.filter(({ name }) => join(BUILT, name) !== newest).sort((a, b) => b.at - a.at)
  // What was given up long ago, and builds that no running server can still be of.
  const newestAt = Math.max(...made.map(({ at }) => at))
  const gone = [...making.filter(({ at }) => newestAt - at > ABANDONED_MS), ...others.slice(KEPT - 1)]
  for (const { name } of gone) await rm(join(BUILT, name), { recursive: true, force: true })
}
