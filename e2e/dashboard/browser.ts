import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { PROJECT } from '#server/testing/server-process.ts'

/** Where the browser of the npm package is unpacked, once for each version of it. */
const FOLDER = join(PROJECT, 'node_modules/.cache/chromium')

const FLAGS = [
  '--no-sandbox', // it only ever sees our own pages, and may run as root
  '--disable-gpu',
  '--headless=shell',
  '--hide-scrollbars',
  '--font-render-hinting=none',
  '--disable-background-networking',
  '--disable-component-update',
  '--no-first-run',
]

/**
 * A real Chromium: the one that npm brings (Linux on x64), or the one that the variable CHROMIUM names, for other machines.
 * Call `unpackBrowser` first where several processes may ask at once.
 */
export async function openBrowser(): Promise<Browser> {
  const { CHROMIUM, ...env } = process.env
  const executablePath = CHROMIUM ?? (await unpackBrowser())
  const options = { executablePath, args: FLAGS, headless: true }
  try {
    return await chromium.launch(options)
  } catch (error) {
    if (CHROMIUM !== undefined || !/shared librar/.test(String(error))) throw error
    // A machine without a desktop: the libraries that the package brings along.
    const libraries = join(FOLDER, 'al2023/lib')
    return await chromium.launch({ ...options, env: { ...env, LD_LIBRARY_PATH: libraries } as Record<string, string> })
  }
}

/** Returns the path of the executable. */
export async function unpackBrowser(): Promise<string> {
  const executable = join(FOLDER, 'chromium')
  if (process.env.CHROMIUM !== undefined || existsSync(executable)) return executable
  const making = `${FOLDER}-${process.pid}`
  await mkdir(making, { recursive: true })
  const before = { TMPDIR: process.env.TMPDIR, LD_LIBRARY_PATH: process.env.LD_LIBRARY_PATH }
  try {
    // The package unpacks into the folder for temporary files, and its libraries only where it thinks it is needed.
    process.env.TMPDIR = making
    process.env.AWS_LAMBDA_JS_RUNTIME = 'nodejs24.x'
    const { default: packed } = await import('@sparticuz/chromium')
    await packed.executablePath()
    await rename(making, FOLDER).catch((error: unknown) => {
      if (!existsSync(executable)) throw error
    })
  } finally {
    delete process.env.AWS_LAMBDA_JS_RUNTIME
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
    await rm(making, { recursive: true, force: true })
  }
  return executable
}
